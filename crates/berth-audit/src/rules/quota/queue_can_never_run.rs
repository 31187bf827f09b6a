//! Cluster queues without quota of their own that nobody lends to.

use super::kueue::{cohort, lendable, quotas};
use crate::rule::prelude::*;
use crate::rules::gpu::stack::is_gpu;

pub(super) const RULE: Rule = Rule {
    code: "BQ008",
    name: "queue-can-never-run",
    family: Family::Quota,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::ClusterQueue)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Cluster queues whose own quota of a GPU resource is 0 and whose cohort lends none of it: because there is no cohort, because the others lend 0 or have 0, or because the queue's own borrowing limit is 0.

## Why it matters
Everything that is sent to the queue waits for ever, with a reason that speaks of quota.

## How it is decided
Per flavour and resource: `nominalQuota` 0 and the smaller of `borrowingLimit` and the sum of what the other queues of the cohort may lend (`lendingLimit`, or all of their quota) is 0. Reported where that holds for every flavour of the resource.

## Fix
Give the queue a quota, or let a queue of its cohort lend.

## False positives
Cohort objects with a quota of their own or a parent, which are not looked at; queues that are closed on purpose.

## References
Kueue documentation, ClusterQueue: cohort, borrowingLimit, lendingLimit; Kueue issue 4809.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for queue in &cx.dump.objects.cluster_queues {
        let mut resources: Vec<&str> = quotas(queue)
            .map(|(_, quota)| quota.name.as_str())
            .filter(|resource| is_gpu(resource))
            .collect();
        resources.sort_unstable();
        resources.dedup();
        for resource in resources {
            let of_resource: Vec<_> = quotas(queue)
                .filter(|(_, quota)| quota.name == resource)
                .collect();
            let is_dead = of_resource.iter().all(|(flavor, quota)| {
                let n_lent = lendable(cx, queue, flavor, resource);
                let n_borrowed = quota
                    .borrowing_limit
                    .map_or(n_lent, |limit| limit.units().min(n_lent));
                quota.nominal_quota.units() == 0 && n_borrowed == 0
            });
            if !is_dead {
                continue;
            }
            let why = match cohort(queue) {
                "" => "it is in no cohort".to_owned(),
                name => format!("its cohort {name} lends none to it"),
            };
            let finding = out.report(
                queue.meta(),
                format!("has no quota of {resource}, and {why}"),
            );
            for (flavor, quota) in of_resource {
                let path = format!("spec.resourceGroups[].flavors[{flavor}].{resource}");
                let limit = quota.borrowing_limit.map_or_else(
                    || "no borrowing limit".to_owned(),
                    |limit| format!("borrowing limit {limit}"),
                );
                finding.saw(
                    queue.meta(),
                    &path,
                    format!("nominal {}, {limit}", quota.nominal_quota),
                );
            }
            finding.fix(
                Applicability::Manual,
                "give the queue a quota, or let a queue of its cohort lend",
            );
        }
    }
}
