//! Settings of etcd that do not fit together.

use super::program::{Program, programs};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM012",
    name: "etcd-settings-unfit",
    family: Family::ControlPlane,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Members of etcd with a space quota above 8 GiB, with an election timeout of less than ten heartbeats, or with timings that differ between members.

## Why it matters
A store beyond 8 GiB takes minutes to start and to send a snapshot. A short election timeout elects new leaders whenever the disk is slow, and members with other timings than the rest hold elections that nobody needs.

## How it is decided
`--quota-backend-bytes`, `--heartbeat-interval` (100 ms by default) and `--election-timeout` (1,000 ms) of every member.

## Fix
Give all members the same timings: a heartbeat of about the round-trip time between them, an election timeout of ten times that, at most 50 s. Keep the quota at 8 GiB and remove what fills it.

## False positives
None known.

## References
etcd, tuning (time parameters) and limits (storage size).
";

const QUOTA: &str = "quota-backend-bytes";
const HEARTBEAT: &str = "heartbeat-interval";
const ELECTION: &str = "election-timeout";
/// What etcd suggests at most: 8 GiB.
const QUOTA_MAX: i64 = 8 << 30;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let members = programs(cx, HostFile::EtcdArgs, "etcd");
    if members.is_empty() {
        out.not_assessable("no arguments of etcd, neither of a host nor of its static pod");
        return;
    }
    let number = |member: &Program<'_>, flag: &str, default: i64| {
        member
            .flag(flag)
            .and_then(|value| value.parse().ok())
            .unwrap_or(default)
    };
    let timings = |member: &Program<'_>| {
        (
            number(member, HEARTBEAT, 100),
            number(member, ELECTION, 1000),
        )
    };
    let large: Vec<_> = members
        .iter()
        .filter(|member| number(member, QUOTA, 0) > QUOTA_MAX)
        .collect();
    if !large.is_empty() {
        let finding = out.report(Subject::cluster(), "the space quota of etcd is above 8 GiB");
        for member in large {
            member.saw(finding, QUOTA, member.flag(QUOTA).unwrap_or_default());
        }
        finding.fix(
            Applicability::Disruptive,
            "set --quota-backend-bytes=8589934592, and remove what fills the store",
        );
    }
    let hasty: Vec<_> = members
        .iter()
        .filter(|member| {
            let (heartbeat, election) = timings(member);
            election < heartbeat.saturating_mul(10)
        })
        .collect();
    say(
        out,
        "the election timeout of etcd is less than ten heartbeats",
        &hasty,
        timings,
    );
    let differ = members
        .iter()
        .any(|member| timings(member) != timings(&members[0]));
    if differ {
        let all: Vec<_> = members.iter().collect();
        say(out, "members of etcd have different timings", &all, timings);
    }
}

fn say(
    out: &mut Findings<'_>,
    what: &str,
    members: &[&Program<'_>],
    timings: impl Fn(&Program<'_>) -> (i64, i64),
) {
    if members.is_empty() {
        return;
    }
    let finding = out.report(Subject::cluster(), what);
    for member in members {
        let (heartbeat, election) = timings(member);
        member.saw(finding, HEARTBEAT, format!("{heartbeat} ms"));
        member.saw(finding, ELECTION, format!("{election} ms"));
    }
    finding.fix(
        Applicability::Disruptive,
        "give all members one heartbeat, near their round-trip time, and an election timeout of ten times that",
    );
}
