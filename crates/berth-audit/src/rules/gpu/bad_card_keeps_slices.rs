//! A device plugin that marks only one slice of a failed card.

use std::collections::BTreeMap;

use super::stack::{Plugin, Server, replicas, servers, version};
use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG013",
    name: "bad-card-keeps-slices",
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
NVIDIA's device plugin up to 0.20.0 on nodes whose cards are shared.

## Why it matters
When a card fails, these versions mark one of its replicas unhealthy; the others stay on offer, and pods go on failing on them.

## How it is decided
The version in the image's tag, and the label `nvidia.com/gpu.replicas` above 1.

## Fix
Update the device plugin to a release after 0.20.0; until then drain a node whose card has failed.

## False positives
Builds of one's own with the repair.

## References
k8s-device-plugin issue 1929, pull request 1930.
";

/// The last version with the fault.
const LAST_BAD: (u32, u32, u32) = (0, 20, 0);

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut bad: BTreeMap<Subject, Vec<(&Node, Server<'_>)>> = BTreeMap::new();
    for (name, servers) in servers(cx) {
        let Some(node) = cx.dump.objects.nodes.get("", name) else {
            continue;
        };
        if replicas(node) < 2 {
            continue;
        }
        for server in servers {
            if server.plugin != Plugin::Nvidia {
                continue;
            }
            match version(&server.container.image) {
                Some(version) if version <= LAST_BAD => {
                    bad.entry(server.owner()).or_default().push((node, server));
                }
                Some(_) => {}
                None => out.not_assessable(format!(
                    "the image {} of {} tells no version",
                    server.container.image,
                    server.pod.meta().full_name()
                )),
            }
        }
    }
    for (owner, places) in bad {
        let message = format!(
            "on {} nodes with shared cards a failed card loses one slice only and keeps the others on offer",
            places.len()
        );
        let finding = out.report(owner, message);
        for (index, (node, server)) in places.iter().enumerate() {
            if index == 0 {
                finding.saw(
                    server.pod.meta(),
                    "spec.containers[].image",
                    &server.container.image,
                );
            }
            finding.saw(
                node.meta(),
                "metadata.labels[nvidia.com/gpu.replicas]",
                replicas(node),
            );
        }
        finding.fix(
            Applicability::Disruptive,
            "update the device plugin to a release after 0.20.0; running pods keep their cards",
        );
    }
}
