//! Pods that wait for several GPUs while enough are free, only not together.

use std::collections::BTreeMap;

use super::room::{GPU, rooms};
use super::stack::is_waiting;
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG015",
    name: "free-gpus-in-fragments",
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
Requests for whole GPUs that would fit into all that is free, and into no single node.

## Why it matters
The free GPUs earn nothing while the pod waits; the finding says how many those are, and what would make room.

## How it is decided
Free GPUs by node: allocatable `nvidia.com/gpu` less the requests of pods there. Only nodes count that are ready, not cordoned, not shared by replicas, and whose taints and labels let the pod in.

## Fix
Move small pods together, or place new ones with a policy that keeps nodes whole (`berth simulate` compares them on your own load).

## False positives
Nodes that other rules of the pod shut out, such as affinity or volumes.

## References
Weng et al., Beware of Fragmentation, USENIX ATC 2023; Kueue issue 5243.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let rooms = rooms(cx);
    let mut waiting: BTreeMap<i64, Vec<&Pod>> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| is_waiting(pod)) {
        let n_asked = pod.spec.request(GPU).units();
        if n_asked > 1 {
            waiting.entry(n_asked).or_default().push(pod);
        }
    }
    for (n_asked, pods) in waiting {
        // Pods of one size may be let into different nodes; the one with the most free GPUs speaks.
        let best = pods.iter().filter_map(|pod| {
            let open: Vec<_> = rooms.iter().filter(|room| room.lets_in(pod)).collect();
            let n_free: i64 = open.iter().map(|room| room.n_free).sum();
            let n_most = open.iter().map(|room| room.n_free).max().unwrap_or(0);
            (n_free >= n_asked && n_most < n_asked).then_some((n_free, n_most, *pod, open))
        });
        let Some((n_free, n_most, pod, open)) = best.max_by_key(|(n_free, ..)| *n_free) else {
            continue;
        };
        let parts: Vec<_> = open.iter().filter(|room| room.n_free > 0).collect();
        let message = format!(
            "{} pods wait for {n_asked} GPUs each; {n_free} are free on {} nodes, at most {n_most} together",
            pods.len(),
            parts.len()
        );
        let finding = out.report(
            Subject::new("Resource", "", &format!("{n_asked} x {GPU}")),
            message,
        );
        finding.saw(pod.meta(), &format!("requests[{GPU}]"), n_asked);
        for room in parts {
            let value = format!("{} of {} free", room.n_free, room.n_gpus);
            finding.saw(
                room.node.meta(),
                &format!("status.allocatable[{GPU}]"),
                value,
            );
        }
        finding.fix(
            Applicability::Disruptive,
            format!(
                "move pods off the node with {n_most} free GPUs until {n_asked} are free there"
            ),
        );
    }
}
