//! A calico-node DaemonSet whose container asks for no CPU, or that has no critical priority.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN018",
    name: "calico-node-without-cpu-request",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::DaemonSet)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
A calico-node DaemonSet whose container asks for no CPU, or that has no critical priority.

## Why it matters
On a busy node the agent starves: policy of new pods is late by minutes, probes fail, and the node loses its network.

## How it is decided
The container `calico-node` of the DaemonSet of that name must have a CPU request, and its pods the priority class `system-node-critical`.

## Fix
Set a CPU request (250m is MicroK8s' own) and `priorityClassName: system-node-critical`.

## False positives
Clusters whose kubelets set CPU aside for system pods by other means.

## References
Calico issues 8048 (200 incidents, none after a request was set), 2032 of Felix.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for set in cx
        .dump
        .objects
        .daemon_sets
        .iter()
        .filter(|set| set.meta().name == "calico-node")
    {
        let spec = &set.spec.template.spec;
        let Some(container) = spec
            .containers
            .iter()
            .find(|container| container.name == "calico-node")
        else {
            continue;
        };
        let path = "spec.template.spec.containers[calico-node].resources.requests";
        if container.wants("cpu").milli() == 0 {
            let finding = out.report(
                set.meta(),
                "it asks for no CPU, so policy is late on busy nodes",
            );
            finding.saw(set.meta(), path, "no cpu");
            finding.fix(Applicability::Disruptive, "give it a CPU request of 250m");
        }
        if spec.priority_class_name != "system-node-critical" {
            let finding = out.report(
                set.meta(),
                "it is not critical, so other pods may push it out",
            );
            finding.saw(
                set.meta(),
                "spec.template.spec.priorityClassName",
                &spec.priority_class_name,
            );
            finding.fix(
                Applicability::Disruptive,
                "set priorityClassName to system-node-critical",
            );
        }
    }
}
