//! Nodes that are not ready.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH003",
    name: "node-not-ready",
    family: Family::Host,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes whose condition `Ready` is `False` or `Unknown`.

## Why it matters
Its GPUs and volumes are lost to everybody, and its pods are replaced or, where they hold a volume for one node, are not.

## How it is decided
The condition `Ready`; what is allocatable of GPUs is shown as what is missing. Nodes that are cordoned as well are reported as warnings, since somebody is at work on them.

## Fix
Look at the kubelet's journal on the host: network plugin, container runtime, certificates and disk are the usual reasons.

## False positives
A node that starts at the moment of the dump.

## References
Kubernetes, node conditions.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for node in &cx.dump.objects.nodes {
        let ready = node
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == "Ready");
        let Some(ready) = ready.filter(|ready| ready.status != "True") else {
            continue;
        };
        let since = ready
            .last_transition_time
            .map(|since| cx.now.since(since.0));
        let lasting = since
            .map(|since| format!(" for {since}"))
            .unwrap_or_default();
        let gpus = node.allocatable("nvidia.com/gpu");
        let lost = if gpus > 0 {
            format!(", so its GPUs ({gpus}) are lost to everybody")
        } else {
            String::new()
        };
        let what = if ready.status == "Unknown" {
            "it has not answered"
        } else {
            "it is not ready"
        };
        let finding = out.report(node.meta(), format!("{what}{lasting}{lost}"));
        if node.spec.unschedulable.0 {
            finding.severity(Severity::Warning);
        }
        let value = format!("{}, {}: {}", ready.status, ready.reason, ready.message);
        finding.saw(node.meta(), "status.conditions[Ready]", value);
        finding.fix(
            Applicability::Manual,
            "look at the kubelet's journal on the host: network plugin, runtime, certificates, disk",
        );
    }
}
