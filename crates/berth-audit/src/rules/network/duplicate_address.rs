//! An address that two live pods share, or a pod and the tunnel of a node.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN006",
    name: "duplicate-address",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
An address that two live pods share, or a pod and the tunnel of a node.

## Why it matters
Connections reach one or the other at random; probes fail on one of them for no visible reason.

## How it is decided
Addresses of live pods without host network are compared with each other and with the tunnel addresses in Node annotations, IPv4 and IPv6.

## Fix
Re-create all but one of the pods. Where a tunnel is concerned, re-create the pod and look for the leak that gave the address out twice.

## False positives
A pod that was replaced at the moment of the dump.

## References
Calico issues 3589, 2887, 6243, 7370.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    for (address, pods) in &ipam.pods {
        let tunnels = ipam.tunnels.get(address).map_or(&[][..], Vec::as_slice);
        if pods.len() + tunnels.len() < 2 {
            continue;
        }
        let message = match (pods.len(), tunnels.first()) {
            (1, Some(tunnel)) => format!(
                "{address} is its own and the tunnel address of node {}",
                tunnel.node.meta().name
            ),
            (n, Some(tunnel)) => {
                format!(
                    "{address} is shared by {n} pods and the tunnel of node {}",
                    tunnel.node.meta().name
                )
            }
            (n, None) => format!("{address} is shared by {n} pods"),
        };
        let finding = out.report(pods[0].meta(), message);
        for pod in pods {
            finding.saw(
                pod.meta(),
                "status.podIPs",
                format!("{address} on {}", pod.spec.node_name),
            );
            finding.caused_by("BN005", Subject::new("Node", "", &pod.spec.node_name));
        }
        for other in &pods[1..] {
            finding.also(other.meta());
        }
        for tunnel in tunnels {
            finding.saw(
                tunnel.node.meta(),
                &format!("metadata.annotations[{}]", tunnel.annotation),
                address,
            );
        }
        if let Some(block) = ipam.block_of(*address) {
            finding.caused_by("BN007", block.object.meta());
            finding.caused_by("BN004", block.object.meta());
        }
        finding.fix(
            Applicability::Disruptive,
            "re-create the pods, one at a time, until each has an address of its own",
        );
    }
}
