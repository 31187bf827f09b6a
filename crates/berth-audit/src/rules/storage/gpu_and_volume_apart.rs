//! Pods that want GPUs where their volume is not.

use super::reach::{PATH, gpus, reaches, shown};
use crate::dump::kind::node::Node;
use crate::dump::kind::pod::Pod;
use crate::dump::kind::storage::PersistentVolume;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS010",
    name: "gpu-and-volume-apart",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::Pod),
        Need::Every(Kind::Node),
        Need::Some(Kind::PersistentVolume),
        Need::Some(Kind::PersistentVolumeClaim),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that wait for GPUs while the nodes that reach their volumes have none, or none free.

## Why it matters
The scheduler says `volume node affinity conflict` and `Insufficient nvidia.com/gpu` side by side, GPUs are idle on other nodes, and the pod waits for ever. A volume that was made on a node without GPUs can never meet one.

## How it is decided
For each Pending pod that asks for GPUs (`nvidia.com/...`), the nodes that all its bound volumes reach are compared with those that have the resource: no such node is an error; nodes whose GPUs are all taken while others have enough free are a warning. Free is allocatable less requests of pods that have not ended.

## Fix
Copy the data to a volume that GPU nodes reach, and make the class bind with `WaitForFirstConsumer` so that the volume follows the pod; for shared homes use a file system that every node mounts.

## False positives
Nodes with GPUs that are about to be added to the volume's zone. Taints and selectors are not weighed, so of two reasons for waiting only this one may be named.

## References
Kubernetes, volume binding and topology; local-path-provisioner README.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let waiting = cx
        .dump
        .objects
        .pods
        .iter()
        .filter(|pod| pod.status.phase == "Pending" && pod.spec.node_name.is_empty());
    for pod in waiting {
        let volumes = bound_volumes(cx, pod);
        if volumes.is_empty() {
            continue;
        }
        for (resource, wanted) in gpus(pod) {
            judge(cx, out, pod, &volumes, (resource, wanted));
        }
    }
}

fn judge(
    cx: &Cx<'_>,
    out: &mut Findings<'_>,
    pod: &Pod,
    volumes: &[&PersistentVolume],
    (resource, wanted): (&str, i64),
) {
    let nodes = cx
        .dump
        .objects
        .nodes
        .iter()
        .filter(|node| node.allocatable(resource) >= wanted);
    let (near, far): (Vec<&Node>, Vec<&Node>) =
        nodes.partition(|node| volumes.iter().all(|volume| reaches(node, volume)));
    if far.is_empty() {
        return; // No node has as many at all: that is not the volume's fault.
    }
    let free = |node: &Node| {
        let taken: i64 = cx
            .pods_on(&node.meta().name)
            .iter()
            .map(|pod| pod.spec.request(resource).units())
            .sum();
        node.allocatable(resource).saturating_sub(taken)
    };
    let n_free_far = far.iter().filter(|node| free(node) >= wanted).count();
    let has_near = near.iter().any(|node| free(node) >= wanted);
    if has_near || (!near.is_empty() && n_free_far == 0) {
        return;
    }
    let message = if near.is_empty() {
        format!("no node that reaches its volumes has {wanted} {resource}, so it can never start")
    } else {
        format!(
            "nodes with {wanted} {resource} free: {n_free_far}, and none of them reaches its volumes"
        )
    };
    let is_never = near.is_empty();
    let finding = out.report(pod.meta(), message);
    if !is_never {
        finding
            .severity(Severity::Warning)
            .confidence(Confidence::Medium);
    }
    for volume in volumes
        .iter()
        .filter(|volume| volume.spec.node_affinity.is_some())
    {
        finding.saw(volume.meta(), PATH, shown(volume));
    }
    for node in near.iter().chain(&far) {
        let value = format!(
            "{} of {} free",
            free(node).max(0),
            node.allocatable(resource)
        );
        finding.saw(
            node.meta(),
            &format!("status.allocatable.{resource}"),
            value,
        );
    }
    finding.fix(
        Applicability::Manual,
        "copy the data to a volume that GPU nodes reach, and bind the class with WaitForFirstConsumer",
    );
}

/// Volumes that the pod's claims are bound to; empty where none says which nodes reach it.
fn bound_volumes<'a>(cx: &Cx<'a>, pod: &Pod) -> Vec<&'a PersistentVolume> {
    let objects = &cx.dump.objects;
    let claims = pod.spec.volumes.iter().filter_map(|volume| {
        objects.claims.get(
            &pod.meta().namespace,
            &volume.persistent_volume_claim.claim_name,
        )
    });
    let volumes: Vec<_> = claims
        .filter_map(|claim| objects.volumes.get("", &claim.spec.volume_name))
        .collect();
    let is_bound_to_nodes = volumes
        .iter()
        .any(|volume| volume.spec.node_affinity.is_some());
    if is_bound_to_nodes {
        volumes
    } else {
        Vec::new()
    }
}
