//! Pod groups of Volcano that ask for more than their queue may ever hold.

use crate::rule::prelude::*;
use crate::rules::gpu::stack::is_gpu;

pub(super) const RULE: Rule = Rule {
    code: "BQ012",
    name: "group-above-queue-limit",
    family: Family::Quota,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VolcanoQueue),
        Need::Some(Kind::VolcanoPodGroup),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pod groups whose `minResources` of a GPU resource is above the `capability` of their queue.

## Why it matters
The group can never start, and while it counts as admitted to the queue it may hold room from groups that could.

## How it is decided
`spec.minResources` against `spec.capability` of the queue that `spec.queue` names, `default` where it names none, for GPU resources with or without the prefix `requests.`. Groups that run or have ended are left out.

## Fix
Split the job, or raise the queue's capability.

## False positives
None known.

## References
Volcano issue 5006; Volcano documentation, queue.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for group in &cx.dump.objects.volcano_pod_groups {
        if !["", "Pending", "Inqueue"].contains(&group.status.phase.as_str()) {
            continue;
        }
        let queue = match group.spec.queue.as_str() {
            "" => "default",
            name => name,
        };
        let Some(queue) = cx.dump.objects.volcano_queues.get("", queue) else {
            continue;
        };
        for (resource, quantity) in group.spec.min_resources.iter() {
            let bare = resource.strip_prefix("requests.").unwrap_or(resource);
            let limit = queue.spec.capability.get(bare);
            let Some(limit) = limit.filter(|_| is_gpu(bare)) else {
                continue;
            };
            if quantity <= limit {
                continue;
            }
            let message = format!(
                "asks for {quantity} of {bare}, and queue {} may hold {limit} at most",
                queue.meta().name
            );
            let finding = out.report(group.meta(), message);
            finding.saw(
                group.meta(),
                &format!("spec.minResources[{resource}]"),
                quantity,
            );
            finding.saw(queue.meta(), &format!("spec.capability[{bare}]"), limit);
            finding.fix(
                Applicability::Manual,
                "split the job, or raise the queue's capability",
            );
        }
    }
}
