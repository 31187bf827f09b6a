//! Pods that asked for several cards and got one of them twice.

use std::collections::BTreeSet;

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG005",
    name: "cards-delivered-twice",
    family: Family::Gpu,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Containers to which HAMi gave fewer different cards than entries: one card stands twice in the record.

## Why it matters
The job counts on more memory and compute than it has, and its processes fight for one card.

## How it is decided
The annotation `hami.io/vgpu-devices-allocated` lists `uuid,type,MiB,cores:` a device and `;` behind a container; an UUID that a container has twice is the finding. MIG entries, whose UUID carries the instance, are compared as written.

## Fix
Delete the pod so that it is placed again, and update HAMi.

## False positives
None known: containers of one pod may share a card, and are not compared.

## References
HAMi issue 1741; k8s-device-plugin issue 491; GPU operator issue 386.
";

const ALLOCATED: &str = "hami.io/vgpu-devices-allocated";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| !pod.is_finished()) {
        let Some(record) = pod.meta().annotation(ALLOCATED) else {
            continue;
        };
        for container in record.split(';') {
            let cards: Vec<&str> = container
                .split(':')
                .filter_map(|device| device.split(',').next())
                .filter(|card| !card.is_empty())
                .collect();
            let n_different = cards.iter().collect::<BTreeSet<_>>().len();
            if n_different == cards.len() {
                continue;
            }
            let message = format!(
                "a container got {} devices on {n_different} different cards",
                cards.len()
            );
            let finding = out.report(pod.meta(), message);
            finding.saw(
                pod.meta(),
                &format!("metadata.annotations[{ALLOCATED}]"),
                container,
            );
            finding.fix(
                Applicability::Disruptive,
                "delete the pod so that it is placed again",
            );
        }
    }
}
