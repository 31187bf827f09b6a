//! Address blocks, and claims on them, of nodes that do not exist any more.

use std::collections::BTreeMap;

use ipnet::IpNet;

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
Address blocks, and claims on them, of nodes that do not exist any more.

## Why it matters
The blocks stay taken: their addresses are lost to other nodes, and their routes stay.

## How it is decided
The node of every confirmed claim, and of every block that names one without a claim, must be in the list of nodes. Where live pods still have addresses of the block, deleting the claim would break them; that is an error and said so.

## Fix
Move pods that still use the addresses; then delete the node's BlockAffinity objects and release its blocks, or let kube-controllers do it.

## False positives
Nodes that joined after the list of nodes was read.

## References
Calico issue 3589; kube-controllers issue 564.
";

/// A range that a node holds.
#[derive(Default)]
struct Held<'a> {
    claim: Option<&'a Affinity<'a>>,
    /// The block, where only it says so.
    unclaimed: Option<&'a Block<'a>>,
}

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let mut by_node: BTreeMap<&str, BTreeMap<IpNet, Held<'_>>> = BTreeMap::new();
    for affinity in ipam.confirmed() {
        if let Some(node) = affinity.host() {
            let held = by_node.entry(node).or_default();
            held.entry(affinity.net).or_default().claim = Some(affinity);
        }
    }
    // A block may say whose it is when its claim is lost.
    for block in &ipam.blocks {
        let node = block.host().unwrap_or_default();
        let is_claimed = by_node
            .get(node)
            .is_some_and(|held| held.contains_key(&block.net));
        if !node.is_empty() && !is_claimed {
            let held = by_node.entry(node).or_default();
            held.entry(block.net).or_default().unclaimed = Some(block);
        }
    }
    by_node.retain(|node, _| !ipam.nodes.contains(node));
    for (node, held) in by_node {
        let blocks: Vec<&Block<'_>> = held
            .keys()
            .filter_map(|net| ipam.block_with(*net))
            .collect();
        let n_addresses = held.keys().map(size).fold(0, u64::saturating_add);
        let allocations = blocks.iter().flat_map(|block| block.allocations());
        let n_live = allocations
            .filter(|allocation| ipam.is_in_use(allocation))
            .count();
        let n = held.len();
        let holds = format!(
            "the node is gone and holds {n} block{} with {n_addresses} addresses",
            if n == 1 { "" } else { "s" }
        );
        let message = if n_live > 0 {
            format!("{holds}, of which live pods use {n_live}")
        } else {
            holds
        };
        let finding = out.report(Subject::new("Node", "", node), message);
        for (net, held) in &held {
            if let Some(claim) = held.claim {
                let value = format!("{net} confirmed for {node}");
                finding.saw(claim.object.meta(), "spec.cidr", value);
            }
            if let Some(block) = held.unclaimed {
                let value = format!("host:{node}, without a claim");
                finding.saw(block.object.meta(), "spec.affinity", value);
            }
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
