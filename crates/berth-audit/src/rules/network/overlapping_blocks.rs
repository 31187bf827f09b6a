//! Address blocks, or nodes' claims on blocks, whose ranges overlap.

use std::collections::BTreeMap;

use berth_core::time::Time;
use ipnet::IpNet;

use super::ipam::{Affinity, Block};
use crate::dump::lenient::Stamp;
use crate::dump::meta::Meta;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN007",
    name: "overlapping-blocks",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::IpamBlock),
        Need::Some(Kind::BlockAffinity),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Address blocks, or nodes' claims on blocks, whose ranges overlap.

## Why it matters
Two nodes route the same addresses. Pods get addresses that another node answers for, and the books of both blocks are wrong for ever.

## How it is decided
Ranges of all blocks and of all confirmed claims are compared; equal ranges are one block. Calico looks for free blocks by exact prefix only, so blocks of two widths can be made one inside the other after the block size of a pool was changed. The one that was made later is named as the cause, the wider one where times are not known.

## Fix
Drain the node that holds the named block, release its block and claim (`calicoctl ipam release`, then delete the objects), and let it claim a new one. Keep one block size a range.

## False positives
None known.

## References
Calico issues 8446, 10778; libcalico-go issue 1377.
";

/// A range and who holds it.
struct Holder<'a> {
    net: IpNet,
    meta: &'a Meta,
    node: &'a str,
    since: Option<Time>,
}

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let mut holders: Vec<Holder<'_>> = ipam.blocks.iter().map(of_block).collect();
    // A claim whose block exists says nothing new.
    let lone = ipam
        .confirmed()
        .filter(|affinity| ipam.block_with(affinity.net).is_none());
    holders.extend(lone.map(of_affinity));
    holders.sort_by_cached_key(|holder| (holder.net, holder.meta.full_name()));
    let mut pairs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for index in 0..holders.len() {
        let net = holders[index].net;
        open.retain(|outer| holders[*outer].net.contains(&net.network()));
        for outer in open.iter().filter(|outer| holders[**outer].net != net) {
            let culprit = culprit(&holders, *outer, index);
            pairs
                .entry(culprit)
                .or_default()
                .push(if culprit == index { *outer } else { index });
        }
        open.push(index);
    }
    for (culprit, others) in pairs {
        report(
            out,
            &holders[culprit],
            others.iter().map(|other| &holders[*other]),
        );
    }
}

/// The one that was made later, or the wider one.
fn culprit(holders: &[Holder<'_>], outer: usize, inner: usize) -> usize {
    match (holders[outer].since, holders[inner].since) {
        (Some(a), Some(b)) if a < b => inner,
        _ => outer,
    }
}

fn report<'a>(
    out: &mut Findings<'_>,
    culprit: &Holder<'_>,
    others: impl Iterator<Item = &'a Holder<'a>> + Clone,
) {
    let n = others.clone().count();
    let since = culprit.since.map_or(String::new(), |since| {
        format!(", made {}", Stamp::write(since))
    });
    let message = format!(
        "{} of {}{since} overlaps {n} other{}",
        culprit.net,
        culprit.node,
        if n == 1 { "" } else { "s" }
    );
    let finding = out.report(culprit.meta, message);
    finding.saw(
        culprit.meta,
        "spec.cidr",
        format!("{} of {}", culprit.net, culprit.node),
    );
    for other in others {
        finding.saw(
            other.meta,
            "spec.cidr",
            format!("{} of {}", other.net, other.node),
        );
        finding.also(other.meta);
    }
    let fix = format!(
        "drain {} and remove its block and claim on {}; keep one block size a range",
        culprit.node, culprit.net
    );
    finding.fix(Applicability::Disruptive, fix);
}

fn of_block<'a>(block: &Block<'a>) -> Holder<'a> {
    let meta = block.object.meta();
    let since = block
        .object
        .spec
        .affinity_claim_time
        .or(meta.created)
        .map(|stamp| stamp.0);
    Holder {
        net: block.net,
        meta,
        node: block.host().unwrap_or("nobody"),
        since,
    }
}

fn of_affinity<'a>(affinity: &Affinity<'a>) -> Holder<'a> {
    let meta = affinity.object.meta();
    Holder {
        net: affinity.net,
        meta,
        node: affinity.host().unwrap_or("nobody"),
        since: meta.created.map(|stamp| stamp.0),
    }
}
