//! Hosts on which memory ran out as a whole.

use crate::dump::host::journal::Needle;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH013",
    name: "memory-ran-out",
    family: Family::Host,
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
Hosts whose kernel ended processes because the host, not a container, was out of memory.

## Why it matters
The kernel picks by size and score, not by owner: a training job of somebody else, containerd, or the store of the cluster. Requests and reservations are then wrong, whatever they say.

## How it is decided
Lines `Out of memory: Killed process` in kernel rings and journals. Kills inside a container's own limit read `Memory cgroup out of memory` and are the container's affair; they are not counted.

## Fix
Set requests for memory to what is used, limit what has no limit, and reserve memory for the system.

## False positives
A single event long ago: the ring holds everything since the last start.

## References
Linux, `mm/oom_kill.c`; Kubernetes, node out of memory behaviour.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut n_read = 0;
    for host in cx.dump.hosts.values() {
        n_read += host.journal.n_read;
        let lines: Vec<_> = host.journal.of(Needle::OutOfMemory).collect();
        let Some(last) = lines.last() else {
            continue;
        };
        let finding = out.report(
            host,
            format!(
                "memory of the whole host ran out (lines in its journals: {})",
                lines.len()
            ),
        );
        finding.saw_on(host, last.place, "journal", &last.text);
        finding.caused_by_any("BH012");
        finding.fix(
            Applicability::Manual,
            "set requests for memory to what is used, and reserve memory for the system",
        );
    }
    if n_read == 0 {
        out.not_assessable("a journal or kernel ring of a host");
    }
}
