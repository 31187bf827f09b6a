//! Volumes that no node of the cluster reaches.

use super::reach::{PATH, reaches, shown};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS008",
    name: "volume-without-node",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::PersistentVolume), Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Bound or available persistent volumes whose node affinity no node of the cluster meets.

## Why it matters
Every pod that uses the claim is Pending with `volume node affinity conflict`. Where the volume is a disk of a node that is gone, the data is gone with it or lies on a machine that must come back.

## How it is decided
The terms are evaluated against labels and names of all nodes, as the scheduler does. No term at all matches no node. Volumes that are released are left alone.

## Fix
Bring the node back under its old name and label, or restore the data into a new claim. A label that differs from the node's name can be set again.

## False positives
A node that is replaced at this moment.

## References
Kubernetes, node affinity of volumes; local-path-provisioner issues 451, 454; OpenEBS issue 2695.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = &cx.dump.objects.nodes;
    if nodes.is_empty() {
        return;
    }
    for volume in &cx.dump.objects.volumes {
        let phase = volume.status.phase.as_str();
        if !matches!(phase, "Bound" | "Available") || nodes.iter().any(|node| reaches(node, volume))
        {
            continue;
        }
        let meta = volume.meta();
        let claim = &volume.spec.claim_ref;
        let finding = out.report(
            meta,
            "no node of the cluster reaches it, so pods that use it stay Pending",
        );
        if !claim.name.is_empty() {
            finding.also(Subject::new(
                "PersistentVolumeClaim",
                &claim.namespace,
                &claim.name,
            ));
        }
        finding.saw(meta, PATH, shown(volume));
        finding.saw(meta, "status.phase", phase);
        finding.fix(
            Applicability::Manual,
            "bring the node back under its old name and labels, or restore the data into a new claim",
        );
    }
}
