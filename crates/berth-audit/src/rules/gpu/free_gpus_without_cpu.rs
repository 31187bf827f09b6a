//! Nodes whose free GPUs nobody can use because their CPU or memory is gone.

use super::room::{GPU, rooms};
use super::stack::is_waiting;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG016",
    name: "free-gpus-without-cpu",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::Node), Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes that have the GPUs a pod waits for, and lack CPU or memory for it.

## Why it matters
The GPUs stand idle, held by pods that may need no GPU at all.

## How it is decided
For each node that lets a waiting pod in and has its GPUs free: requests of CPU and memory of the pods there, against what is allocatable. Reported where this holds for every waiting pod whose GPUs the node has.

## Fix
Keep pods without GPUs off GPU nodes by a taint, and bound CPU and memory a GPU by the node's own ratio.

## False positives
Nodes that other rules of the pod shut out, such as affinity or volumes.

## References
StatCan aaw issue 238.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let pods = cx.dump.objects.pods.iter();
    let waiting: Vec<_> = pods
        .filter(|pod| is_waiting(pod) && pod.spec.request(GPU).units() > 0)
        .collect();
    for room in rooms(cx).into_iter().filter(|room| room.n_free > 0) {
        let name = &room.node.meta().name;
        let fitting: Vec<_> = waiting
            .iter()
            .filter(|pod| pod.spec.request(GPU).units() <= room.n_free && room.lets_in(pod))
            .collect();
        if fitting.is_empty() {
            continue;
        }
        let free = ["cpu", "memory"].map(|resource| {
            let all = room.node.status.allocatable.get(resource).copied();
            let held = cx.pods_on(name).iter();
            let held = held.fold(0_i64, |sum, pod| {
                sum.saturating_add(pod.spec.request(resource).milli())
            });
            (
                resource,
                all.unwrap_or_default().milli().saturating_sub(held),
            )
        });
        let short_of = |pod: &crate::dump::kind::pod::Pod| {
            let lacks = free
                .iter()
                .find(|(resource, milli)| pod.spec.request(resource).milli() > *milli);
            lacks.map(|(resource, _)| *resource)
        };
        if fitting.iter().any(|pod| short_of(pod).is_none()) {
            continue;
        }
        let n_without = cx
            .pods_on(name)
            .iter()
            .filter(|pod| super::stack::gpu_requests(pod).is_empty())
            .count();
        let message = format!(
            "{} free GPUs, and too little CPU or memory for any of the {} pods that could take them; {n_without} pods without a GPU run there",
            room.n_free,
            fitting.len()
        );
        let finding = out.report(room.node.meta(), message);
        for (resource, milli) in free {
            let value = format!(
                "{} free",
                crate::dump::quantity::Quantity::from_milli(milli)
            );
            finding.saw(
                room.node.meta(),
                &format!("status.allocatable[{resource}]"),
                value,
            );
        }
        for pod in fitting {
            let resource = short_of(pod).unwrap_or_default();
            finding.saw(
                pod.meta(),
                &format!("requests[{resource}]"),
                pod.spec.request(resource),
            );
        }
        finding.fix(
            Applicability::Disruptive,
            "move pods without a GPU off the node, and taint GPU nodes against them",
        );
    }
}
