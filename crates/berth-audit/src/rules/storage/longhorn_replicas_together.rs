//! Longhorn volumes all of whose replicas are on one node.

use super::longhorn::{healthy, setting};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS004",
    name: "longhorn-replicas-together",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::LonghornVolume),
        Need::Every(Kind::LonghornReplica),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Longhorn volumes with two or more wanted replicas whose healthy replicas all stand on one node.

## Why it matters
The count looks safe and is not: the loss of that node loses every copy. It happens where replicas may share nodes and the others were full or away for a while.

## How it is decided
Replicas with `healthyAt` and without `failedAt` are grouped by `nodeID`. Volumes with fewer than two healthy replicas are degraded and belong to another rule.

## Fix
Set `replica-soft-anti-affinity` to false and `replica-auto-balance` to `least-effort`, then delete one replica at a time so that it is built elsewhere.

## False positives
Clusters of one node.

## References
Longhorn `best-practices.md`, 1.8, node soft anti-affinity and auto-balance.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    if cx.has_every(Kind::Node) && cx.dump.objects.nodes.len() == 1 {
        return;
    }
    for volume in &cx.dump.objects.longhorn_volumes {
        let meta = volume.meta();
        let replicas: Vec<_> = healthy(cx, &meta.namespace, &meta.name).collect();
        let Some(first) = replicas.first().filter(|_| replicas.len() >= 2) else {
            continue;
        };
        let node = &first.spec.node_id;
        if node.is_empty() || replicas.iter().any(|replica| replica.spec.node_id != *node) {
            continue;
        }
        let finding = out.report(
            meta,
            format!(
                "all {} replicas are on {node}, and are lost together",
                replicas.len()
            ),
        );
        for replica in &replicas {
            finding.saw(replica.meta(), "spec.nodeID", &replica.spec.node_id);
        }
        if let Some(setting) = setting(cx, "replica-soft-anti-affinity") {
            finding.saw(setting.meta(), "value", &setting.value);
        }
        finding.fix(
            Applicability::Safe,
            "set replica-soft-anti-affinity to false and replica-auto-balance to least-effort, then delete one replica at a time",
        );
    }
}
