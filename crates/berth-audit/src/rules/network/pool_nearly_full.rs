//! Address pools of which most addresses are allocated.

use berth_core::time::Span;

use super::ipam::{Block, size};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN016",
    name: "pool-nearly-full",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpPool), Need::Every(Kind::IpamBlock)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Address pools of which most addresses are allocated.

## Why it matters
When the last address is gone, no pod starts on any node.

## How it is decided
Allocated addresses of all blocks inside an enabled pool are compared with the size of its range: a warning from `pool-full-percent`, an error from 90 percent. The pace of the last 30 days, by the timestamps of allocations, gives the days that are left.

## Fix
Release leaked addresses first. Then add a second pool; a pool's range can't be changed.

## False positives
Pools for tunnels and load balancers are meant to be small; they are judged alike.

## References
Calico issues 5339 (15,381 of 16,384), 4502.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    for pool in ipam
        .pools
        .iter()
        .filter(|pool| !pool.object.spec.disabled.0)
    {
        let total = size(&pool.net);
        let blocks = ipam
            .blocks
            .iter()
            .filter(|block| pool.net.contains(&block.net));
        let mut n_used = 0_u64;
        let mut n_live = 0_u64;
        let mut n_recent = 0_u64;
        for allocation in blocks.flat_map(Block::allocations) {
            n_used += 1;
            n_live += u64::from(ipam.is_in_use(&allocation));
            let taken = allocation
                .secondary("timestamp")
                .and_then(super::ipam::stamp);
            n_recent += u64::from(
                taken.is_some_and(|taken| cx.now.since(taken) < Span::from_days(PACE_DAYS)),
            );
        }
        let percent = i64::try_from(u128::from(n_used) * 100 / u128::from(total)).unwrap_or(100);
        if percent < cx.settings.pool_full_percent {
            continue;
        }
        let left = (total.saturating_sub(n_used))
            .saturating_mul(PACE_DAYS.unsigned_abs())
            .checked_div(n_recent);
        let pace = left.map_or(String::new(), |days| {
            format!("; full in about {days} days at the pace of the last {PACE_DAYS}")
        });
        let message =
            format!("{percent} % used: {n_used} of {total} addresses, {n_live} by live pods{pace}");
        let finding = out.report(pool.object.meta(), message);
        if percent >= ERROR_PERCENT {
            finding.severity(Severity::Error);
        }
        finding.saw(pool.object.meta(), "spec.cidr", &pool.object.spec.cidr);
        if n_live * 2 < n_used {
            finding.caused_by_any("BN001");
        }
        finding.fix(
            Applicability::Safe,
            "release leaked addresses, then add another pool",
        );
    }
}

/// From here on it is an error: a rollout of one large workload fills the rest.
const ERROR_PERCENT: i64 = 90;
/// Days over which the pace is taken.
const PACE_DAYS: i64 = 30;
