//! Addresses that a node has taken from the block of another.

use std::collections::BTreeMap;

use super::ipam::{Allocation, Block, IpamSettings};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN012",
    name: "borrowed-addresses",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpamBlock)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Addresses that a node has taken from the block of another: any where strict affinity forbids it, many where it does not.

## Why it matters
A borrowed address is routed by its own route of /32 or /128. Many of them mean that nodes find no free block; with strict affinity they are left over from before and never come back to their block's node.

## How it is decided
The node in an allocation's attributes differs from the node of its block. With `strictAffinity` every one counts; without, the finding is information from ten addresses and a tenth of all allocations on.

## Fix
Make the pool larger or its blocks smaller; re-create the pods with borrowed addresses.

## False positives
Addresses that were borrowed before strict affinity was turned on.

## References
Calico documentation, `calicoctl ipam show --show-borrowed`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let settings = IpamSettings::of(cx.dump);
    let mut n_all = 0_usize;
    let mut by_node: BTreeMap<&str, Vec<(&Block<'_>, Allocation<'_>)>> = BTreeMap::new();
    for block in &cx.ipam().blocks {
        let host = block.host();
        for allocation in block.allocations() {
            n_all += 1;
            let node = allocation
                .secondary("node")
                .filter(|node| host.is_some_and(|host| host != *node));
            if let Some(node) = node {
                by_node.entry(node).or_default().push((block, allocation));
            }
        }
    }
    let n_borrowed: usize = by_node.values().map(Vec::len).sum();
    let is_usual = n_borrowed < BORROWED_MIN || n_borrowed * BORROWED_SHARE < n_all;
    if n_borrowed == 0 || (!settings.is_strict && is_usual) {
        return;
    }
    let why = if settings.is_strict {
        ", which strict affinity forbids"
    } else {
        ""
    };
    let message = format!(
        "{n_borrowed} of {n_all} addresses are borrowed by {} nodes{why}",
        by_node.len()
    );
    let finding = out.report(Subject::cluster(), message);
    if !settings.is_strict {
        finding.severity(Severity::Info);
    }
    if let Some(config) = settings.object {
        finding.saw(config.meta(), "spec.strictAffinity", settings.is_strict);
    }
    for (node, borrowed) in &by_node {
        let (block, allocation) = &borrowed[0];
        let value = format!(
            "{} and {} more by {node}",
            allocation.address,
            borrowed.len() - 1
        );
        finding.saw(
            block.object.meta(),
            &format!("spec.allocations[{}]", allocation.ordinal),
            value,
        );
    }
    finding.fix(
        Applicability::Disruptive,
        "make the pool larger or its blocks smaller, and re-create these pods",
    );
}

/// So few may be borrowed without notice, whatever their share.
const BORROWED_MIN: usize = 10;
/// One in this many allocations may be borrowed without notice.
const BORROWED_SHARE: usize = 10;
