//! GPU nodes with different kernels.

use std::collections::BTreeMap;

use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH014",
    name: "gpu-kernels-differ",
    family: Family::Host,
    severity: Severity::Info,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Clusters whose GPU nodes run different kernels.

## Why it matters
A driver module is built for one kernel. After an unattended kernel update a node comes back without GPUs, or with a module that the operator's image does not have; a cluster with two kernels is half way there, and a job of many nodes runs at the pace of the slowest.

## How it is decided
`status.nodeInfo.kernelVersion` of nodes with an allocatable resource of `nvidia.com/`, or the label `nvidia.com/gpu.present=true`, of one architecture. One finding an architecture.

## Fix
Hold kernel packages on GPU nodes, and bring them to one version, a node at a time after a drain.

## False positives
An upgrade that is under way; pools of different machines on purpose.

## References
NVIDIA GPU operator, precompiled drivers and kernel updates.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut by_kernel: BTreeMap<&str, BTreeMap<&str, Vec<&Node>>> = BTreeMap::new();
    for node in cx.dump.objects.nodes.iter().filter(|node| has_gpus(node)) {
        let info = &node.status.node_info;
        if !info.kernel_version.is_empty() {
            let kernels = by_kernel.entry(&info.architecture).or_default();
            kernels.entry(&info.kernel_version).or_default().push(node);
        }
    }
    for kernels in by_kernel.into_values().filter(|kernels| kernels.len() > 1) {
        let shown: Vec<String> = kernels
            .iter()
            .map(|(kernel, nodes)| format!("{kernel} on {}", nodes.len()))
            .collect();
        let finding = out.report(
            Subject::cluster(),
            format!(
                "GPU nodes run {} kernels: {}",
                kernels.len(),
                shown.join(", ")
            ),
        );
        for (kernel, nodes) in kernels {
            for node in nodes {
                finding.saw(node.meta(), "status.nodeInfo.kernelVersion", kernel);
            }
        }
        finding.fix(
            Applicability::Disruptive,
            "hold kernel packages on GPU nodes, and bring them to one version after a drain each",
        );
    }
}

fn has_gpus(node: &Node) -> bool {
    let mut resources = node.status.allocatable.iter();
    node.meta().label("nvidia.com/gpu.present") == "true"
        || resources.any(|(name, amount)| name.starts_with("nvidia.com/") && amount.units() > 0)
}
