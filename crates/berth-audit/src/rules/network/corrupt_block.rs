//! Address blocks whose books contradict themselves.

use std::collections::BTreeSet;

use berth_core::time::Time;

use super::ipam::Block;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN015",
    name: "corrupt-block",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::IpamBlock)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Address blocks whose books contradict themselves.

## Why it matters
Calico refuses to work with such a block, or hands out addresses that are in use.

## How it is decided
As many allocations as the range has addresses; each allocation an index of an attribute; no attribute that nothing points to; no ordinal free and allocated at once, twice free, or beyond the range; allocated and free ordinals together are all; no release in the future.

## Fix
Move the pods of the block's node, delete the block and its claim, and let the node claim a new one.

## False positives
A clock that runs ahead explains a release in the future; it is worth repairing by itself.

## References
Calico `calicoctl/commands/ipam/check.go`, `validateBlock`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    for (object, range) in &ipam.unreadable {
        let finding = out.report(*object, format!("`{range}` is no range"));
        finding.saw(object, "spec.cidr", range);
    }
    for block in &ipam.blocks {
        let faults = faults(cx, block);
        if faults.is_empty() {
            continue;
        }
        let n = faults.len();
        let message = format!(
            "its books contradict themselves in {n} place{}",
            if n == 1 { "" } else { "s" }
        );
        let finding = out.report(block.object.meta(), message);
        for (path, fault) in &faults {
            finding.saw(block.object.meta(), path, fault);
        }
        finding.fix(
            Applicability::Disruptive,
            "move the pods of its node, delete block and claim, and let the node claim anew",
        );
    }
}

/// Each contradiction with its place in the object.
fn faults(cx: &Cx<'_>, block: &Block<'_>) -> Vec<(String, String)> {
    let spec = &block.object.spec;
    let mut faults = Vec::new();
    let size = block.size();
    if spec.allocations.len() as u64 != size {
        let value = format!("{} entries for {size} addresses", spec.allocations.len());
        faults.push(("spec.allocations".to_owned(), value));
    }
    let mut pointed = vec![false; spec.attributes.len()];
    for allocation in spec
        .allocations
        .iter()
        .enumerate()
        .filter_map(|(ordinal, index)| Some((ordinal, (*index)?)))
    {
        let (ordinal, index) = allocation;
        match usize::try_from(index)
            .ok()
            .and_then(|index| pointed.get_mut(index))
        {
            Some(pointed) => *pointed = true,
            None => faults.push((
                format!("spec.allocations[{ordinal}]"),
                format!("attribute {index} does not exist"),
            )),
        }
    }
    for (index, attribute) in spec.attributes.iter().enumerate() {
        if !pointed[index] {
            let handle = attribute.handle_id.as_deref().unwrap_or("no handle");
            faults.push((
                format!("spec.attributes[{index}]"),
                format!("nothing points to it ({handle})"),
            ));
        }
        if attribute
            .released_at
            .is_some_and(|released| released.0 > cx.now)
            && cx.now != Time::ZERO
        {
            faults.push((
                format!("spec.attributes[{index}].releasedAt"),
                "in the future".to_owned(),
            ));
        }
    }
    free_faults(block, &mut faults);
    faults
}

/// Contradictions of the queue of free ordinals.
fn free_faults(block: &Block<'_>, faults: &mut Vec<(String, String)>) {
    let spec = &block.object.spec;
    let mut seen = BTreeSet::new();
    for (at, ordinal) in spec.unallocated.iter().enumerate() {
        let entry = usize::try_from(*ordinal)
            .ok()
            .and_then(|ordinal| spec.allocations.get(ordinal));
        let fault = match entry {
            None => "beyond the range",
            Some(Some(_)) => "free and allocated",
            Some(None) if !seen.insert(*ordinal) => "free twice",
            Some(None) => continue,
        };
        faults.push((
            format!("spec.unallocated[{at}]"),
            format!("ordinal {ordinal} is {fault}"),
        ));
    }
    let n_free = spec
        .allocations
        .iter()
        .filter(|entry| entry.is_none())
        .count();
    if seen.len() < n_free {
        let value = format!("{} of {n_free} free ordinals are in the queue", seen.len());
        faults.push(("spec.unallocated".to_owned(), value));
    }
}
