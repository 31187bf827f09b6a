//! Pods that hold addresses of two families and show one in their status.

use std::collections::BTreeMap;

use super::ipam::{Allocation, Block};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN023",
    name: "second-family-not-in-status",
    family: Family::Network,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpamBlock), Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that hold addresses of two families and show one in their status.

## Why it matters
Services and tools see one family only. Tools that look for leaks by address take the other for one, and releasing it cuts the pod off.

## How it is decided
An allocation that names a live pod, whose address is not in the pod's status, while another address of the same handle is.

## Fix
Nothing to release. Check that the kubelet runs with both families if both are wanted.

## False positives
None known.

## References
Calico issue 5044 (live dual-stack addresses were released).
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let allocations = ipam.blocks.iter().flat_map(|block| {
        block
            .allocations()
            .map(move |allocation| (block, allocation))
    });
    let mut by_handle: BTreeMap<&str, Vec<(&Block<'_>, Allocation<'_>)>> = BTreeMap::new();
    for (block, allocation) in allocations {
        if let Some(handle) = allocation.handle().filter(|_| allocation.is_for_pod()) {
            by_handle
                .entry(handle)
                .or_default()
                .push((block, allocation));
        }
    }
    for allocations in by_handle
        .values()
        .filter(|allocations| allocations.len() > 1)
    {
        let is_live = |(_, allocation): &&(&Block<'_>, Allocation<'_>)| ipam.is_in_use(allocation);
        let Some((_, live)) = allocations.iter().find(is_live) else {
            continue;
        };
        let Some(pod) = live
            .pod()
            .and_then(|(namespace, name)| cx.dump.objects.pods.get(namespace, name))
        else {
            continue;
        };
        for (block, allocation) in allocations.iter().filter(|entry| !is_live(entry)) {
            let finding = out.report(
                pod.meta(),
                format!(
                    "{} is its own too and is not in its status",
                    allocation.address
                ),
            );
            finding.saw(
                block.object.meta(),
                &format!("spec.allocations[{}]", allocation.ordinal),
                allocation.address,
            );
            finding.saw(pod.meta(), "status.podIPs", live.address);
        }
    }
}
