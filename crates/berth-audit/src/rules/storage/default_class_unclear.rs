//! No default storage class where one is needed, or more than one.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS011",
    name: "default-class-unclear",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::StorageClass)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Clusters with two or more default storage classes, and claims that wait because there is none.

## Why it matters
With two, which one a claim gets depends on which class is the younger, so data lands where nobody meant it. With none, claims that name no class stay Pending: notebooks and charts do that.

## How it is decided
The annotation `storageclass.kubernetes.io/is-default-class` of all classes; claims without a class that are Pending.

## Fix
Keep the annotation on one class. Claims that were made meanwhile keep the class they got.

## False positives
None known.

## References
Kubernetes, default StorageClass; MicroK8s issue 1007.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let classes = cx.dump.objects.storage_classes.iter();
    let defaults: Vec<_> = classes
        .filter(|class| {
            KEYS.iter()
                .any(|key| class.meta().annotation(key) == Some("true"))
        })
        .collect();
    if defaults.len() > 1 {
        let finding = out.report(
            Subject::cluster(),
            format!(
                "{} storage classes are the default; a claim gets the youngest",
                defaults.len()
            ),
        );
        for class in &defaults {
            finding.saw(
                class.meta(),
                "metadata.annotations",
                "is-default-class true",
            );
        }
        finding.fix(
            Applicability::Safe,
            "keep the annotation is-default-class on one class",
        );
    }
    if !defaults.is_empty() {
        return;
    }
    let claims = cx.dump.objects.claims.iter();
    let waiting: Vec<_> = claims
        .filter(|claim| {
            claim.spec.storage_class_name.is_none() && claim.spec.volume_name.is_empty()
        })
        .filter(|claim| claim.status.phase == "Pending")
        .collect();
    if waiting.is_empty() {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        format!(
            "claims without a class wait ({}), and no class is the default",
            waiting.len()
        ),
    );
    finding.severity(Severity::Error);
    for claim in waiting {
        finding.saw(claim.meta(), "spec.storageClassName", "absent");
    }
    finding.fix(
        Applicability::Safe,
        "set the annotation is-default-class on one class",
    );
}

const KEYS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
