//! MIG slices of a profile that no pod asks for, while other requests wait.

use std::collections::BTreeMap;

use super::stack::{gpu_requests, is_waiting};
use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG008",
    name: "mig-geometry-nobody-asks",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node), Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
MIG profiles that nodes offer and no pod asks for, while pods that want GPUs in another form wait for a node.

## Why it matters
Cards that are cut for a profile nobody uses stand idle, and their geometry stays until somebody changes it.

## How it is decided
Per `nvidia.com/mig-...` name: what nodes offer, and what pods that have not ended ask for. Quiet where nothing waits for a GPU.

## Fix
Change the geometry of the idle cards (label `nvidia.com/mig.config`) to what waits.

## False positives
Profiles that are kept free for a class at a certain hour.

## References
NVIDIA MIG user guide; mig-parted.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut asked: BTreeMap<&str, i64> = BTreeMap::new();
    let mut waiting: BTreeMap<&str, i64> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| !pod.is_finished()) {
        for (name, n_units) in gpu_requests(pod) {
            *asked.entry(name).or_default() += n_units;
            if is_waiting(pod) {
                *waiting.entry(name).or_default() += n_units;
            }
        }
    }
    if waiting.is_empty() {
        return;
    }
    let waits: Vec<String> = waiting
        .iter()
        .map(|(name, n_units)| format!("{n_units} of {name}"))
        .collect();
    let mut idle: BTreeMap<&str, Vec<(&Node, i64)>> = BTreeMap::new();
    for node in &cx.dump.objects.nodes {
        for (name, quantity) in node.status.allocatable.iter() {
            let is_idle = name.starts_with("nvidia.com/mig-") && !asked.contains_key(name.as_str());
            if is_idle && quantity.units() > 0 {
                idle.entry(name).or_default().push((node, quantity.units()));
            }
        }
    }
    for (name, nodes) in idle {
        let n_idle: i64 = nodes.iter().map(|(_, n_units)| n_units).sum();
        let message = format!(
            "no pod asks for {name}, of which {n_idle} stand idle, while pods wait for {}",
            waits.join(", ")
        );
        let finding = out.report(Subject::new("Resource", "", name), message);
        for (node, n_units) in nodes {
            finding.saw(node.meta(), &format!("status.allocatable[{name}]"), n_units);
        }
        finding.fix(
            Applicability::Disruptive,
            "give the idle cards a geometry that matches what waits, by the label nvidia.com/mig.config",
        );
    }
}
