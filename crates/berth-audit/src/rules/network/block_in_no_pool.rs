//! Address blocks that lie in no pool.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN009",
    name: "block-in-no-pool",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpPool), Need::Every(Kind::IpamBlock)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Address blocks that lie in no pool.

## Why it matters
The pool was deleted or made smaller and its blocks stayed: their addresses are still routed and in use, no pool counts them, and nothing collects them.

## How it is decided
Each block's range must lie inside a pool, enabled or not. Blocks of load balancers are judged alike.

## Fix
Where pods still use the block, re-create the pool or move the pods; then release the block's addresses and delete it.

## False positives
None known.

## References
Calico issue 8446; libcalico-go pull request 935.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    if ipam.pools.is_empty() && ipam.blocks.is_empty() {
        return;
    }
    for block in &ipam.blocks {
        if ipam.pools.iter().any(|pool| pool.net.contains(&block.net)) {
            continue;
        }
        let (n_allocated, n_used) = block.allocations().fold((0, 0), |(all, used), allocation| {
            (all + 1, used + usize::from(ipam.is_in_use(&allocation)))
        });
        let message = format!(
            "{} lies in no pool; {n_allocated} addresses are allocated, {n_used} in use by pods",
            block.net
        );
        let finding = out.report(block.object.meta(), message);
        finding.saw(block.object.meta(), "spec.cidr", &block.object.spec.cidr);
        if let Some(affinity) = &block.object.spec.affinity {
            finding.saw(block.object.meta(), "spec.affinity", affinity);
        }
        for pool in &ipam.pools {
            finding.saw(pool.object.meta(), "spec.cidr", &pool.object.spec.cidr);
        }
        let fix = if n_used > 0 {
            "do not delete it yet: re-create the pool or move its pods first"
        } else {
            "release its addresses and delete the block and its claim"
        };
        finding.fix(Applicability::Manual, fix);
    }
}
