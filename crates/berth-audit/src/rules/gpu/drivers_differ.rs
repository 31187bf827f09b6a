//! Nodes with the same card and drivers of different branches.

use std::collections::BTreeMap;

use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG019",
    name: "drivers-differ",
    family: Family::Gpu,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes of one product of card whose drivers are of different major versions.

## Why it matters
An image that needs the newer driver starts on some nodes and fails on others, so a job works by luck.

## How it is decided
Labels of feature discovery: `nvidia.com/gpu.product` and `nvidia.com/cuda.driver-version.full`, or `nvidia.com/cuda.driver.major` of older releases.

## Fix
Bring the nodes to one branch, or let jobs select by the label of the driver.

## False positives
A driver that is being rolled out.

## References
NVIDIA CUDA compatibility guide; GPU feature discovery labels.
";

const FULL: &str = "nvidia.com/cuda.driver-version.full";
const OLD_MAJOR: &str = "nvidia.com/cuda.driver.major";

/// Nodes by the major version of their driver, with the label that says so.
type Branches<'a> = BTreeMap<&'a str, Vec<(&'a Node, &'a str)>>;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut products: BTreeMap<&str, Branches<'_>> = BTreeMap::new();
    for node in &cx.dump.objects.nodes {
        let label = [FULL, OLD_MAJOR]
            .into_iter()
            .find(|key| !node.meta().label(key).is_empty());
        let Some(key) = label else {
            continue;
        };
        let major = node.meta().label(key).split('.').next().unwrap_or_default();
        let product = node.meta().label("nvidia.com/gpu.product");
        let branches = products.entry(product).or_default();
        branches.entry(major).or_default().push((node, key));
    }
    for (product, branches) in products {
        if branches.len() < 2 || product.is_empty() {
            continue;
        }
        let counts: Vec<String> = branches
            .iter()
            .map(|(major, nodes)| format!("{major} on {}", nodes.len()))
            .collect();
        let message = format!("nodes with {product} have drivers {}", counts.join(", "));
        let finding = out.report(Subject::new("Product", "", product), message);
        for (node, key) in branches
            .into_values()
            .flat_map(|nodes| nodes.into_iter().take(3))
        {
            let path = format!("metadata.labels[{key}]");
            finding.saw(node.meta(), &path, node.meta().label(key));
        }
        finding.fix(
            Applicability::Disruptive,
            "bring the nodes to one branch of the driver, a drained node at a time",
        );
    }
}
