//! Pods that hold GPUs of a node and never start on it.

use crate::dump::kind::pod::{Pod, Why};
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BW002",
    name: "held-gpu-never-starts",
    family: Family::Workload,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that were bound to a node with their GPUs and have waited there ever since: for an image, a volume, a ConfigMap.

## Why it matters
The scheduler counts their GPUs as taken from the moment of binding. They are idle, and nobody else gets them.

## How it is decided
The pod has a node, is Pending, asks for GPUs, and is older than `leak-grace`; a container waits. Pods of which an init container runs are at work and left alone.

## Fix
Remove what the reason names, or delete the pod until it is removed.

## False positives
The first pull of a very large image.

## References
Kubernetes documentation, pod lifecycle and container states.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for pod in &cx.dump.objects.pods {
        let node = &pod.spec.node_name;
        let n = gpus::held(&pod.spec);
        let since = pod.status.start_time.or(pod.meta().created);
        let waited = since.map_or(berth_core::time::Span(0), |since| cx.now.since(since.0));
        let is_late = waited > cx.settings.leak_grace;
        if n == 0 || node.is_empty() || pod.status.phase != "Pending" || !is_late {
            continue;
        }
        let Some((path, name, why)) = waiting(pod) else {
            continue;
        };
        let message = format!(
            "it has held {n} GPU(s) of {node} for {waited} and can't start: {}",
            why.reason
        );
        let finding = out.report(pod.meta(), message);
        let path = format!("{path}[{name}].state.waiting");
        finding.saw(
            pod.meta(),
            &path,
            format!("{}: {}", why.reason, why.message),
        );
        finding.saw(pod.meta(), "spec.nodeName", node);
        finding.fix(
            Applicability::Manual,
            "remove what the reason names, or delete the pod until then",
        );
    }
}

/// The container that keeps the pod from starting; `None` while an init container works.
fn waiting(pod: &Pod) -> Option<(&'static str, &str, &Why)> {
    let status = &pod.status;
    let mut first = status.init_container_statuses.iter();
    if first.any(|container| container.state.running.0) {
        return None;
    }
    let lists = [
        (
            "status.initContainerStatuses",
            &status.init_container_statuses,
        ),
        ("status.containerStatuses", &status.container_statuses),
    ];
    let all = lists.into_iter().flat_map(|(path, list)| {
        list.iter().filter_map(move |container| {
            let why = container.state.waiting.as_deref()?;
            Some((path, container.name.as_str(), why))
        })
    });
    // Containers behind an init container wait for it: the cause is the one that says more.
    all.min_by_key(|(_, _, why)| why.reason == "PodInitializing")
}
