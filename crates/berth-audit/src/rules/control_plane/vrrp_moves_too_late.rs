//! A virtual address of keepalived that moves later than the site accepts.

use berth_core::time::Span;

use super::keepalived::routers;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM009",
    name: "vrrp-moves-too-late",
    family: Family::ControlPlane,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::Keepalived)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Virtual routers of keepalived that need longer than `failover-max` to move the address, after the death of a host or of its API.

## Why it matters
What users see of an outage is the longer of the two times. A dead host is noticed after seconds; a dead API, with the reference settings, after half a minute.

## How it is decided
The host of the highest priority in a `virtual_router_id` has the address, and the next one takes it.
Death of a host: three adverts and the skew of the one that takes over, (256 - its priority) / 256 adverts (RFC 5798). Death of the API: `interval` times `fall` of the slowest check whose weight moves the address.

## Fix
Shorter adverts (`advert_int` 0.1 to 0.3 with `vrrp_version 3`) only where hosts never stall for longer than three of them. Scripts run in whole seconds, so let a proxy that checks every 200 ms absorb a dead API instead of moving the address.

## False positives
Addresses that a proxy behind them makes unimportant.

## References
kubeadm `docs/ha-considerations.md`; RFC 5798 section 6.1; keepalived issues 1955, 2066, 2238.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let routers = routers(cx.dump);
    if routers.is_empty() {
        out.not_assessable("no vrrp_instance in keepalived.conf of a host");
    }
    for members in routers.values() {
        let Some((host, holder)) = members.first() else {
            continue;
        };
        let next = members.get(1).map_or(holder, |(_, next)| next);
        let advert = holder.advert_ms;
        let skew = (256 - next.priority).max(0).saturating_mul(advert) / 256;
        let of_host = Span::from_ms(advert.saturating_mul(3).saturating_add(skew));
        let effective = holder
            .checks
            .iter()
            .filter(|check| members.len() == 1 || check.moves(holder, next));
        let slowest = effective.max_by_key(|check| check.interval.saturating_mul(check.fall));
        let of_api =
            slowest.map(|check| Span::from_secs(check.interval.saturating_mul(check.fall)));
        let longest = of_api.map_or(of_host, |of_api| of_api.max(of_host));
        if longest <= cx.settings.failover_max {
            continue;
        }
        let api = of_api.map_or("never after the death of an API".to_owned(), |of_api| {
            format!("{of_api} after the death of an API")
        });
        let seconds = of_host.as_secs_f64();
        let finding = out.report(
            *host,
            format!("its address moves {seconds:.1}s after the death of a host, {api}"),
        );
        finding.saw_on(host, holder.place, "advert_int (ms)", advert);
        finding.saw_on(host, holder.place, "priority", holder.priority);
        if let Some((next_host, next)) = members.get(1) {
            finding.saw_on(next_host, next.place, "priority", next.priority);
        }
        if let Some(check) = slowest {
            let value = format!("interval {} fall {}", check.interval, check.fall);
            finding.saw_on(host, check.place, &check.name, value);
        }
        finding.fix(
            Applicability::Manual,
            "shorten adverts as far as stalls of the hosts allow, and let a proxy absorb a dead API",
        );
    }
}
