//! Hosts with a disk that is nearly full.

use crate::rule::prelude::*;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    code: "BH004",
    name: "disk-nearly-full",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::DiskUsage)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
File systems of hosts that are used to `disk-full-percent` or more.

## Why it matters
Before a disk is full, the kubelet removes images and evicts pods; when it is, dqlite and etcd stop writing, and on MicroK8s the cluster's store lies on the same disk as everybody's images.

## How it is decided
`sys/disk_usage` as `df -h` prints it, one finding a device and host. Images of snaps (loop devices) are full by design and are left out. From 95 % on it is an error.

## Fix
Remove images (`crictl rmi --prune`), old logs and core files, or give images and volumes a disk of their own.

## False positives
Disks that are filled on purpose, such as data sets that do not grow.

## References
Kubernetes, node-pressure eviction; MicroK8s default arguments.
";

/// Use from which writing fails soon.
const FULL: i64 = 95;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx.dump.hosts.values() {
        let Some(file) = host.file(HostFile::DiskUsage) else {
            continue;
        };
        let mut seen = BTreeSet::new();
        let mut n_read = 0;
        for (line, text) in file.lines() {
            let Some((device, percent, mount)) = usage(text) else {
                continue;
            };
            n_read += 1;
            if percent < cx.settings.disk_full_percent
                || device.starts_with("/dev/loop")
                || !seen.insert(device)
            {
                continue;
            }
            let finding = out.report(host, format!("{percent} % of {mount} is used"));
            if percent >= FULL {
                finding.severity(Severity::Error);
            }
            finding.saw_on(host, file.at(line), device, text.trim());
            finding.fix(Applicability::Manual, "remove images, logs and core files, or give images and volumes a disk of their own");
        }
        if n_read == 0 {
            out.not_assessable(format!(
                "no readable line in sys/disk_usage of {}",
                host.name
            ));
        }
    }
}

/// Device, use in percent, and mount point of a line of `df`.
fn usage(line: &str) -> Option<(&str, i64, &str)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let device = words.first().filter(|device| device.starts_with('/'))?;
    let at = words.iter().position(|word| word.ends_with('%'))?;
    let percent = words[at].trim_end_matches('%').parse().ok()?;
    Some((device, percent, words.get(at + 1)?))
}
