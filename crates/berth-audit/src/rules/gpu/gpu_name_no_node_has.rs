//! Pods that wait for a GPU name that no node offers.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::stack::{gpu_requests, is_gpu, is_waiting};
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG009",
    name: "gpu-name-no-node-has",
    family: Family::Gpu,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::Node), Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that wait for `nvidia.com/gpu`, `nvidia.com/gpu.shared` or a MIG profile that no node has ever had.

## Why it matters
They wait for ever: the name is of another mode (whole, shared, MIG) than the nodes are in, or of a card that is not here.

## How it is decided
The name is missing from the capacity of every node; a name with 0 counts as there, since its device plugin may only be down.

## Fix
Ask for a name that nodes offer, which the finding lists.

## False positives
Autoscalers that add nodes from 0; DRA device classes that answer an extended resource.

## References
k8s-device-plugin documentation, `renameByDefault` and MIG strategies.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = cx.dump.objects.nodes.iter();
    let offered: BTreeSet<&str> = nodes
        .flat_map(|node| {
            node.status
                .capacity
                .iter()
                .chain(node.status.allocatable.iter())
        })
        .map(|(name, _)| name.as_str())
        .filter(|name| is_gpu(name))
        .collect();
    let mut waiting: BTreeMap<&str, Vec<(&Pod, i64)>> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| is_waiting(pod)) {
        for (name, n_units) in gpu_requests(pod) {
            if name.starts_with("nvidia.com/") && !offered.contains(name) {
                waiting.entry(name).or_default().push((pod, n_units));
            }
        }
    }
    let names: Vec<&str> = offered.into_iter().collect();
    let names = if names.is_empty() {
        "no GPU name".to_owned()
    } else {
        names.join(", ")
    };
    for (name, pods) in waiting {
        let message = format!(
            "{} pods wait for {name}, which no node has; nodes offer {names}",
            pods.len()
        );
        let finding = out.report(Subject::new("Resource", "", name), message);
        for (pod, n_units) in pods {
            finding.saw(pod.meta(), &format!("requests[{name}]"), n_units);
        }
        finding.fix(
            Applicability::Manual,
            "ask for a name that nodes offer, or give a card the mode that is asked for",
        );
    }
}
