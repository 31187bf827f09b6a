//! Longhorn volumes that are faulted, or degraded for too long.

use super::longhorn::healthy;
use crate::dump::lenient::Stamp;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS002",
    name: "longhorn-volume-unhealthy",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::LonghornVolume)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Longhorn volumes without a healthy replica (faulted), and volumes that have been degraded for longer than `degraded-max`.

## Why it matters
A faulted volume has no readable copy and its pod is stuck. A degraded one is a failure away from that, and one that stays degraded for hours is not being rebuilt.

## How it is decided
`status.robustness`, and `status.lastDegradedAt` against the time of the dump. A volume whose time of degradation is not written is reported with medium confidence.

## Fix
Look at the replicas named: a failed one on a node that is back can be deleted so that it is built again; a full disk or a cordoned node must be mended first. For a faulted volume, salvage the replica that failed last.

## False positives
A rebuild of terabytes that is under way: raise `degraded-max`.

## References
Longhorn `volume_types.go`; Longhorn issues 2067, 6728, 10210.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for volume in &cx.dump.objects.longhorn_volumes {
        let meta = volume.meta();
        let robustness = volume.status.robustness.as_str();
        let since = Stamp::parse(&volume.status.last_degraded_at);
        let age = since.map(|since| cx.now.since(since.0));
        let message = match (robustness, age) {
            ("faulted", _) => "it is faulted: no replica can be read".to_owned(),
            ("degraded", Some(age)) if age <= cx.settings.degraded_max => continue,
            ("degraded", Some(age)) => format!(
                "it has been degraded for {age}, and {} is what a rebuild may take",
                cx.settings.degraded_max
            ),
            ("degraded", None) => "it is degraded, and since when is not written".to_owned(),
            _ => continue,
        };
        let n_healthy = healthy(cx, &meta.namespace, &meta.name).count();
        let finding = out.report(meta, message);
        if robustness == "degraded" && age.is_none() {
            finding.confidence(Confidence::Medium);
        }
        finding.saw(meta, "status.robustness", robustness);
        if since.is_some() {
            finding.saw(
                meta,
                "status.lastDegradedAt",
                &volume.status.last_degraded_at,
            );
        }
        if cx.has_every(Kind::LonghornReplica) {
            let wanted = volume.spec.number_of_replicas.0;
            finding.saw(
                meta,
                "spec.numberOfReplicas",
                format!("{wanted}, of which {n_healthy} are healthy"),
            );
        }
        for condition in volume.status.conditions.iter().filter(|condition| {
            condition.kind.eq_ignore_ascii_case("scheduled") && condition.status == "False"
        }) {
            finding.saw(meta, "status.conditions[Scheduled]", &condition.message);
        }
        let replicas = cx.dump.objects.longhorn_replicas.iter().filter(|replica| {
            replica.spec.volume_name == meta.name
                && replica.meta().namespace == meta.namespace
                && !replica.spec.failed_at.is_empty()
        });
        for replica in replicas {
            let value = format!("{} on {}", replica.spec.failed_at, replica.spec.node_id);
            finding.saw(replica.meta(), "spec.failedAt", value);
            let node = Subject::new("LonghornNode", &meta.namespace, &replica.spec.node_id);
            finding.caused_by("BS006", node);
        }
        finding.fix(
            Applicability::Manual,
            "mend the node or disk of the failed replicas, then delete these so that they are built again; salvage a faulted volume",
        );
    }
}
