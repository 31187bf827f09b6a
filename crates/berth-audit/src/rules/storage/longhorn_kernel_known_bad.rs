//! Nodes of Longhorn with a kernel on which it is known to break.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS019",
    name: "longhorn-kernel-known-bad",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::LonghornNode), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes that Longhorn uses and whose kernel is one that its makers name as broken: 5.15.0-94, 6.5.0-21, 6.5.6.

## Why it matters
On these kernels volumes have been corrupted or have hung while everything looked healthy.

## How it is decided
`status.nodeInfo.kernelVersion` of nodes that have a LonghornNode, compared up to the next digit group.

## Fix
Update the kernel, a node at a time after a drain.

## False positives
A distribution's build of that number with the fix in it.

## References
Longhorn `best-practices.md`, 1.8, kernel versions.
";

/// Versions as `uname -r` begins.
const BAD: [&str; 3] = ["5.15.0-94", "6.5.0-21", "6.5.6"];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for longhorn in &cx.dump.objects.longhorn_nodes {
        let Some(node) = cx.dump.objects.nodes.get("", &longhorn.meta().name) else {
            continue;
        };
        let kernel = node.status.node_info.kernel_version.as_str();
        let is_bad = BAD.iter().any(|bad| {
            let rest = kernel.strip_prefix(bad);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        if !is_bad {
            continue;
        }
        let finding = out.report(
            node.meta(),
            format!("Longhorn is known to break on its kernel {kernel}"),
        );
        finding.saw(node.meta(), "status.nodeInfo.kernelVersion", kernel);
        finding.fix(Applicability::Disruptive, "update the kernel after a drain");
    }
}
