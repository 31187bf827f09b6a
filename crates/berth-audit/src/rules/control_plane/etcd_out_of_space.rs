//! A store that has reached its space quota and takes no more writes.

use crate::dump::host::journal::Needle;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM011",
    name: "etcd-out-of-space",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts whose journals say `mvcc: database space exceeded`.

## Why it matters
etcd has raised its NOSPACE alarm: reads and deletions work, everything else is refused. Nothing is scheduled, leases are not renewed, and the alarm stays after space has been made.

## How it is decided
The line in journals of API server or etcd. That it has been solved since cannot be seen, so the last line is shown.

## Fix
Compact, defragment one member after the other with the leader last, then `etcdctl alarm disarm`. Find what filled it (events, leaked handles, reports), and raise `--quota-backend-bytes` up to 8 GiB.

## False positives
An old line of a fault that has been mended.

## References
etcd, maintenance: space quota.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut n_read = 0;
    for host in cx.dump.hosts.values() {
        n_read += host.journal.n_read;
        let lines: Vec<_> = host.journal.of(Needle::NoSpace).collect();
        let Some(last) = lines.last() else {
            continue;
        };
        let finding = out.report(
            host,
            format!(
                "the store refused writes for want of space (lines in its journals: {})",
                lines.len()
            ),
        );
        finding.saw_on(host, last.place, "journal", &last.text);
        finding.caused_by_any("BN002");
        finding.fix(
            Applicability::Manual,
            "compact, defragment one member after the other with the leader last, then `etcdctl alarm disarm`",
        );
    }
    if n_read == 0 {
        out.not_assessable("a journal of a host");
    }
}
