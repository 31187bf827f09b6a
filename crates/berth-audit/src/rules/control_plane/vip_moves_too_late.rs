//! A virtual address of kube-vip that moves later than the site accepts.

use crate::rule::prelude::*;
use berth_core::time::Span;

pub(super) const RULE: Rule = Rule {
    code: "BM007",
    name: "vip-moves-too-late",
    family: Family::ControlPlane,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
kube-vip in ARP mode whose lease is longer than `failover-max`.

## Why it matters
In this mode one host answers for the address of the API, and another takes it only after the lease has run out: with the defaults 15 s. It does not look at the API of its own host either, so an API that hangs keeps the address.

## How it is decided
`vip_arp` and `vip_leaseduration` in the environment of kube-vip's containers, or the duration of its Lease `plndr-cp-lock` where that is longer; 15 s where neither says.

## Fix
Shorten lease, renew deadline and retry (5, 3 and 1 s are the least that is stable). Below a second, use BGP with BFD and a health check, or a proxy on every node.

## False positives
Instances of kube-vip that only serve Services of type LoadBalancer.

## References
kube-vip issues 1787, 1786, 1145; helm-charts issue 29 of kube-vip.
";

/// What kube-vip takes where it is told nothing.
const DEFAULT: Span = Span::from_secs(15);
const IN_ENV: &str = "spec.containers[].env vip_leaseduration";
const LOCK: &str = "plndr-cp-lock";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    let mut found = Vec::new();
    for pod in objects.pods.iter().filter(|pod| !pod.is_finished()) {
        for container in &pod.spec.containers {
            if container.image.contains("kube-vip") && container.env("vip_arp") == Some("true") {
                let lease = container
                    .env("vip_leaseduration")
                    .filter(|text| !text.is_empty());
                let seconds = lease.and_then(|text| text.parse().ok());
                found.push((pod, lease, seconds.map_or(DEFAULT, Span::from_secs)));
            }
        }
    }
    let Some(longest) = found.iter().map(|(_, _, lease)| *lease).max() else {
        return;
    };
    let lock = objects.leases.get("kube-system", LOCK);
    let held = lock.map(|lock| (lock, Span::from_secs(lock.spec.lease_duration_seconds.0)));
    let longest = held.map_or(longest, |(_, held)| held.max(longest));
    if longest <= cx.settings.failover_max {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        format!(
            "the address of the API moves {longest} after its host has died, and {} is accepted; an API that hangs does not move it",
            cx.settings.failover_max
        ),
    );
    for (pod, lease, _) in found {
        finding.saw(pod.meta(), IN_ENV, lease.unwrap_or("not given, 15"));
    }
    if let Some((lock, _)) = held {
        finding.saw(
            lock.meta(),
            "spec.leaseDurationSeconds",
            lock.spec.lease_duration_seconds.0,
        );
    }
    finding.fix(
        Applicability::Disruptive,
        "shorten lease, renew deadline and retry to 5, 3 and 1 s; below that use BGP with BFD, or a proxy on every node",
    );
}
