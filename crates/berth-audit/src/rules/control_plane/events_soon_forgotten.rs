//! An API server that forgets events within minutes.

use berth_core::time::Span;

use super::program::programs;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM015",
    name: "events-soon-forgotten",
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
API servers with an `--event-ttl` below an hour.

## Why it matters
What happened at night is gone in the morning, and a dump holds at most these minutes: that it shows no event proves nothing. MicroK8s sets five minutes to spare its store.

## How it is decided
`--event-ttl` of `kube-apiserver`; one hour where it is not given.

## Fix
On etcd set it back to one hour; on dqlite send events to a log store instead.

## False positives
Sites that export events.

## References
MicroK8s default arguments; Kubernetes, `kube-apiserver --event-ttl`.
";

const TTL: &str = "event-ttl";
/// What the API server takes by itself.
const USUAL: Span = Span::from_mins(60);

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let servers = programs(cx, HostFile::ApiServerArgs, "kube-apiserver");
    if servers.is_empty() {
        out.not_assessable(
            "no arguments of kube-apiserver, neither of a host nor of its static pod",
        );
        return;
    }
    let short = servers
        .iter()
        .filter(|server| server.duration(TTL, USUAL) < USUAL);
    let short: Vec<_> = short.collect();
    let Some(shortest) = short.iter().map(|server| server.duration(TTL, USUAL)).min() else {
        return;
    };
    let finding = out.report(
        Subject::cluster(),
        format!("events are kept for {shortest}, so their absence from a dump proves nothing"),
    );
    for server in short {
        server.saw(finding, TTL, server.flag(TTL).unwrap_or_default());
    }
    finding.fix(
        Applicability::Disruptive,
        "set --event-ttl=1h on etcd; on dqlite send events to a log store",
    );
}
