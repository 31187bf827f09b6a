//! Storage classes that may make volumes only where there is no node, or no GPU that a waiting pod wants.

use super::reach::gpus;
use crate::dump::kind::node::Node;
use crate::dump::kind::pod::Pod;
use crate::dump::kind::storage::StorageClass;
use crate::dump::text::Text;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS018",
    name: "class-out-of-reach",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::StorageClass), Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Storage classes whose allowed topologies no node meets, and pods that wait for GPUs with a claim of a class that is not allowed on any node with such GPUs.

## Why it matters
The claim stays Pending with `WaitForFirstConsumer`, which looks as if it waited for the pod, while the pod waits for the claim. Nothing says that they can never meet.

## How it is decided
`allowedTopologies` of classes against labels of all nodes. For Pending pods, claims that are not bound yet are taken, and the nodes that their class allows are compared with the pod's request for `nvidia.com/...`.

## Fix
Add the nodes' labels to the class (make it anew; the field cannot be changed), or give the pods a class that GPU nodes reach.

## False positives
Topology labels that only the storage driver knows and that stand in CSINode objects instead of node labels; nodes with them are about to join.

## References
Kubernetes, StorageClass `allowedTopologies` and volume binding mode.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = &cx.dump.objects.nodes;
    if nodes.is_empty() {
        return;
    }
    for class in &cx.dump.objects.storage_classes {
        if nodes.iter().any(|node| allows(class, node)) {
            continue;
        }
        let finding = out.report(
            class.meta(),
            "no node of the cluster is in its allowed topologies",
        );
        finding.saw(class.meta(), PATH, shown(class));
        finding.fix(Applicability::Manual, FIX);
    }
    let waiting = cx.dump.objects.pods.iter();
    for pod in waiting.filter(|pod| pod.status.phase == "Pending" && pod.spec.node_name.is_empty())
    {
        for class in classes_of_unbound_claims(cx, pod) {
            apart(cx, out, pod, class);
        }
    }
}

const PATH: &str = "allowedTopologies";
const FIX: &str = "make the class anew with topologies of nodes that exist, or give the pods a class that GPU nodes reach";

/// Reports a pod whose GPUs are where the class may not make volumes.
fn apart(cx: &Cx<'_>, out: &mut Findings<'_>, pod: &Pod, class: &StorageClass) {
    let nodes = &cx.dump.objects.nodes;
    for (resource, wanted) in gpus(pod) {
        let with_gpus: Vec<_> = nodes
            .iter()
            .filter(|node| node.allocatable(resource) >= wanted)
            .collect();
        let allowed = nodes.iter().any(|node| allows(class, node));
        if with_gpus.is_empty() || !allowed || with_gpus.iter().any(|node| allows(class, node)) {
            continue;
        }
        let name = &class.meta().name;
        let finding = out.report(
            pod.meta(),
            format!("its claim of class {name} can have a volume only on nodes without {wanted} {resource}"),
        );
        finding.saw(class.meta(), PATH, shown(class));
        for node in with_gpus {
            let path = format!("status.allocatable.{resource}");
            finding.saw(node.meta(), &path, node.allocatable(resource));
        }
        finding.fix(Applicability::Manual, FIX);
    }
}

fn allows(class: &StorageClass, node: &Node) -> bool {
    let terms = &class.allowed_topologies;
    terms.is_empty()
        || terms.iter().any(|term| {
            term.match_label_expressions.iter().all(|wanted| {
                let value = node.meta().labels.get(&wanted.key);
                value.is_some_and(|value| wanted.values.contains(value))
            })
        })
}

fn shown(class: &StorageClass) -> String {
    let terms = class.allowed_topologies.iter().map(|term| {
        let wanted = term.match_label_expressions.iter().map(|wanted| {
            let values: Vec<&str> = wanted.values.iter().map(Text::as_str).collect();
            format!("{} in {}", wanted.key, values.join(","))
        });
        wanted.collect::<Vec<_>>().join(" and ")
    });
    terms.collect::<Vec<_>>().join(" or ")
}

/// Classes with topologies, of the pod's claims that have no volume yet.
fn classes_of_unbound_claims<'a>(cx: &Cx<'a>, pod: &Pod) -> Vec<&'a StorageClass> {
    let objects = &cx.dump.objects;
    let claims = pod.spec.volumes.iter().filter_map(|volume| {
        objects.claims.get(
            &pod.meta().namespace,
            &volume.persistent_volume_claim.claim_name,
        )
    });
    let unbound = claims.filter(|claim| claim.spec.volume_name.is_empty());
    let classes = unbound.filter_map(|claim| {
        objects
            .storage_classes
            .get("", claim.spec.storage_class_name.as_deref()?)
    });
    classes
        .filter(|class| !class.allowed_topologies.is_empty())
        .collect()
}
