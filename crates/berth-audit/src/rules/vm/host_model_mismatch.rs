//! Nodes whose machines take the host's processor with them and find no other that is as good.

use crate::dump::kind::kubevirt::VirtualMachineInstance;
use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV002",
    name: "host-model-mismatch",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachineInstance),
        Need::Every(Kind::Node),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes that run machines with the CPU model `host-model` while no other node for machines offers that model with all its features.

## Why it matters
Every migration away from the node stays Pending with `NoSuitableNodesForHostModelMigration`, which names neither the node nor the feature; a drain hangs.

## How it is decided
KubeVirt's own selector for the target of a first migration is computed from the labels of the source: `cpu-model-migration`, one `cpu-feature` for each `host-model-required-features`, and the same `cpu-vendor`.
Every other node labelled `kubevirt.io/schedulable=true` is compared, cordoned ones included; what the nearest one lacks is shown. Machines that can't be migrated anyway are not counted.

## Fix
Give the machines a named model that all nodes offer (in the KubeVirt resource as `cpuModel`, or in the machine), or bring firmware and microcode of the nodes to one state. The machines must be restarted to take it.

## False positives
Labels of old and new releases of KubeVirt fold features into models differently, so during an upgrade a node may seem to lack what its model contains.
A machine that was migrated before keeps the selector of its first node, which may be weaker or stronger.

## References
KubeVirt documentation, live migration and host-model; KubeVirt issues 12519, 15623 and pull request 17947.
";

const FEATURE_WANTED: &str = "host-model-required-features.node.kubevirt.io/";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = &cx.dump.objects.nodes;
    for source in nodes {
        let machines: Vec<_> = cx
            .dump
            .objects
            .vm_instances
            .iter()
            .filter(|machine| machine.status.node_name == source.meta().name)
            .filter(|machine| is_host_model(cx, machine) && !machine.is_pinned())
            .collect();
        let targets: Vec<&Node> = nodes
            .iter()
            .filter(|node| node.meta().label("kubevirt.io/schedulable") == "true")
            .filter(|node| node.meta().name != source.meta().name)
            .collect();
        let Some(wanted) = wanted(source).filter(|_| !machines.is_empty()) else {
            continue;
        };
        let lacks = |node: &Node| -> Vec<&String> {
            wanted
                .iter()
                .filter(|label| node.meta().labels.get(label).is_none())
                .collect()
        };
        let nearest = targets.iter().min_by_key(|node| lacks(node).len());
        let Some(nearest) = nearest.filter(|node| !lacks(node).is_empty()) else {
            continue;
        };
        report(
            out,
            source,
            &machines,
            nearest,
            &lacks(nearest),
            targets.len(),
        );
    }
}

/// Labels that a target must have; `None` where the node has no host model.
fn wanted(source: &Node) -> Option<Vec<String>> {
    let labels = &source.meta().labels;
    let model = labels
        .iter()
        .find_map(|(key, _)| key.strip_prefix("host-model-cpu.node.kubevirt.io/"))?;
    let features = labels.iter().filter_map(|(key, _)| {
        let feature = key.strip_prefix(FEATURE_WANTED)?;
        Some(format!("cpu-feature.node.kubevirt.io/{feature}"))
    });
    let vendor = labels
        .iter()
        .map(|(key, _)| key.to_string())
        .find(|key| key.starts_with("cpu-vendor.node.kubevirt.io/"));
    let model = format!("cpu-model-migration.node.kubevirt.io/{model}");
    Some(
        std::iter::once(model)
            .chain(vendor)
            .chain(features)
            .collect(),
    )
}

fn is_host_model(cx: &Cx<'_>, machine: &VirtualMachineInstance) -> bool {
    let own = &machine.spec.domain.cpu.model;
    let install = cx.dump.objects.kubevirts.iter().next();
    match own.as_str() {
        "" => install.is_none_or(|install| {
            matches!(
                install.spec.configuration.cpu_model.as_str(),
                "" | "host-model"
            )
        }),
        own => own == "host-model",
    }
}

fn report(
    out: &mut Findings<'_>,
    source: &Node,
    machines: &[&VirtualMachineInstance],
    nearest: &Node,
    lacks: &[&String],
    n_targets: usize,
) {
    let n = machines.len();
    let message = format!(
        "its {n} machine(s) with host-model can move to none of the {n_targets} other node(s); {} comes nearest and lacks {}",
        nearest.meta().name,
        short(lacks)
    );
    let finding = out.report(source.meta(), message);
    for label in lacks {
        finding.saw(
            nearest.meta(),
            &format!("metadata.labels[{label}]"),
            "(none)",
        );
    }
    for machine in machines {
        finding.also(machine.meta());
    }
    finding.fix(
        Applicability::Disruptive,
        "set a named cpuModel that every node offers and restart the machines, or align firmware and microcode",
    );
}

/// The first names without their long prefixes.
fn short(labels: &[&String]) -> String {
    const SHOWN: usize = 4;
    let names = labels.iter().take(SHOWN);
    let names: Vec<_> = names
        .map(|label| {
            label
                .split_once('/')
                .map_or(label.as_str(), |(_, name)| name)
        })
        .collect();
    let more = labels.len().saturating_sub(SHOWN);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{rest}", names.join(", "))
}
