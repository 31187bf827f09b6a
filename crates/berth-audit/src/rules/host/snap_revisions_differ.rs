//! Hosts of one cluster with different builds of MicroK8s.

use std::collections::BTreeMap;

use super::snap::{Snap, microk8s};
use crate::dump::host::Host;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH008",
    name: "snap-revisions-differ",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::SnapList)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Clusters whose hosts run different revisions of the snap `microk8s`.

## Why it matters
A refresh that came half way leaves stores, API servers and network pods of different versions side by side; dqlite members of different versions have refused each other, and what works depends on the host that answers.

## How it is decided
Revisions of `microk8s` in `snap list` of all hosts of the dump.

## Fix
Refresh the older ones, one host at a time after a drain: `snap refresh microk8s --revision N`, then hold.

## False positives
An upgrade that is under way; hosts of different architectures, whose revisions differ by design (the versions are shown).

## References
MicroK8s issues 1022, 4691.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut by_version: BTreeMap<(&str, &str), Vec<(&Host, Snap<'_>)>> = BTreeMap::new();
    for host in cx.dump.hosts.values() {
        if let Some(snap) = microk8s(host) {
            by_version
                .entry((snap.version, snap.revision))
                .or_default()
                .push((host, snap));
        }
    }
    let n_hosts: usize = by_version.values().map(Vec::len).sum();
    if n_hosts < 2 {
        out.not_assessable("the snaps of two hosts or more");
        return;
    }
    if by_version.len() < 2 {
        return;
    }
    let versions: Vec<String> = by_version
        .iter()
        .map(|((version, revision), hosts)| format!("{version} ({revision}) on {}", hosts.len()))
        .collect();
    let finding = out.report(
        Subject::cluster(),
        format!(
            "hosts run different builds of MicroK8s: {}",
            versions.join(", ")
        ),
    );
    for (host, snap) in by_version.into_values().flatten() {
        finding.saw_on(
            host,
            snap.place,
            "microk8s",
            format!("{} revision {}", snap.version, snap.revision),
        );
    }
    finding.fix(
        Applicability::Disruptive,
        "refresh the older ones to one revision, a host at a time after a drain, and hold it",
    );
}
