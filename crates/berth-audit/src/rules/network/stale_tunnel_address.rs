//! Tunnel addresses, IPv4 and IPv6, that are allocated for nodes that are gone, or that the node does not use.

use std::collections::BTreeMap;

use super::ipam::{Allocation, Block};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN022",
    name: "stale-tunnel-address",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpamBlock), Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Tunnel addresses, IPv4 and IPv6, that are allocated for nodes that are gone, or that differ from what the node uses.

## Why it matters
The first are leaked. With the second, other nodes may send a node's traffic to an address that it does not have.

## How it is decided
Allocations whose handle or type says tunnel are compared with the list of nodes and with the nodes' annotations, for IPIP, VXLAN and WireGuard in both families. Addresses that a pod or any tunnel uses are left out.

## Fix
Release addresses of nodes that are gone; restart calico-node on a node whose address differs.

## False positives
A node that was joining at the moment of the dump has no annotation yet; one younger than `leak-grace` is left out.

## References
Calico `node/pkg/allocateip`; `calicoctl ipam check` knows IPv4 tunnels only.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let mut gone: BTreeMap<&str, Vec<(&Block<'_>, Allocation<'_>)>> = BTreeMap::new();
    for block in &ipam.blocks {
        for allocation in block.allocations().filter(Allocation::is_for_tunnel) {
            let Some(node) = allocation.tunnel_node() else {
                continue;
            };
            // Whoever uses it, to release it would give it to a second user.
            if ipam.is_in_use(&allocation) || ipam.tunnels.contains_key(&allocation.address) {
                continue;
            }
            if !ipam.nodes.contains(node) {
                gone.entry(node).or_default().push((block, allocation));
            } else if let Some(used) = used(cx, node, &allocation) {
                let message = format!(
                    "{} is allocated as its tunnel address, and it uses {}",
                    allocation.address,
                    used.unwrap_or("none")
                );
                let finding = out.report(Subject::new("Node", "", node), message);
                finding.saw(
                    block.object.meta(),
                    &format!("spec.allocations[{}]", allocation.ordinal),
                    allocation.address,
                );
                finding.fix(Applicability::Disruptive, "restart calico-node on the node");
            }
        }
    }
    for (node, allocations) in gone {
        let n = allocations.len();
        let message = format!(
            "the node is gone and holds {n} tunnel address{}",
            if n == 1 { "" } else { "es" }
        );
        let finding = out.report(Subject::new("Node", "", node), message);
        for (block, allocation) in &allocations {
            let path = format!("spec.allocations[{}]", allocation.ordinal);
            finding.saw(
                block.object.meta(),
                &path,
                format!(
                    "{} ({})",
                    allocation.address,
                    allocation.handle().unwrap_or_default()
                ),
            );
        }
        finding.caused_by("BN010", Subject::new("Node", "", node));
        finding.fix(
            Applicability::Safe,
            "release them with `calicoctl ipam release --ip=ADDRESS`",
        );
    }
}

/// The address that the node uses for this tunnel, where it is another one or none.
fn used<'a>(cx: &Cx<'a>, name: &str, allocation: &Allocation<'_>) -> Option<Option<&'a str>> {
    let annotation = allocation.tunnel_annotation()?;
    let node = cx.dump.objects.nodes.get("", name)?.meta();
    let Some(used) = node.annotation(annotation) else {
        let is_settled = node
            .age(cx.now)
            .is_some_and(|age| age >= cx.settings.leak_grace);
        return is_settled.then_some(None);
    };
    let differs = used
        .parse::<std::net::IpAddr>()
        .is_ok_and(|used| used != allocation.address);
    differs.then_some(Some(used))
}
