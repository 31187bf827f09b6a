//! Pods that reach the GPUs of everybody on their node.

use crate::dump::kind::pod::{Container, Pod};
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BX005",
    name: "pod-sees-every-gpu",
    family: Family::Tenancy,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Users' pods on GPU nodes that are privileged, or that ask the NVIDIA runtime for all GPUs by an environment variable.

## Why it matters
Such a pod computes on GPUs that the scheduler gave to others, reads their memory use and processes, and no quota counts it.

## How it is decided
The node offers GPUs. A container is privileged, which gives it every device of the host, or sets `NVIDIA_VISIBLE_DEVICES` to `all`, which the NVIDIA runtime obeys. Pods of DaemonSets and of system namespaces are left out.

## Fix
Take `privileged` and the variable away and ask for GPUs as a resource; forbid both with Pod Security `baseline`, and set `accept-nvidia-visible-devices-envvar-when-unprivileged = false` in the NVIDIA container toolkit.

## False positives
A toolkit with that setting ignores the variable in unprivileged pods; a dump does not show it. Profilers of the site may need the right.

## References
NVIDIA container toolkit documentation, environment variables; Kubernetes documentation, pod security standards.
";

const VISIBLE: &str = "NVIDIA_VISIBLE_DEVICES";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for pod in cx.dump.objects.pods.iter().filter(|pod| !pod.is_finished()) {
        let Some(node) = cx.dump.objects.nodes.get("", &pod.spec.node_name) else {
            continue;
        };
        let mut offered = node.status.allocatable.iter();
        let has_gpus = offered.any(|(name, amount)| gpus::is_gpu(name) && amount.units() > 0);
        if !has_gpus || gpus::is_of_system(pod.meta()) {
            continue;
        }
        let mut containers = pod.spec.containers.iter();
        if let Some(container) = containers.find(|container| sees_all(container)) {
            report(out, pod, container);
        }
    }
}

fn sees_all(container: &Container) -> bool {
    container.security_context.privileged.0 || container.env(VISIBLE) == Some("all")
}

fn report(out: &mut Findings<'_>, pod: &Pod, container: &Container) {
    let node = &pod.spec.node_name;
    let is_privileged = container.security_context.privileged.0;
    let how = if is_privileged {
        "is privileged".to_owned()
    } else {
        format!("sets {VISIBLE} to all")
    };
    let message = format!(
        "its container {} {how}, so it sees every GPU of {node}",
        container.name
    );
    let finding = out.report(pod.meta(), message);
    let path = format!("spec.containers[{}]", container.name);
    if is_privileged {
        finding.saw(
            pod.meta(),
            &format!("{path}.securityContext.privileged"),
            true,
        );
        finding.confidence(Confidence::High);
    }
    if let Some(value) = container.env(VISIBLE).filter(|value| !value.is_empty()) {
        finding.saw(pod.meta(), &format!("{path}.env[{VISIBLE}]"), value);
    }
    finding.fix(
        Applicability::Disruptive,
        "take the right away and ask for GPUs as a resource; forbid it with Pod Security",
    );
}
