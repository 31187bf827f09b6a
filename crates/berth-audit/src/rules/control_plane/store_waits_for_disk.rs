//! A store whose disk answers so late that leaders lose their leases.

use crate::dump::host::journal::Needle;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM013",
    name: "store-waits-for-disk",
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
Hosts whose journals show `slow fdatasync`, or components that start again because they could not renew their lease.

## Why it matters
Every write of the cluster waits for the slowest disk of a majority. When it takes seconds, scheduler and controllers lose their leases and restart, which writes more. The usual reason is that images, volumes or a rebuild share the store's disk.

## How it is decided
Lines `slow fdatasync` (etcd writes one when a sync takes longer than a second) and `failed to renew lease` in journals; five or more of a kind in one report.

## Fix
Give the store a disk of its own with a sync below 10 ms (`fio --fdatasync=1`), or move what shares it: images, local volumes, replicas.

## False positives
One backup or one snapshot of the machine's disk that froze it.

## References
etcd FAQ and hardware guide (WAL fsync p99 below 10 ms); MicroK8s issues 3227, 3859, 3064.
";

/// Fewer lines are an episode.
const LINES_MIN: usize = 5;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut n_read = 0;
    for host in cx.dump.hosts.values() {
        n_read += host.journal.n_read;
        let slow: Vec<_> = host.journal.of(Needle::SlowFdatasync).collect();
        let lost: Vec<_> = host.journal.of(Needle::LeaseLost).collect();
        if slow.len() < LINES_MIN && lost.len() < LINES_MIN {
            continue;
        }
        let finding = out.report(
            host,
            format!(
                "slow syncs of the store: {}, leases that were not renewed in time: {}",
                slow.len(),
                lost.len()
            ),
        );
        if slow.len() < LINES_MIN {
            finding.confidence(Confidence::Medium);
        }
        for line in slow.last().into_iter().chain(lost.last()) {
            finding.saw_on(host, line.place, "journal", &line.text);
        }
        finding.caused_by("BH001", host);
        finding.fix(
            Applicability::Disruptive,
            "give the store a disk of its own that syncs in less than 10 ms, or move what shares it",
        );
    }
    if n_read == 0 {
        out.not_assessable("a journal of a host");
    }
}
