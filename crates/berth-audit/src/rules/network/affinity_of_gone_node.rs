//! Claims on address blocks of nodes that do not exist any more.

use std::collections::BTreeMap;

use super::ipam::{Affinity, Block, size};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN010",
    name: "affinity-of-gone-node",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::Node),
        Need::Some(Kind::BlockAffinity),
        Need::Some(Kind::Pod),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Claims on address blocks of nodes that do not exist any more.

## Why it matters
The blocks stay taken: their addresses are lost to other nodes, and their routes stay.

## How it is decided
The node of every confirmed claim must be in the list of nodes. Where live pods still have addresses of the block, deleting the claim would break them; that is an error and said so.

## Fix
Move pods that still use the addresses; then delete the node's BlockAffinity objects and release its blocks, or let kube-controllers do it.

## False positives
Nodes that joined after the list of nodes was read.

## References
Calico issue 3589; kube-controllers issue 564.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let mut by_node: BTreeMap<&str, Vec<&Affinity<'_>>> = BTreeMap::new();
    for affinity in ipam.confirmed() {
        if let Some(node) = affinity.host().filter(|node| !ipam.nodes.contains(node)) {
            by_node.entry(node).or_default().push(affinity);
        }
    }
    for (node, affinities) in by_node {
        let blocks: Vec<&Block<'_>> = affinities
            .iter()
            .filter_map(|affinity| ipam.block_with(affinity.net))
            .collect();
        let n_addresses = affinities
            .iter()
            .map(|affinity| size(&affinity.net))
            .fold(0, u64::saturating_add);
        let allocations = blocks.iter().flat_map(|block| block.allocations());
        let n_live = allocations
            .filter(|allocation| ipam.is_in_use(allocation))
            .count();
        let n = affinities.len();
        let held = format!(
            "the node is gone and holds {n} block{} with {n_addresses} addresses",
            if n == 1 { "" } else { "s" }
        );
        let message = if n_live > 0 {
            format!("{held}, of which live pods use {n_live}")
        } else {
            held
        };
        let finding = out.report(Subject::new("Node", "", node), message);
        for affinity in &affinities {
            finding.saw(
                affinity.object.meta(),
                "spec.cidr",
                format!("{} confirmed for {node}", affinity.net),
            );
        }
        if n_live > 0 {
            finding.severity(Severity::Error);
            finding.fix(
                Applicability::Manual,
                "do not delete the claims: move the pods that use their addresses first",
            );
        } else {
            finding.fix(
                Applicability::Safe,
                "delete the node's BlockAffinity objects and release its blocks",
            );
        }
    }
}
