//! Hosts whose limits of file watches are too low for many pods.

use crate::dump::host::tables::sysctl;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH005",
    name: "inotify-limits-low",
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
Hosts with fewer than 1,024 inotify instances, or fewer than 1,048,576 watches, for each user.

## Why it matters
All root processes of a host share them: kubelet, containerd, log collectors and every notebook that watches files. When they are used up, `too many open files` or `no space left on device` come from programs that have plenty of both, and logs stop.

## How it is decided
`fs.inotify.max_user_instances` and `fs.inotify.max_user_watches` in the inspection report, against what MicroK8s asks for itself. Distributions ship 128 instances.

## Fix
Set both in `/etc/sysctl.d` and load them with `sysctl --system`; nothing needs a restart, but pods that failed do.

## False positives
Hosts with a handful of pods.

## References
MicroK8s issue 4136 and its `inspect` script; inotify(7).
";

/// The limits, their names, and what MicroK8s asks for.
const LIMITS: [(HostFile, &str, i64); 2] = [
    (
        HostFile::InotifyInstances,
        "fs.inotify.max_user_instances",
        1024,
    ),
    (
        HostFile::InotifyWatches,
        "fs.inotify.max_user_watches",
        1_048_576,
    ),
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut n_read = 0;
    for host in cx.dump.hosts.values() {
        let limits = LIMITS.iter().filter_map(|(file, name, wanted)| {
            let text = host.file(*file)?;
            Some((text, *name, sysctl(text)?, *wanted))
        });
        let limits: Vec<_> = limits.collect();
        n_read += limits.len();
        let low: Vec<_> = limits
            .iter()
            .filter(|(_, _, is, wanted)| is < wanted)
            .collect();
        if low.is_empty() {
            continue;
        }
        let texts: Vec<String> = low
            .iter()
            .map(|(_, name, is, wanted)| format!("{name} is {is} of {wanted}"))
            .collect();
        let finding = out.report(host, texts.join(", "));
        let mut settings = Vec::new();
        for (text, name, is, wanted) in low {
            finding.saw_on(host, text.place, name, is);
            settings.push(format!("{name}={wanted}"));
        }
        finding.fix(
            Applicability::Safe,
            format!(
                "set {} in /etc/sysctl.d and load it with `sysctl --system`",
                settings.join(" and ")
            ),
        );
    }
    if n_read == 0 {
        out.not_assessable(
            "sys/inotify_max_user_instances and sys/inotify_max_user_watches of a host",
        );
    }
}
