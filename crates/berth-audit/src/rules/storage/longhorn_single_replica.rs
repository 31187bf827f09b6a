//! Longhorn volumes with one replica.

use super::longhorn::healthy;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS003",
    name: "longhorn-single-replica",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::LonghornVolume)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Longhorn volumes that are meant to have a single replica, other than with the locality `strict-local`.

## Why it matters
The loss of one disk loses the data, and a drain of its node stops everything that uses it. The network is paid for all the same.

## How it is decided
`spec.numberOfReplicas` is 1. `strict-local` is left alone: it is made for applications that replicate themselves.

## Fix
Raise the count to 2 (`numberOfReplicas` of the volume and of its StorageClass), or use `strict-local` or a local volume on purpose.

## False positives
Scratch data and caches. Ignore these volumes by name.

## References
Longhorn `best-practices.md`, 1.8.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for volume in &cx.dump.objects.longhorn_volumes {
        let spec = &volume.spec;
        if spec.number_of_replicas.0 != 1 || spec.data_locality == "strict-local" {
            continue;
        }
        let meta = volume.meta();
        let finding = out.report(meta, "its only replica is lost with one disk");
        finding.saw(meta, "spec.numberOfReplicas", 1);
        for replica in healthy(cx, &meta.namespace, &meta.name) {
            finding.saw(replica.meta(), "spec.nodeID", &replica.spec.node_id);
        }
        finding.fix(
            Applicability::Safe,
            "set numberOfReplicas to 2, in the volume and in its StorageClass",
        );
    }
}
