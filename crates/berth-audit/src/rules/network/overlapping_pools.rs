//! Address pools whose ranges overlap.

use super::ipam::Pool;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN008",
    name: "overlapping-pools",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpPool)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Address pools whose ranges overlap.

## Why it matters
The same address can be handed out by either pool; blocks of one are made inside blocks of the other.

## How it is decided
Ranges of all pools are compared. Calico refuses an overlap when `calicoctl` creates a pool, and not when a custom resource is written with `kubectl`. New controllers mark the younger one as not allocatable.

## Fix
Disable the younger pool, move its workloads, and delete it.

## False positives
A disabled pool that is being replaced is reported as information.

## References
Calico `kube-controllers/pkg/controllers/ippool`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let pools = &cx.ipam().pools;
    for (index, first) in pools.iter().enumerate() {
        for second in &pools[index + 1..] {
            let overlaps = first.net.contains(&second.net.network())
                || second.net.contains(&first.net.network());
            if !overlaps {
                continue;
            }
            let made = |pool: &Pool<'_>| pool.object.meta().created;
            let (older, younger) = if made(first) > made(second) {
                (second, first)
            } else {
                (first, second)
            };
            let message = format!(
                "{} overlaps {} of pool {}",
                younger.net,
                older.net,
                older.object.meta().name
            );
            let finding = out.report(younger.object.meta(), message);
            if younger.object.spec.disabled.0 || older.object.spec.disabled.0 {
                finding.severity(Severity::Info);
            }
            for pool in [older, younger] {
                finding.saw(pool.object.meta(), "spec.cidr", &pool.object.spec.cidr);
            }
            finding.fix(
                Applicability::Disruptive,
                "disable the younger pool, move its workloads, then delete it",
            );
        }
    }
}
