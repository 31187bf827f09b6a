//! Pods that ask for several slices of shared cards.

use super::stack::replicas;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG004",
    name: "slices-asked-in-plural",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node), Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that ask for more than one GPU on a node where a GPU is a slice of a shared card.

## Why it matters
Four slices give neither four cards nor a fourfold share of one: every process gets the same turn. Device plugins before 0.20 may give several slices of the same card, so a job that starts one process a GPU runs them all on one card and runs out of memory.

## How it is decided
Requests of `nvidia.com/gpu` and `nvidia.com/gpu.shared` above 1 by pods on nodes with the label `nvidia.com/gpu.replicas` above 1.

## Fix
Ask for 1 slice, or send jobs of several GPUs to nodes with whole cards; set `failRequestsGreaterThanOne: true` so that the kubelet refuses the others.

## False positives
Nodes on which the shared resource has a name of its own and `nvidia.com/gpu` counts other, whole cards.

## References
k8s-device-plugin issues 491, 1690, 1788; GPU operator issue 386; Karpenter issue 729.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for node in &cx.dump.objects.nodes {
        let n_replicas = replicas(node);
        if n_replicas < 2 {
            continue;
        }
        for pod in cx.pods_on(&node.meta().name) {
            for resource in ["nvidia.com/gpu", "nvidia.com/gpu.shared"] {
                let n_units = pod.spec.request(resource).units();
                if n_units < 2 {
                    continue;
                }
                let message = format!(
                    "asks for {n_units} of {resource}, which are slices of cards that {n_replicas} share: it gets no more time or memory than with 1"
                );
                let finding = out.report(pod.meta(), message);
                finding.saw(pod.meta(), &format!("requests[{resource}]"), n_units);
                finding.saw(
                    node.meta(),
                    "metadata.labels[nvidia.com/gpu.replicas]",
                    n_replicas,
                );
                finding.fix(
                    Applicability::Manual,
                    "ask for 1 slice or for a node with whole cards, and set failRequestsGreaterThanOne: true",
                );
            }
        }
    }
}
