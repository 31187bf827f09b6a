//! A scheduler or controller manager that may be without a leader for longer than the site accepts.

use berth_core::time::Span;

use super::program::programs;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM006",
    name: "leader-lease-too-long",
    family: Family::ControlPlane,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Schedulers and controller managers whose leases take longer to change hands than `failover-max`.

## Why it matters
When the host of the leader dies, nothing is scheduled and no controller acts until its lease has run out, whatever a virtual address in front of the API does. MicroK8s sets 60 s.

## How it is decided
The longest wait is the lease (`--leader-elect-lease-duration`, 15 s by default) and one retry (`--leader-elect-retry-period`, 2 s). Clusters that are known to have one control-plane node are not judged.

## Fix
Shorten lease, renew deadline and retry together, such as 15 s, 10 s and 2 s; shorter ones only where the store answers in milliseconds, because each retry is a write and a late one restarts the component. For less than seconds, keep hot standbys that release the lease when they end.

## False positives
Sites for which a minute without scheduling is nothing: raise `failover-max`.

## References
Kubernetes `client-go/tools/leaderelection`; MicroK8s default arguments; MicroK8s issue 3859.
";

/// The programs that elect a leader, with their argument files.
const ELECTORS: [(&str, HostFile); 2] = [
    ("kube-scheduler", HostFile::SchedulerArgs),
    ("kube-controller-manager", HostFile::ControllerManagerArgs),
];
const LEASE: &str = "leader-elect-lease-duration";
const RETRY: &str = "leader-elect-retry-period";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = &cx.dump.objects.nodes;
    let n_control_plane = nodes.iter().filter(|node| node.is_control_plane()).count();
    if cx.has_every(Kind::Node) && n_control_plane == 1 {
        return;
    }
    for (name, file) in ELECTORS {
        let copies = programs(cx, file, name);
        let waits = copies.iter().map(|copy| {
            let lease = copy.duration(LEASE, Span::from_secs(15));
            (lease + copy.duration(RETRY, Span::from_secs(2)), copy)
        });
        let Some(longest) = waits.clone().map(|(wait, _)| wait).max() else {
            out.not_assessable(format!("no arguments of {name}"));
            continue;
        };
        if longest <= cx.settings.failover_max {
            continue;
        }
        let finding = out.report(
            Subject::cluster(),
            format!(
                "{name} may be without a leader for {longest}, and {} is accepted",
                cx.settings.failover_max
            ),
        );
        for (_, copy) in waits.filter(|(wait, _)| *wait == longest) {
            copy.saw(finding, LEASE, copy.flag(LEASE).unwrap_or("not given, 15s"));
            copy.saw(finding, RETRY, copy.flag(RETRY).unwrap_or("not given, 2s"));
        }
        finding.fix(
            Applicability::Disruptive,
            "set lease, renew deadline and retry to 15s, 10s and 2s, or less where the store is fast",
        );
    }
}
