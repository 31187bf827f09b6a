//! Notebooks that hold whole GPUs from start to stop while other pods wait for some.

use super::room::GPU;
use super::stack::{is_waiting, replicas};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG017",
    name: "notebooks-hold-whole-gpus",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::Pod), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Whole GPUs that are held by notebooks while pods wait for GPUs.

## Why it matters
A notebook holds its GPU from spawn to stop and uses it while a cell runs; users see `Insufficient nvidia.com/gpu` beside idle cards.

## How it is decided
Pods with the label `notebook-name` (Kubeflow) or `component: singleuser-server` (JupyterHub) that run with `nvidia.com/gpu` on nodes without replicas, where pods wait for the same name. Whether a notebook is idle is another rule's question.

## Fix
Give notebooks shares of a card, stop idle ones, and send long computing to jobs.

## False positives
Notebooks that compute all the time.

## References
Kubeflow notebooks issue 307; odh-manifests issue 265; pangeo-eosc issue 74.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    let waiting = objects.pods.iter().filter(|pod| is_waiting(pod));
    let waiting: Vec<_> = waiting
        .filter(|pod| pod.spec.request(GPU).units() > 0)
        .collect();
    let Some(example) = waiting.first() else {
        return;
    };
    let mut n_gpus = 0;
    let mut held = Vec::new();
    for node in objects.nodes.iter().filter(|node| replicas(node) < 2) {
        n_gpus += node.allocatable(GPU);
        let pods = cx.pods_on(&node.meta().name).iter();
        let notebooks = pods.filter(|pod| {
            let meta = pod.meta();
            !meta.label("notebook-name").is_empty()
                || meta.label("component") == "singleuser-server"
        });
        held.extend(
            notebooks
                .map(|pod| (*pod, pod.spec.request(GPU).units()))
                .filter(|(_, n_units)| *n_units > 0),
        );
    }
    let n_held: i64 = held.iter().map(|(_, n_units)| n_units).sum();
    if n_held == 0 {
        return;
    }
    let message = format!(
        "{} notebooks hold {n_held} of {n_gpus} whole GPUs while {} pods wait for one",
        held.len(),
        waiting.len()
    );
    let finding = out.report(Subject::cluster(), message);
    for (pod, n_units) in held {
        finding.saw(pod.meta(), &format!("requests[{GPU}]"), n_units);
    }
    finding.saw(example.meta(), "status.phase", &example.status.phase);
    finding.fix(
        Applicability::Manual,
        "give notebooks shares of a card, stop idle ones, and send long computing to jobs",
    );
}
