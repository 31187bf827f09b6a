//! Nodes that offer the same cards whole and as virtual GPUs.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG007",
    name: "card-under-two-names",
    family: Family::Gpu,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes that offer both `nvidia.com/gpu` and Volcano's `volcano.sh/vgpu-number`.

## Why it matters
Both plugins count the same cards, so a card is given whole to one pod and in parts to others.

## How it is decided
Both names stand in the node's allocatable resources with more than 0.

## Fix
Serve a node with one plugin; switch the other off there by a label and node selector.

## False positives
Nodes on which the plugins are set to serve different cards.

## References
volcano-vgpu-device-plugin issue 76.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    const NAMES: [&str; 2] = ["nvidia.com/gpu", "volcano.sh/vgpu-number"];
    for node in &cx.dump.objects.nodes {
        let [n_whole, n_virtual] = NAMES.map(|name| node.allocatable(name));
        if n_whole == 0 || n_virtual == 0 {
            continue;
        }
        let message =
            format!("offers {n_whole} whole GPUs and {n_virtual} virtual ones of the same cards");
        let finding = out.report(node.meta(), message);
        for (name, n_units) in NAMES.iter().zip([n_whole, n_virtual]) {
            finding.saw(node.meta(), &format!("status.allocatable[{name}]"), n_units);
        }
        finding.fix(
            Applicability::Disruptive,
            "switch one of the two device plugins off on the node, and restart the kubelet",
        );
    }
}
