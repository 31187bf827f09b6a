//! Volumes of users that are deleted together with their claim.

use std::collections::{BTreeMap, BTreeSet};

use crate::dump::kind::storage::PersistentVolume;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS014",
    name: "user-data-goes-with-claim",
    family: Family::Storage,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::PersistentVolume),
        Need::Some(Kind::Profile),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Storage classes whose volumes hold data of users' namespaces with the reclaim policy `Delete`.

## Why it matters
Whoever deletes a claim, a notebook with its volume, or a profile with its namespace, deletes the data at once and for good. With a thousand users it happens every week, and a migration that cleans up too early does it for all.

## How it is decided
Bound volumes with `persistentVolumeReclaimPolicy: Delete` whose claim is in the namespace of a Profile, one finding a class.

## Fix
Before a migration or a clean-up: `kubectl patch pv NAME -p '{\"spec\":{\"persistentVolumeReclaimPolicy\":\"Retain\"}}'` for the volumes that matter. In the long run: snapshots or backups of these volumes.

## False positives
Sites that back these volumes up.

## References
Kubernetes, reclaim policy; Kubeflow profile and notebook controllers.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    let mut by_class: BTreeMap<&str, Vec<&PersistentVolume>> = BTreeMap::new();
    for volume in &objects.volumes {
        let spec = &volume.spec;
        let is_of_user = objects
            .profiles
            .get("", &spec.claim_ref.namespace)
            .is_some();
        if volume.status.phase == "Bound"
            && spec.persistent_volume_reclaim_policy == "Delete"
            && is_of_user
        {
            by_class
                .entry(&spec.storage_class_name)
                .or_default()
                .push(volume);
        }
    }
    for (class, volumes) in by_class {
        let namespaces: BTreeSet<&str> = volumes
            .iter()
            .map(|volume| volume.spec.claim_ref.namespace.as_str())
            .collect();
        let finding = out.report(
            Subject::new("StorageClass", "", class),
            format!(
                "volumes of users ({} in {} namespaces) are deleted for good with their claims",
                volumes.len(),
                namespaces.len()
            ),
        );
        for volume in volumes {
            let claim = &volume.spec.claim_ref;
            let value = format!("Delete, for {}/{}", claim.namespace, claim.name);
            finding.saw(volume.meta(), "spec.persistentVolumeReclaimPolicy", value);
        }
        finding.fix(
            Applicability::Safe,
            "set Retain on these volumes before a migration or a clean-up, and back them up",
        );
    }
}
