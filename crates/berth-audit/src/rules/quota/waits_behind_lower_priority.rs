//! Pods that wait for GPUs held by pods of lower priority, and may not preempt.

use std::collections::BTreeMap;

use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;
use crate::rules::gpu::stack::{gpu_requests, held_on, is_waiting};

pub(super) const RULE: Rule = Rule {
    code: "BQ005",
    name: "waits-behind-lower-priority",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node), Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Waiting pods whose `preemptionPolicy` is `Never` while pods of lower priority hold enough of the same GPUs on one node.

## Why it matters
The priority orders the queue and frees nothing: the important pod waits until the unimportant one ends.

## How it is decided
Per node: what is free plus what pods of lower priority hold of the resource, against the request; reported where that is enough, and what is free alone is not.

## Fix
Let the class preempt (`preemptionPolicy: PreemptLowerPriority` on a new class, since the field cannot be changed), or mark the low class as interruptible work that checkpoints.

## False positives
Classes that are meant to wait: batch work ahead of other batch work.

## References
Kubernetes documentation, non-preempting priority classes.
";

/// Pods of lower priority with the units they hold on one node.
type Lower<'a> = Vec<(&'a Pod, i64)>;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    // Pods that ask for the same with the same priority have the same answer.
    let mut waiting: BTreeMap<(&str, i64, i64), Vec<&Pod>> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| is_waiting(pod) && pod.spec.preemption_policy == "Never") {
        for (resource, n_asked) in gpu_requests(pod) {
            let key = (resource, n_asked, priority(pod));
            waiting.entry(key).or_default().push(pod);
        }
    }
    for ((resource, n_asked, priority_asked), pods) in waiting {
        let Some(lower) = held_by_lower(cx, resource, n_asked, priority_asked) else {
            continue;
        };
        let n_lower: i64 = lower.iter().map(|(_, n_units)| n_units).sum();
        for pod in pods {
            let message = format!(
                "waits for {n_asked} of {resource} with priority {priority_asked} and may not preempt; pods of lower priority hold {n_lower} on one node"
            );
            let finding = out.report(pod.meta(), message);
            finding.saw(
                pod.meta(),
                "spec.preemptionPolicy",
                &pod.spec.preemption_policy,
            );
            for (other, n_units) in &lower {
                let value = format!("{n_units} at priority {}", priority(other));
                finding.saw(other.meta(), &format!("requests[{resource}]"), value);
            }
            finding.fix(
                Applicability::Manual,
                "give the work a class that preempts, or raise nothing and expect it to wait",
            );
        }
    }
}

fn priority(pod: &Pod) -> i64 {
    pod.spec.priority.unwrap_or_default().0
}

/// The pods of lower priority on the node where they hold the most, where taking from them would make
/// room; `None` where nothing would, or where there is room without.
fn held_by_lower<'a>(
    cx: &Cx<'a>,
    resource: &str,
    n_asked: i64,
    priority_asked: i64,
) -> Option<Lower<'a>> {
    let mut best: Option<(i64, Lower<'a>)> = None;
    let nodes = cx.dump.objects.nodes.iter();
    for node in nodes.filter(|node| !node.spec.unschedulable.0 && node.allocatable(resource) > 0) {
        let name = &node.meta().name;
        let n_free = node.allocatable(resource) - held_on(cx, name, resource);
        if n_free >= n_asked {
            return None;
        }
        let lower: Lower<'a> = cx
            .pods_on(name)
            .iter()
            .filter(|other| priority(other) < priority_asked)
            .map(|other| (*other, other.spec.request(resource).units()))
            .filter(|(_, n_units)| *n_units > 0)
            .collect();
        let n_lower: i64 = lower.iter().map(|(_, n_units)| n_units).sum();
        let is_better = best.as_ref().is_none_or(|(n_best, _)| n_lower > *n_best);
        if n_free.saturating_add(n_lower) >= n_asked && is_better {
            best = Some((n_lower, lower));
        }
    }
    best.map(|(_, lower)| lower)
}
