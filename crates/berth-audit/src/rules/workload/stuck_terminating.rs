//! Pods whose end was asked for long ago.

use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BW003",
    name: "pod-stuck-terminating",
    family: Family::Workload,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod), Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that should have ended long ago and are still there, with the state of their node.

## Why it matters
They keep their GPUs, addresses and volumes. A StatefulSet makes no successor while its pod is there.

## How it is decided
`metadata.deletionTimestamp`, which includes the grace period, is older than `leak-grace`. The node decides what is said: gone, not ready, or at work, in which case its kubelet, a volume or a finalizer holds the pod.

## Fix
Once the machine is surely off, delete the Node or force the deletion: a machine that still runs goes on with the pod beside its successor; on one that works, look at the kubelet's log for the pod.

## False positives
Finalizers of controllers that finish long work on purpose.

## References
Kubernetes documentation, pod termination and non-graceful node shutdown.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for pod in &cx.dump.objects.pods {
        let Some(deleted) = pod.meta().deleted else {
            continue;
        };
        let late = cx.now.since(deleted.0);
        if late > cx.settings.leak_grace {
            report(cx, out, pod, late);
        }
    }
}

fn report(cx: &Cx<'_>, out: &mut Findings<'_>, pod: &Pod, late: berth_core::time::Span) {
    let name = &pod.spec.node_name;
    let node = cx.dump.objects.nodes.get("", name);
    let ready = node.map(|node| node.condition("Ready"));
    let (why, fix) = match ready {
        _ if name.is_empty() => ("it has no node, so a finalizer holds it", LOOK),
        None => (
            "its node is gone",
            "make sure that the machine is off, then force the deletion of the pod",
        ),
        Some("True") => (
            "its node is ready, so its kubelet, a volume or a finalizer holds it",
            LOOK,
        ),
        Some(_) => (
            "its node is not ready",
            "bring the node back, or delete the Node once the machine is surely off",
        ),
    };
    let n = gpus::held(&pod.spec);
    let holds = if n > 0 && !pod.is_finished() {
        format!(" and holds {n} GPU(s)")
    } else {
        String::new()
    };
    let finding = out.report(
        pod.meta(),
        format!("it should have ended {late} ago{holds}: {why}"),
    );
    if let Some(deleted) = pod.meta().deleted {
        let at = crate::dump::lenient::Stamp::write(deleted.0);
        finding.saw(pod.meta(), "metadata.deletionTimestamp", at);
    }
    match node {
        Some(node) => finding.saw(
            node.meta(),
            "status.conditions[Ready]",
            node.condition("Ready"),
        ),
        None => finding.saw(pod.meta(), "spec.nodeName", name),
    };
    finding.fix(Applicability::Manual, fix);
}

const LOOK: &str = "look at metadata.finalizers and at the kubelet's log for the pod";
