//! Nodes that hold as many blocks as they may, all of them full.

use std::collections::BTreeMap;

use super::ipam::{Block, IpamSettings};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN013",
    name: "blocks-per-host-exhausted",
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
Nodes that hold as many blocks as they may, all of them full.

## Why it matters
The next pods on the node borrow addresses from others, or hang in ContainerCreating where strict affinity forbids that.

## How it is decided
Blocks are counted by node and family and compared with `maxBlocksPerHost` of the IPAMConfig `default`, 20 where it is 0 or absent. A block is full where nothing is unallocated in it.

## Fix
Raise `maxBlocksPerHost`, or use a smaller prefix (larger blocks) for a new pool. Look for leaked addresses first.

## False positives
None known.

## References
Calico issue 4861 (55 full blocks on a node).
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let settings = IpamSettings::of(cx.dump);
    let mut by_node: BTreeMap<(&str, bool), Vec<&Block<'_>>> = BTreeMap::new();
    for block in &cx.ipam().blocks {
        if let Some(host) = block.host() {
            by_node
                .entry((host, block.net.addr().is_ipv6()))
                .or_default()
                .push(block);
        }
    }
    for ((node, is_v6), blocks) in by_node {
        let is_full = |block: &&Block<'_>| block.allocations().count() as u64 >= block.size();
        let n = blocks.len();
        if (n as i64) < settings.blocks_max || !blocks.iter().all(is_full) {
            continue;
        }
        let family = if is_v6 { "IPv6" } else { "IPv4" };
        let after = if settings.is_strict {
            "its next pod gets no address"
        } else {
            "its next pods borrow addresses"
        };
        let message = format!(
            "all {n} {family} blocks are full and it may hold {}: {after}",
            settings.blocks_max
        );
        let finding = out.report(Subject::new("Node", "", node), message);
        if settings.is_strict {
            finding.severity(Severity::Error);
        }
        if let Some(config) = settings.object {
            finding.saw(
                config.meta(),
                "spec.maxBlocksPerHost",
                config.spec.max_blocks_per_host.0,
            );
        }
        for block in &blocks {
            finding.saw(
                block.object.meta(),
                "spec.cidr",
                format!("{} full", block.net),
            );
        }
        finding.caused_by("BN001", Subject::new("Node", "", node));
        finding.fix(
            Applicability::Safe,
            "raise maxBlocksPerHost, after leaked addresses are released",
        );
    }
}
