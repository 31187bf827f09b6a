//! Kubelets of versions that Kubernetes does not support beside their control plane.

use std::collections::BTreeMap;

use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH010",
    name: "kubelet-version-skew",
    family: Family::Host,
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
Nodes whose kubelet is newer than the control plane, or more than three minor versions older.

## Why it matters
Neither is tested by anybody. Fields that one side does not know are dropped without a word, and the next upgrade of the control plane may leave the old nodes behind.

## How it is decided
`status.nodeInfo.kubeletVersion` of worker nodes against the newest of control-plane nodes, whose kubelets have the version of their API in MicroK8s and kubeadm. One finding a version.

## Fix
Upgrade the control plane first, then nodes, one minor version after the other.

## False positives
A control plane that is not among the nodes: then nothing is judged.

## References
Kubernetes, version skew policy.
";

/// Minor versions that a kubelet may be behind.
const BEHIND_MAX: i64 = 3;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = &cx.dump.objects.nodes;
    let control_plane = nodes.iter().filter(|node| node.is_control_plane());
    let Some((newest, server)) = control_plane
        .filter_map(|node| Some((minor(node)?, node)))
        .max_by_key(|found| found.0)
    else {
        out.not_assessable("the version of a control-plane node");
        return;
    };
    let mut by_version: BTreeMap<(i64, &str), Vec<&Node>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| !node.is_control_plane()) {
        if let Some(minor) = minor(node) {
            by_version
                .entry((minor, &node.status.node_info.kubelet_version))
                .or_default()
                .push(node);
        }
    }
    for ((minor, version), nodes) in by_version {
        let behind = newest - minor;
        let what = if behind < 0 {
            "newer than the control plane".to_owned()
        } else if behind > BEHIND_MAX {
            format!("{behind} minor versions older than the control plane")
        } else {
            continue;
        };
        let finding = out.report(
            Subject::cluster(),
            format!("kubelet {version} (nodes: {}) is {what}", nodes.len()),
        );
        finding.saw(
            server.meta(),
            PATH,
            &server.status.node_info.kubelet_version,
        );
        for node in nodes {
            finding.saw(node.meta(), PATH, version);
        }
        finding.fix(
            Applicability::Disruptive,
            "bring control plane and nodes together, the control plane first, one minor version after the other",
        );
    }
}

const PATH: &str = "status.nodeInfo.kubeletVersion";

/// The 28 of `v1.28.3`.
fn minor(node: &Node) -> Option<i64> {
    node.status
        .node_info
        .kubelet_version
        .split('.')
        .nth(1)?
        .parse()
        .ok()
}
