//! Confirmed claims on a block that does not exist, that says it belongs to another node, or that a second node has confirmed too.

use std::collections::BTreeMap;

use ipnet::IpNet;

use super::ipam::{Affinity, Block};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN011",
    name: "affinity-block-mismatch",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::IpamBlock),
        Need::Every(Kind::BlockAffinity),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Confirmed claims on a block that does not exist, that says it belongs to another node, or that a second node has confirmed too.

## Why it matters
The node routes addresses that it does not own. Which node gets a packet then depends on the order of route updates.

## How it is decided
Every confirmed claim must have a block of exactly its range whose `affinity` names the same node, and no other node may have confirmed the same range. Pending claims count as absent.

## Fix
Delete the wrong claim (the one without a block, or the younger of two) and restart calico-node on its node.

## False positives
A claim that was confirmed between the two listings.

## References
Calico issue 8446; libcalico-go issue 778.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let mut by_net: BTreeMap<IpNet, Vec<&Affinity<'_>>> = BTreeMap::new();
    for affinity in ipam.confirmed() {
        by_net.entry(affinity.net).or_default().push(affinity);
    }
    for (net, affinities) in &by_net {
        let hosts: Vec<&str> = affinities
            .iter()
            .filter_map(|affinity| affinity.host())
            .collect();
        if hosts.len() > 1 {
            let finding = out.report(
                affinities[0].object.meta(),
                format!("{net} is confirmed for {}", hosts.join(" and ")),
            );
            for affinity in affinities {
                finding.saw(
                    affinity.object.meta(),
                    "spec.node",
                    &affinity.object.spec.node,
                );
            }
            finding.fix(
                Applicability::Disruptive,
                "delete the younger claim and restart calico-node on its node",
            );
        }
        let block = ipam.block_with(*net);
        for affinity in affinities {
            judge(out, affinity, block);
        }
    }
}

fn judge(out: &mut Findings<'_>, affinity: &Affinity<'_>, block: Option<&Block<'_>>) {
    let Some(host) = affinity.host() else {
        return;
    };
    let meta = affinity.object.meta();
    let Some(block) = block else {
        let finding = out.report(
            meta,
            format!(
                "{host} has confirmed {}, and there is no such block",
                affinity.net
            ),
        );
        finding.saw(meta, "spec.cidr", &affinity.object.spec.cidr);
        finding.caused_by("BN007", meta);
        finding.fix(
            Applicability::Disruptive,
            format!("delete the claim and restart calico-node on {host}"),
        );
        return;
    };
    let owner = block.host().unwrap_or("nobody");
    if owner != host {
        let finding = out.report(
            meta,
            format!(
                "{host} has confirmed {}, and the block belongs to {owner}",
                affinity.net
            ),
        );
        finding.saw(meta, "spec.node", host);
        finding.saw(block.object.meta(), "spec.affinity", owner);
        finding.fix(
            Applicability::Disruptive,
            format!("delete the claim of {host} and restart calico-node on it"),
        );
    }
}
