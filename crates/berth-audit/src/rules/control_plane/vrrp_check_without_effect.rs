//! A check of keepalived whose weight is too small to move the address.

use super::keepalived::routers;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM008",
    name: "vrrp-check-without-effect",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::Keepalived)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Virtual routers of keepalived on which a failed check lowers the priority by less than the distance to the next host.

## Why it matters
The API of the host may be dead for hours, and the virtual address stays there: the check runs, fails, and changes nothing. It is found in the first real outage.

## How it is decided
Hosts of one `virtual_router_id` are compared: the highest priority, less the absolute `weight` of each check that it follows, must fall below the second highest. A weight of 0 gives the address up and is always enough.

## Fix
Make the weight larger than the distance of the priorities, or the distance smaller: kubeadm's reference has 101, 100 and a weight of -2.

## False positives
Several checks that are meant to fail together.

## References
kubeadm `docs/ha-considerations.md`; keepalived.conf(5), `vrrp_script` and `weight`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let routers = routers(cx.dump);
    if routers.is_empty() {
        out.not_assessable("no vrrp_instance in keepalived.conf of a host");
    }
    for (router, members) in &routers {
        let [(host, first), (next_host, next), ..] = &members[..] else {
            out.not_assessable(format!(
                "only one host of the virtual router {router} is in the dump"
            ));
            continue;
        };
        for check in first
            .checks
            .iter()
            .filter(|check| !check.moves(first, next))
        {
            let left = first.priority - check.weight.abs();
            let finding = out.report(
                *host,
                format!(
                    "a failed {} leaves it priority {left} against {} of {}, so the address never moves",
                    check.name, next.priority, next_host.name
                ),
            );
            finding.saw_on(host, first.place, "priority", first.priority);
            finding.saw_on(host, check.place, "weight", check.weight);
            finding.saw_on(next_host, next.place, "priority", next.priority);
            let gap = first.priority - next.priority;
            finding.fix(
                Applicability::Safe,
                format!(
                    "set a weight of at most -{} on every host, or bring the priorities together",
                    gap + 1
                ),
            );
        }
    }
}
