//! GPU pods that may take all memory of their node.

use std::collections::BTreeMap;

use crate::dump::kind::pod::{Container, Pod};
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BW006",
    name: "gpu-pod-without-memory-limit",
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
Containers with GPUs and without a memory limit, one finding a namespace.

## Why it matters
A data loader that leaks takes the memory of the whole node. The kernel then kills whom it likes, which on a node with eight GPUs is somebody else's training.

## How it is decided
The container asks for GPUs and has no `limits.memory`. A LimitRange's default would stand in the pod already. Pods of the system and of machines are left out: KubeVirt leaves the limit away on purpose.

## Fix
Set a limit in the workload, or a default for containers in a LimitRange of the namespace.

## False positives
Nodes that are given to one pod as a whole.

## References
Kubernetes documentation, resource management for pods and node-pressure eviction.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut found: BTreeMap<&str, Vec<(&Pod, &Container)>> = BTreeMap::new();
    for pod in cx.dump.objects.pods.iter().filter(|pod| !pod.is_finished()) {
        let meta = pod.meta();
        if gpus::is_of_system(meta) || meta.label("kubevirt.io") == "virt-launcher" {
            continue;
        }
        let unlimited = pod.spec.containers.iter().find(|container| {
            let resources = &container.resources;
            let mut names = resources.requests.iter().chain(resources.limits.iter());
            names.any(|(name, _)| gpus::is_gpu(name)) && resources.limits.get("memory").is_none()
        });
        if let Some(container) = unlimited {
            found
                .entry(&meta.namespace)
                .or_default()
                .push((pod, container));
        }
    }
    for (namespace, pods) in found {
        let n = pods.len();
        let message = format!("{n} pod(s) with GPUs may take all memory of their node");
        let finding = out.report(Subject::new("Namespace", "", namespace), message);
        for (pod, container) in pods {
            let path = format!(
                "spec.containers[{}].resources.limits.memory",
                container.name
            );
            finding.saw(pod.meta(), &path, "(none)");
        }
        finding.fix(
            Applicability::Disruptive,
            "set limits.memory, or a default for containers in a LimitRange",
        );
    }
}
