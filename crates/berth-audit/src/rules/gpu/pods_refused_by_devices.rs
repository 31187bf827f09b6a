//! Pods that failed because the kubelet had no device for them.

use std::collections::BTreeMap;

use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG022",
    name: "pods-refused-by-devices",
    family: Family::Gpu,
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
Pods in phase Failed with the reason `UnexpectedAdmissionError`, by node.

## Why it matters
They were bound to a node that had no card left for them: after a reboot, before the device plugin had registered, or because two programs count cards differently. Nothing starts a bare pod again, and controllers pile up new ones.

## How it is decided
Phase and reason of pods, grouped by node.

## Fix
Delete the failed pods; look for a second owner of the resource, a card that has failed, or a plugin that starts late.

## False positives
Old pods that nobody cleared away.

## References
Kubernetes issues 125579, 128043, 133382; k8s-device-plugin issue 231.
";

const REASON: &str = "UnexpectedAdmissionError";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut by_node: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| pod.status.phase == "Failed" && pod.status.reason == REASON) {
        by_node.entry(&pod.spec.node_name).or_default().push(pod);
    }
    for (node, pods) in by_node {
        let subject = Subject::new("Node", "", node);
        let message = format!(
            "the kubelet refused {} pods for want of a device",
            pods.len()
        );
        let finding = out.report(subject.clone(), message);
        for pod in pods {
            finding.saw(pod.meta(), "status.message", &pod.status.message);
        }
        finding.caused_by("BG002", subject.clone());
        finding.caused_by("BG007", subject);
        finding.fix(
            Applicability::Safe,
            "delete the failed pods so that their controllers start new ones, and look for the cause on the node",
        );
    }
}
