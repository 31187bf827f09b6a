//! Allocated addresses whose handle has no IPAMHandle object.

use std::collections::BTreeSet;

use super::ipam::Allocation;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN003",
    name: "allocation-without-handle",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpamHandle), Need::Every(Kind::IpamBlock)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Allocated addresses whose handle has no IPAMHandle object.

## Why it matters
Calico releases by handle. Without its object the address stays allocated when the pod goes: it is the next leak.

## How it is decided
For each allocation with a `handle_id`, an IPAMHandle with that identity must exist. Addresses reserved for Windows and resting ones are left out. One finding a block.

## Fix
Release the addresses of pods that are gone with `calicoctl ipam release`; re-create pods that live so that both sides are written anew.

## False positives
An allocation in flight at the moment of the dump.

## References
Calico issue 3940 (handles with line ends in their names).
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let handles = cx.dump.objects.ipam_handles.iter();
    let known: BTreeSet<&str> = handles
        .map(|handle| handle.spec.handle_id.as_str())
        .collect();
    for block in &cx.ipam().blocks {
        let is_lost = |allocation: &Allocation<'_>| {
            let handle = allocation.handle().unwrap_or_default();
            let rests = allocation
                .attribute
                .is_some_and(|attribute| attribute.released_at.is_some());
            !handle.is_empty()
                && !rests
                && !handle.starts_with("windows-reserved")
                && !known.contains(handle)
        };
        let lost: Vec<Allocation<'_>> = block.allocations().filter(is_lost).collect();
        if lost.is_empty() {
            continue;
        }
        let message = format!(
            "{} of its addresses have a handle that does not exist",
            lost.len()
        );
        let finding = out.report(block.object.meta(), message);
        for allocation in &lost {
            let path = format!("spec.attributes[{}].handle_id", allocation.index);
            let value = format!(
                "{} for {}",
                allocation.handle().unwrap_or_default(),
                allocation.address
            );
            finding.saw(block.object.meta(), &path, value);
        }
        finding.fix(
            Applicability::Manual,
            "release addresses of pods that are gone; re-create pods that live",
        );
    }
}
