//! Clusters of a hundred nodes and more where every calico-node watches the API by itself.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN020",
    name: "many-nodes-without-typha",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::Node),
        Need::Every(Kind::DaemonSet),
        Need::Every(Kind::Deployment),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Clusters of a hundred nodes and more where every calico-node watches the API by itself.

## Why it matters
Each agent holds its own watches on pods, policies and blocks; the API server and its store do the same work for every node, and policy gets late.

## How it is decided
A DaemonSet calico-node, no Deployment calico-typha with replicas, and at least 100 nodes.

## Fix
Install Typha, one replica for every 200 nodes and three at least.

## False positives
Installations by the operator bring Typha themselves; another name for it is not known here.

## References
Calico documentation, installing with Typha.
";

/// Nodes from which on Typha is asked for.
const NODES_MIN: usize = 100;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    let n_nodes = objects.nodes.len();
    let Some(set) = objects
        .daemon_sets
        .iter()
        .find(|set| set.meta().name == "calico-node")
    else {
        return;
    };
    let mut typhas = objects
        .deployments
        .iter()
        .filter(|deployment| deployment.meta().name == "calico-typha");
    let has_typha = typhas.any(|typha| typha.spec.replicas.is_none_or(|replicas| replicas.0 > 0));
    if n_nodes < NODES_MIN || has_typha {
        return;
    }
    let finding = out.report(
        set.meta(),
        format!("{n_nodes} agents watch the API each by itself"),
    );
    finding.saw(
        set.meta(),
        "status.desiredNumberScheduled",
        set.status.desired_number_scheduled.0,
    );
    finding.fix(
        Applicability::Disruptive,
        "install Typha with three replicas",
    );
}
