//! Longhorn volumes that want more replicas than there are nodes to put them on.

use super::longhorn::setting;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS021",
    name: "longhorn-too-few-nodes",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::LonghornVolume),
        Need::Every(Kind::LonghornNode),
        Need::Some(Kind::LonghornSetting),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Longhorn volumes whose number of replicas is larger than the number of nodes that take replicas, where replicas may not share a node.

## Why it matters
They are degraded from the first day, so the state `degraded` no longer tells anybody that something failed; or they are never created.

## How it is decided
Nodes that allow scheduling and have a disk that does are counted; `replica-soft-anti-affinity` must be `false`, in the settings and not overridden in the volume. One finding for all such volumes.

## Fix
Add nodes, allow scheduling on those that have disks, or lower the count to the number of nodes.

## False positives
Nodes that are cordoned for a short while.

## References
Longhorn `best-practices.md`, 1.8; Longhorn issue 10210.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let Some(soft) = setting(cx, "replica-soft-anti-affinity") else {
        out.not_assessable("no replica-soft-anti-affinity among Longhorn's settings");
        return;
    };
    if soft.value != "false" {
        return;
    }
    let nodes = cx.dump.objects.longhorn_nodes.iter();
    let open = nodes.filter(|node| {
        let mut disks = node.spec.disks.iter();
        node.spec.allow_scheduling.0 && disks.any(|(_, disk)| disk.allow_scheduling.0)
    });
    let open: Vec<_> = open.collect();
    let n_nodes = i64::try_from(open.len()).unwrap_or(i64::MAX);
    let volumes = cx.dump.objects.longhorn_volumes.iter().filter(|volume| {
        volume.spec.number_of_replicas.0 > n_nodes
            && volume.spec.replica_soft_anti_affinity != "enabled"
    });
    let volumes: Vec<_> = volumes.collect();
    if volumes.is_empty() {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        format!(
            "volumes ({}) want more replicas than the {n_nodes} nodes that take them",
            volumes.len()
        ),
    );
    finding.saw(soft.meta(), "value", &soft.value);
    for node in open {
        finding.saw(node.meta(), "spec.allowScheduling", true);
    }
    for volume in volumes {
        finding.saw(
            volume.meta(),
            "spec.numberOfReplicas",
            volume.spec.number_of_replicas.0,
        );
    }
    finding.fix(
        Applicability::Safe,
        "add nodes, allow scheduling on those that have disks, or lower numberOfReplicas",
    );
}
