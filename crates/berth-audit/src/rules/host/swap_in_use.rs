//! Hosts that swap.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH006",
    name: "swap-in-use",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::MemoryUsage)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts on which a tenth or more of the swap space is in use.

## Why it matters
A store whose pages are on disk answers late, leaders lose their leases and the control plane restarts; pages of GPU jobs that come back late stall whole gangs. Requests for memory mean nothing while swap hides the shortage.

## How it is decided
The line `Swap:` of `free -m`. MicroK8s lets the kubelet start in spite of swap, so nothing else warns.

## Fix
Turn it off (`swapoff -a`, and its line in `/etc/fstab`) after moving away what does not fit into memory.

## False positives
Swap that was filled once, long ago, and is not read any more.

## References
Kubernetes, swap memory management; MicroK8s default arguments (`--fail-swap-on=false`).
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx.dump.hosts.values() {
        let Some(file) = host.file(HostFile::MemoryUsage) else {
            continue;
        };
        let swap = file.lines().find_map(|(line, text)| {
            let mut numbers = text.trim().strip_prefix("Swap:")?.split_whitespace();
            let total: i64 = numbers.next()?.parse().ok()?;
            let used: i64 = numbers.next()?.parse().ok()?;
            Some((line, total, used))
        });
        let Some((line, total, used)) = swap else {
            out.not_assessable(format!(
                "no line of swap in sys/memory_usage of {}",
                host.name
            ));
            continue;
        };
        if total == 0 || used.saturating_mul(10) < total {
            continue;
        }
        let finding = out.report(host, format!("{used} of {total} MiB of swap are in use"));
        finding.saw_on(
            host,
            file.at(line),
            "Swap",
            format!("{used} of {total} MiB"),
        );
        finding.fix(
            Applicability::Disruptive,
            "move away what does not fit into memory, then turn swap off with `swapoff -a` and in /etc/fstab",
        );
    }
}
