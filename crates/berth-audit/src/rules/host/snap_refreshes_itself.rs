//! Hosts whose MicroK8s is refreshed whenever the snap store says so.

use super::snap::microk8s;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH007",
    name: "snap-refreshes-itself",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::SnapList)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts on which the snap `microk8s` is not held.

## Why it matters
A refresh restarts API, kubelet and containerd at a moment of its own choice, on all hosts of a channel within hours: after it nodes have shown 0 GPUs and pods of the network plugin have died. The channel `latest` changes the minor version as well.

## How it is decided
The notes of `microk8s` in `snap list` say `held` where refreshes are held. A channel with `latest` is an error.

## Fix
`snap refresh --hold microk8s`, then refresh by hand, a host at a time, after a drain.

## False positives
Sites that steer refreshes with a store proxy, or with `refresh.timer` and `refresh.hold` of the whole system, which the list does not show.

## References
MicroK8s issues 1022, 448, 5583; snap documentation, `snap refresh --hold`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx
        .dump
        .hosts
        .values()
        .filter(|host| host.file(HostFile::SnapList).is_some())
    {
        let Some(snap) = microk8s(host) else {
            out.not_assessable(format!(
                "no line of microk8s in sys/snap-list of {}",
                host.name
            ));
            continue;
        };
        if snap.notes.split(',').any(|note| note == "held") {
            continue;
        }
        let finding = out.report(
            host,
            format!(
                "microk8s {} refreshes itself from {} at any time",
                snap.version, snap.channel
            ),
        );
        if snap.channel.starts_with("latest") {
            finding.severity(Severity::Error);
        }
        finding.saw_on(host, snap.place, "notes", snap.notes);
        finding.saw_on(host, snap.place, "tracking", snap.channel);
        finding.fix(
            Applicability::Safe,
            "hold it with `snap refresh --hold microk8s`, and refresh by hand after a drain",
        );
    }
}
