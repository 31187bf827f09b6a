//! Nodes that were cloned and still have one identity.

use std::collections::BTreeMap;

use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH011",
    name: "machine-id-shared",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Two or more nodes with the same machine ID.

## Why it matters
DHCP servers tell hosts apart by it, so clones take each other's address; tools that key on it (inventories, monitoring, VXLAN addresses made from it) mix the nodes up. It is found long after the clone, as a network fault.

## How it is decided
`status.nodeInfo.machineID` of all nodes in the dump.

## Fix
On each clone: empty `/etc/machine-id`, run `systemd-machine-id-setup`, and restart the host after a drain.

## False positives
None known; virtual nodes without one are left out.

## References
machine-id(5); Kubernetes, kubeadm: unique product_uuid and MAC for every node.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut by_id: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in &cx.dump.objects.nodes {
        let id = node.status.node_info.machine_id.as_str();
        if !id.trim_matches('0').is_empty() {
            by_id.entry(id).or_default().push(node);
        }
    }
    for (id, nodes) in by_id.into_iter().filter(|(_, nodes)| nodes.len() > 1) {
        let names: Vec<&str> = nodes.iter().map(|node| node.meta().name.as_str()).collect();
        let finding = out.report(
            nodes[0].meta(),
            format!(
                "{} nodes are clones with one machine ID: {}",
                nodes.len(),
                names.join(", ")
            ),
        );
        for node in &nodes {
            finding.saw(node.meta(), "status.nodeInfo.machineID", id);
        }
        for node in &nodes[1..] {
            finding.also(node.meta());
        }
        finding.fix(
            Applicability::Disruptive,
            "give each clone an ID of its own with `systemd-machine-id-setup`, and restart it after a drain",
        );
    }
}
