//! Addresses that Calico holds for pods that are gone.

use std::collections::{BTreeMap, BTreeSet};

use super::ipam::{Allocation, Block, Ipam, stamp};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN001",
    name: "leaked-address",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::IpamBlock),
        Need::Every(Kind::Pod),
        Need::Every(Kind::Node),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Addresses that Calico's address management holds for a pod that does not exist, has ended, or has another address, counted by the node that they were taken on.

## Why it matters
A leaked address is never given out again. Pools run dry while few pods run, and new pods hang in ContainerCreating.

## How it is decided
An allocation counts as leaked where its attributes name a namespace and a pod, no live pod of that name has the address, and no other address of the same handle is in use.
Where the node of the allocation is gone too, the leak is certain; where it is there, an allocation younger than `leak-grace` may still be on its way and does not count.
Addresses of tunnels, load balancers and Windows, those that a node's tunnel uses, and released ones that rest, are left out.

## Fix
Let kube-controllers collect them (it must run, with a `leakGracePeriod` above 0), or release them with `calicoctl ipam check -o report.json` and `calicoctl ipam release --from-report`.

## False positives
A pod that started between the listing of blocks and the listing of pods.

## References
Calico issues 5339, 5004, 4502, 7839; kube-controllers issue 564.
";

/// Leaks of one node.
#[derive(Default)]
struct Leaks<'a> {
    found: Vec<(&'a Block<'a>, Allocation<'a>)>,
}

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let live = live_handles(ipam);
    let mut by_node: BTreeMap<&str, Leaks<'_>> = BTreeMap::new();
    for block in &ipam.blocks {
        for allocation in block.allocations() {
            if is_leaked(cx, ipam, &live, &allocation) {
                let node = allocation
                    .secondary("node")
                    .or_else(|| block.host())
                    .unwrap_or_default();
                by_node
                    .entry(node)
                    .or_default()
                    .found
                    .push((block, allocation));
            }
        }
    }
    for (node, leaks) in &by_node {
        let n = leaks.found.len();
        let is_gone = !ipam.nodes.contains(node);
        let message = if is_gone {
            format!(
                "{n} {} held for pods of a node that does not exist any more",
                addresses(n)
            )
        } else {
            format!(
                "{n} {} held for pods that do not exist any more",
                addresses(n)
            )
        };
        let finding = out.report(Subject::new("Node", "", node), message);
        if is_gone {
            finding.severity(Severity::Error);
        }
        for (block, allocation) in &leaks.found {
            let (namespace, pod) = allocation.pod().unwrap_or_default();
            let path = format!("spec.allocations[{}]", allocation.ordinal);
            finding.saw(
                block.object.meta(),
                &path,
                format!("{} for {namespace}/{pod}", allocation.address),
            );
        }
        finding.fix(
            Applicability::Safe,
            "release them: `calicoctl ipam check -o report.json`, then `calicoctl ipam release --from-report=report.json`",
        );
    }
}

/// Handles of which some address is in use: Calico releases a handle as a whole, so none of its
/// addresses is leaked (calico issue 5044).
fn live_handles<'a>(ipam: &Ipam<'a>) -> BTreeSet<&'a str> {
    let allocations = ipam.blocks.iter().flat_map(Block::allocations);
    let live = allocations.filter(|allocation| ipam.pods.contains_key(&allocation.address));
    live.filter_map(|allocation| allocation.handle()).collect()
}

fn is_leaked(
    cx: &Cx<'_>,
    ipam: &Ipam<'_>,
    live: &BTreeSet<&str>,
    allocation: &Allocation<'_>,
) -> bool {
    let Some((namespace, name)) = allocation.pod().filter(|_| allocation.is_for_pod()) else {
        return false;
    };
    if allocation
        .handle()
        .is_some_and(|handle| live.contains(handle))
    {
        return false;
    }
    // A node's tunnel may use it; to release it would give it to a second user.
    if ipam.tunnels.contains_key(&allocation.address) {
        return false;
    }
    let users = ipam
        .pods
        .get(&allocation.address)
        .map_or(&[][..], Vec::as_slice);
    if users
        .iter()
        .any(|pod| pod.meta().namespace == namespace && pod.meta().name == name)
    {
        return false;
    }
    // A pod that has no address yet is about to get this one.
    let starts = cx.dump.objects.pods.get(namespace, name);
    if starts.is_some_and(|pod| !pod.is_finished() && pod.addresses().next().is_none()) {
        return false;
    }
    let taken = allocation.secondary("timestamp").and_then(stamp);
    let is_young = taken.is_some_and(|taken| cx.now.since(taken) < cx.settings.leak_grace);
    let is_node_known = allocation
        .secondary("node")
        .is_none_or(|node| ipam.nodes.contains(node));
    !(is_young && is_node_known)
}

const fn addresses(n: usize) -> &'static str {
    if n == 1 {
        "address is"
    } else {
        "addresses are"
    }
}
