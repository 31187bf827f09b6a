//! Local queues without their cluster queue, and cluster queues without their flavour.

use super::kueue::quotas;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BQ011",
    name: "queue-points-nowhere",
    family: Family::Quota,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::ClusterQueue),
        Need::Every(Kind::ResourceFlavor),
        Need::Some(Kind::LocalQueue),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Local queues whose cluster queue does not exist, and cluster queues that name a flavour which does not exist.

## Why it matters
Work that is sent there waits for ever; a cluster queue with one missing flavour is inactive as a whole.

## How it is decided
The names are looked up; all cluster queues and flavours must be in the dump.

## Fix
Make the missing object, or correct the name.

## False positives
Objects that are made in the next step of a roll-out.

## References
Kueue documentation, LocalQueue and ClusterQueue conditions.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    for local in &objects.local_queues {
        let wanted = &local.spec.cluster_queue;
        if objects.cluster_queues.get("", wanted).is_some() {
            continue;
        }
        let finding = out.report(local.meta(), format!("there is no cluster queue {wanted}"));
        finding.saw(local.meta(), "spec.clusterQueue", wanted);
        finding.fix(
            Applicability::Safe,
            "make the cluster queue, or correct the name",
        );
    }
    for queue in &objects.cluster_queues {
        let mut missing: Vec<&str> = quotas(queue)
            .map(|(flavor, _)| flavor)
            .filter(|flavor| objects.resource_flavors.get("", flavor).is_none())
            .collect();
        missing.sort_unstable();
        missing.dedup();
        for flavor in missing {
            let finding = out.report(
                queue.meta(),
                format!("there is no flavour {flavor}, so the whole queue is inactive"),
            );
            finding.saw(queue.meta(), "spec.resourceGroups[].flavors[].name", flavor);
            finding.fix(Applicability::Safe, "make the flavour, or correct the name");
        }
    }
}
