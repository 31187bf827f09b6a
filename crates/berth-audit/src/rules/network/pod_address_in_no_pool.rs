//! Live pods whose address lies in no Calico pool, counted by node.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::dump::coverage::Extent;
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN005",
    name: "pod-address-in-no-pool",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpPool), Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Live pods whose address lies in no Calico pool, counted by node.

## Why it matters
Such pods were set up by another network than the cluster's: nobody else can reach them, and policy does not see them.

## How it is decided
Addresses of live pods without host network are compared with every pool and with the pod range of their node; a disabled pool counts for addresses that are allocated from it. 172.17.0.0/16 is the bridge of Docker: the node's CNI settings were missing when the pod started.

## Fix
Repair the CNI settings of the node (`/etc/cni/net.d`), then re-create its pods.

## False positives
Pods with a network of their own as the default (Multus), and clusters that use another network beside Calico.

## References
Calico issues 6243, 962.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    if ipam.pools.is_empty() {
        return; // Calico only enforces policy here; another network gives addresses
    }
    let knows_blocks = cx.dump.coverage.extent(Kind::IpamBlock) == Extent::Complete;
    let mut by_node: BTreeMap<&str, Vec<(IpAddr, &Pod)>> = BTreeMap::new();
    for (address, pods) in &ipam.pods {
        // A disabled pool keeps what it has given, and gives nothing new.
        let is_given = || {
            let mut blocks = ipam.blocks_of(*address);
            !knows_blocks || blocks.any(|block| block.is_allocated(*address))
        };
        let is_in_pool = ipam.pool_of(*address).is_some();
        if ipam.is_in_enabled_pool(*address) || (is_in_pool && is_given()) {
            continue;
        }
        for pod in pods.iter().filter(|pod| !is_of_node(cx, pod, *address)) {
            by_node
                .entry(pod.spec.node_name.as_str())
                .or_default()
                .push((*address, pod));
        }
    }
    for (node, pods) in by_node {
        let is_bridge = pods
            .iter()
            .any(|(address, _)| DOCKER_BRIDGE.contains(address));
        let is_unknown = pods
            .iter()
            .any(|(address, _)| ipam.pool_of(*address).is_some());
        let which = if is_unknown {
            "lie in no pool, or in a disabled one that has not given them"
        } else {
            "lie in no pool"
        };
        let n = pods.len();
        let why = if is_bridge {
            ": they are of Docker's bridge, so the node's CNI settings are missing"
        } else {
            ""
        };
        let finding = out.report(
            Subject::new("Node", "", node),
            format!("addresses of {n} of its pods {which}{why}"),
        );
        for (address, pod) in &pods {
            finding.saw(pod.meta(), "status.podIPs", address);
        }
        finding.fix(
            Applicability::Disruptive,
            "repair /etc/cni/net.d on the node, then re-create these pods",
        );
    }
}

/// Docker's default bridge.
const DOCKER_BRIDGE: Ipv4Range = Ipv4Range { first: [172, 17] };

struct Ipv4Range {
    first: [u8; 2],
}

impl Ipv4Range {
    fn contains(&self, address: &IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if address.octets()[..2] == self.first)
    }
}

/// True for addresses of the range that Kubernetes gave to the pod's node.
fn is_of_node(cx: &Cx<'_>, pod: &Pod, address: IpAddr) -> bool {
    let node = cx.dump.objects.nodes.get("", &pod.spec.node_name);
    node.is_some_and(|node| {
        let ranges = node
            .spec
            .pod_cidrs
            .iter()
            .filter_map(|range| range.parse::<IpNet>().ok());
        ranges.into_iter().any(|range| range.contains(&address))
    })
}
