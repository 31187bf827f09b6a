//! An exporter that names one pod only of those that share a card.

use std::collections::BTreeMap;

use super::stack::{owner, replicas};
use crate::dump::kind::node::Node;
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG018",
    name: "exporter-hides-sharers",
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
dcgm-exporter without virtual GPUs on nodes whose cards are shared.

## Why it matters
Its metrics carry the name of one of the sharers, or none, so use is booked to the wrong person.

## How it is decided
A running dcgm-exporter on a node with `nvidia.com/gpu.replicas` above 1 that has neither `--kubernetes-virtual-gpus` nor `KUBERNETES_VIRTUAL_GPUS`.

## Fix
Set `KUBERNETES_VIRTUAL_GPUS=true`; each sharer then gets a row with the value of the whole card, so do not add them up.

## False positives
Metrics that nobody reads by pod.

## References
dcgm-exporter issues 151, 201, 307 and pull request 432.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut blind: BTreeMap<Subject, Vec<(&Node, &Pod)>> = BTreeMap::new();
    for node in cx
        .dump
        .objects
        .nodes
        .iter()
        .filter(|node| replicas(node) > 1)
    {
        for pod in cx.pods_on(&node.meta().name) {
            let exporter = pod.spec.containers.iter().find(|container| {
                let name = container.image.rsplit('/').next().unwrap_or_default();
                name.starts_with("dcgm-exporter")
            });
            let is_blind = exporter.is_some_and(|container| {
                let mut words = container.args.iter().chain(&container.command);
                words.all(|word| !word.contains("kubernetes-virtual-gpus"))
                    && container
                        .env
                        .iter()
                        .all(|variable| variable.name != "KUBERNETES_VIRTUAL_GPUS")
            });
            if is_blind {
                blind.entry(owner(pod)).or_default().push((node, *pod));
            }
        }
    }
    for (owner, places) in blind {
        let message = format!(
            "on {} nodes with shared cards the exporter names one of the sharers only",
            places.len()
        );
        let finding = out.report(owner, message);
        for (node, pod) in places {
            finding.saw(
                node.meta(),
                "metadata.labels[nvidia.com/gpu.replicas]",
                replicas(node),
            );
            finding.also(pod.meta());
        }
        finding.fix(
            Applicability::Safe,
            "set KUBERNETES_VIRTUAL_GPUS=true on the exporter, and do not add up the rows of one card",
        );
    }
}
