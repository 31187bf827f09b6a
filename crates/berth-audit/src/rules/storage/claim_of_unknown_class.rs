//! Claims that wait for a storage class that does not exist.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS012",
    name: "claim-of-unknown-class",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::PersistentVolumeClaim),
        Need::Every(Kind::StorageClass),
        Need::Every(Kind::PersistentVolume),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pending claims that name a storage class that neither exists nor is the class of a volume that is still available.

## Why it matters
They wait for ever, and so do the pods that mount them; after a migration it is the usual reason why nothing starts.

## How it is decided
`spec.storageClassName` of Pending claims against all classes and the classes of available volumes.

## Fix
Make the class under that name, or make the claim anew with one that exists; the class of a claim cannot be changed.

## False positives
Volumes that an administrator makes by hand a little later.

## References
Kubernetes, PersistentVolumeClaim.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    for claim in objects
        .claims
        .iter()
        .filter(|claim| claim.status.phase == "Pending")
    {
        let Some(class) = claim
            .spec
            .storage_class_name
            .as_deref()
            .filter(|class| !class.is_empty())
        else {
            continue;
        };
        let is_offered = objects.volumes.iter().any(|volume| {
            volume.spec.storage_class_name == *class && volume.status.phase == "Available"
        });
        if is_offered || objects.storage_classes.get("", class).is_some() {
            continue;
        }
        let meta = claim.meta();
        let finding = out.report(
            meta,
            format!("it waits for the storage class {class}, which does not exist"),
        );
        finding.saw(meta, "spec.storageClassName", class);
        finding.fix(
            Applicability::Safe,
            format!("make a storage class {class}, or the claim anew with one that exists"),
        );
    }
}
