//! Clusters with strict affinity in which some node can't have a block.

use std::collections::BTreeSet;

use super::ipam::{Block, IpamSettings, Pool};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN014",
    name: "strict-affinity-without-blocks",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::IpPool),
        Need::Every(Kind::IpamBlock),
        Need::Every(Kind::Node),
        Need::Some(Kind::IpamConfig),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Clusters with strict affinity in which some node can't have a block.

## Why it matters
With strict affinity a node takes addresses from its own blocks only. A node without one starts no pod at all.

## How it is decided
With `strictAffinity`, the blocks that all enabled pools for workloads can be cut into are compared with the nodes; and where every block is taken, nodes without one are named.

## Fix
Add a pool, make blocks smaller in a new pool, or turn strict affinity off.

## False positives
Pools with a node selector are counted for every node, so the finding may come late.

## References
Calico issue 8435 (RKE2 turns strict affinity on).
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let settings = IpamSettings::of(cx.dump);
    let Some(config) = settings.object.filter(|_| settings.is_strict) else {
        return;
    };
    let ipam = cx.ipam();
    for is_v6 in [false, true] {
        let pools: Vec<&Pool<'_>> = ipam
            .pools
            .iter()
            .filter(|pool| is_usable(pool, is_v6))
            .collect();
        let n_blocks = pools
            .iter()
            .map(|pool| n_blocks(pool))
            .fold(0, u64::saturating_add);
        let taken: BTreeSet<&str> = ipam
            .blocks
            .iter()
            .filter(|block| block.net.addr().is_ipv6() == is_v6)
            .filter_map(Block::host)
            .collect();
        let in_pools = |block: &&Block<'_>| pools.iter().any(|pool| pool.net.contains(&block.net));
        let n_taken = ipam.blocks.iter().filter(in_pools).count() as u64;
        let without: Vec<&str> = ipam
            .nodes
            .iter()
            .copied()
            .filter(|node| !taken.contains(node))
            .collect();
        let n_nodes = ipam.nodes.len() as u64;
        let is_short = n_blocks < n_nodes || (n_taken >= n_blocks && !without.is_empty());
        if pools.is_empty() || !is_short {
            continue;
        }
        let message = format!(
            "strict affinity, {n_blocks} blocks for {n_nodes} nodes: {} have none and get none",
            without.len()
        );
        let finding = out.report(config.meta(), message);
        finding.saw(config.meta(), "spec.strictAffinity", true);
        for pool in &pools {
            let value = format!("{} in blocks of /{}", pool.net, block_prefix(pool));
            finding.saw(pool.object.meta(), "spec.blockSize", value);
        }
        for node in without.iter().take(10) {
            finding.also(Subject::new("Node", "", node));
        }
        finding.fix(
            Applicability::Disruptive,
            "add a pool with smaller blocks, or turn strict affinity off",
        );
    }
}

/// Enabled, of the family, and for workloads.
fn is_usable(pool: &Pool<'_>, is_v6: bool) -> bool {
    let uses = &pool.object.spec.allowed_uses;
    let is_for_pods = uses.is_empty() || uses.iter().any(|used| used == "Workload");
    !pool.object.spec.disabled.0 && pool.net.addr().is_ipv6() == is_v6 && is_for_pods
}

/// Prefix length of the pool's blocks.
fn block_prefix(pool: &Pool<'_>) -> i64 {
    let default = if pool.net.addr().is_ipv6() { 122 } else { 26 };
    pool.object.spec.block_size.map_or(default, |size| size.0)
}

fn n_blocks(pool: &Pool<'_>) -> u64 {
    let bits = block_prefix(pool) - i64::from(pool.net.prefix_len());
    u32::try_from(bits)
        .ok()
        .and_then(|bits| 1_u64.checked_shl(bits))
        .unwrap_or(0)
}
