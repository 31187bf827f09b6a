//! Machines whose volumes no node, or no second node, can reach.

use crate::dump::kind::kubevirt::InstanceSpec;
use crate::dump::kind::node::Node;
use crate::dump::kind::pod::{NodeTerm, NodeTerms};
use crate::dump::kind::storage::{PersistentVolume, PersistentVolumeClaim};
use crate::dump::meta::{Meta, Requirement};
use crate::dump::text::Text;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV003",
    name: "vm-volume-out-of-reach",
    family: Family::Vm,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachine),
        Need::Some(Kind::PersistentVolumeClaim),
        Need::Some(Kind::PersistentVolume),
        Need::Every(Kind::Node),
        Need::Every(Kind::VirtualMachineInstance),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Machines with a volume whose node affinity matches no node, and running machines that KubeVirt calls migratable although a volume reaches no node but their own.

## Why it matters
The first can't start again once they stop. The second pass every check of KubeVirt, and their migration waits for a node that does not exist: KubeVirt looks at the claim's access mode and never at the volume's topology.

## How it is decided
The node affinity of the bound PersistentVolume is evaluated against the labels of every node. Volumes without one are reachable from everywhere.

## Fix
Bring the node back, or restore the volume on one that exists; correct the topology (`allowedTopologies`, zones) of the storage class; move the disk to storage that several nodes reach.

## False positives
Nodes that are scaled down for now and come back with their labels.

## References
KubeVirt issues 11737, 3908, 8771; cloud-provider-openstack issues 1735, 1300; Kubernetes documentation, node affinity of persistent volumes.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    for machine in &objects.vm_instances {
        let can_move = machine.is_migratable() && machine.is_running();
        let node = can_move.then_some(machine.status.node_name.as_str());
        judge(cx, out, machine.meta(), &machine.spec, node);
    }
    for machine in &objects.virtual_machines {
        let meta = machine.meta();
        if objects
            .vm_instances
            .get(&meta.namespace, &meta.name)
            .is_none()
        {
            judge(cx, out, meta, &machine.spec.template.spec, None);
        }
    }
}

/// Judges a machine; `node` is where it runs if it is to be able to leave.
fn judge(
    cx: &Cx<'_>,
    out: &mut Findings<'_>,
    machine: &Meta,
    spec: &InstanceSpec,
    node: Option<&str>,
) {
    let objects = &cx.dump.objects;
    for name in spec.claim_names() {
        let Some(claim) = objects.claims.get(&machine.namespace, name) else {
            continue;
        };
        let Some(volume) = objects.volumes.get("", &claim.spec.volume_name) else {
            continue;
        };
        let Some(affinity) = &volume.spec.node_affinity else {
            continue;
        };
        let reached: Vec<&Node> = objects
            .nodes
            .iter()
            .filter(|node| matches(&affinity.required, node))
            .collect();
        let is_alone = |node: &str| {
            objects.nodes.len() > 1 && reached.iter().all(|other| other.meta().name == node)
        };
        let found = if reached.is_empty() {
            let message = format!("no node reaches its volume {}", volume.meta().name);
            out.report(machine, message)
        } else if let Some(node) = node.filter(|node| is_alone(node)) {
            let message = format!(
                "it counts as migratable, but only {node} reaches its volume {}",
                volume.meta().name
            );
            out.report(machine, message).severity(Severity::Warning)
        } else {
            continue;
        };
        describe(found, claim, volume);
    }
}

fn describe(
    found: &mut crate::finding::Finding,
    claim: &PersistentVolumeClaim,
    volume: &PersistentVolume,
) {
    found.saw(claim.meta(), "spec.volumeName", &volume.meta().name);
    if let Some(affinity) = &volume.spec.node_affinity {
        for (index, term) in affinity.required.node_selector_terms.iter().enumerate() {
            let path = format!("spec.nodeAffinity.required.nodeSelectorTerms[{index}]");
            found.saw(volume.meta(), &path, written(term));
        }
    }
    found.fix(
        Applicability::Manual,
        "bring the volume's node or zone back, or move the disk to storage that more nodes reach",
    );
}

fn written(term: &NodeTerm) -> String {
    let all = term.match_expressions.iter().chain(&term.match_fields);
    let all: Vec<_> = all
        .map(|want| {
            let values: Vec<_> = want.values.iter().map(Text::as_str).collect();
            format!("{} {} [{}]", want.key, want.operator, values.join(", "))
        })
        .collect();
    all.join(" and ")
}

/// Terms are alternatives, requirements of a term hold together; an empty term matches nothing.
fn matches(terms: &NodeTerms, node: &Node) -> bool {
    terms.node_selector_terms.iter().any(|term| {
        let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
        let labels = |want: &Requirement| {
            let label = node.meta().labels.get(&want.key);
            holds(want, label.map(Text::as_str))
        };
        let fields = |want: &Requirement| holds(want, Some(&node.meta().name));
        !is_empty
            && term.match_expressions.iter().all(labels)
            && term.match_fields.iter().all(fields)
    })
}

fn holds(want: &Requirement, value: Option<&str>) -> bool {
    let is_listed = value.is_some_and(|value| want.values.iter().any(|listed| listed == value));
    let number = |text: &str| text.parse::<i64>().ok();
    let bound = want.values.first().and_then(|bound| number(bound));
    let value_number = value.and_then(number);
    match want.operator.as_str() {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => value_number > bound && bound.is_some(),
        "Lt" => value_number.is_some() && bound.is_some() && value_number < bound,
        // An operator of a later Kubernetes: believed to match, so that nothing is reported.
        _ => true,
    }
}
