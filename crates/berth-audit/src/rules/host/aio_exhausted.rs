//! Hosts whose asynchronous requests are used up.

use crate::dump::host::journal::Needle;
use crate::dump::host::tables::sysctl;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH001",
    name: "aio-exhausted",
    family: Family::Host,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::AioUsed), Need::File(HostFile::AioMax)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts on which `fs.aio-nr` has come to nine tenths of `fs.aio-max-nr` or more.

## Why it matters
dqlite writes with asynchronous requests. When another tenant of the host has taken them all, every write of the cluster's store stalls.

## How it is decided
The two numbers of the inspection report are compared. Pods of databases that are known to take many (Redpanda, ScyllaDB) are named as likely consumers.

## Fix
Raise the limit: `fs.aio-max-nr = 1048576` in `/etc/sysctl.d`, and move such databases off control-plane nodes.

## False positives
None known at nine tenths.

## References
MicroK8s issues 3227, 4080.
";

/// What MicroK8s asks for itself.
const WANTED: i64 = 1_048_576;
/// Images that take asynchronous requests by the ten thousand.
const CONSUMERS: [&str; 3] = ["redpanda", "scylla", "seastar"];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx.dump.hosts.values() {
        let (Some(used), Some(max)) = (host.file(HostFile::AioUsed), host.file(HostFile::AioMax))
        else {
            continue;
        };
        let (Some(n_used), Some(n_max)) = (sysctl(used), sysctl(max)) else {
            out.not_assessable(format!("the aio figures of {} are no numbers", host.name));
            continue;
        };
        if n_used.saturating_mul(10) < n_max.saturating_mul(9) {
            continue;
        }
        let finding = out.report(
            host,
            format!("{n_used} of {n_max} asynchronous requests are in use, so dqlite stalls"),
        );
        finding.saw_on(host, used.place, "fs.aio-nr", n_used);
        finding.saw_on(host, max.place, "fs.aio-max-nr", n_max);
        for line in host.journal.of(Needle::DeadlineExceeded).take(1) {
            finding.saw_on(host, line.place, "journal", &line.text);
        }
        for pod in cx.pods_on(&host.name) {
            let images = pod
                .spec
                .containers
                .iter()
                .map(|container| container.image.as_str());
            if let Some(image) = images
                .into_iter()
                .find(|image| CONSUMERS.iter().any(|name| image.contains(name)))
            {
                finding.saw(pod.meta(), "spec.containers[].image", image);
            }
        }
        finding.fix(
            Applicability::Safe,
            format!(
                "set fs.aio-max-nr to {WANTED} in /etc/sysctl.d and load it with `sysctl --system`"
            ),
        );
    }
}
