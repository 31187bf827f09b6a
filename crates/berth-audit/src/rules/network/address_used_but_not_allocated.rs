//! Addresses of live pods and of tunnels that lie in a Calico pool and that Calico believes to be free.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::ipam::Block;
use crate::dump::meta::Meta;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN004",
    name: "address-used-but-not-allocated",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::IpamBlock),
        Need::Some(Kind::Pod),
        Need::Every(Kind::IpPool),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Addresses of live pods and of tunnels that lie in a Calico pool and that Calico believes to be free.

## Why it matters
The next allocation of such an address gives it to a second pod. Both then lose connections at random.

## How it is decided
Each address of a live pod without host network, and each tunnel address of a Node annotation, inside an enabled pool must be allocated in every block that holds it: more than one does where blocks overlap. They are counted by block, or by pool where there is no block, in the order in which the block will hand them out.

## Fix
Re-create the pods in the order of the queue; restart calico-node where a tunnel address is concerned.

## False positives
Pods that started between the listing of blocks and of pods.

## References
Calico issues 1542, 8446.
";

/// An address in use that its block believes to be free.
struct Unallocated<'a> {
    address: IpAddr,
    user: &'a Meta,
    field: &'a str,
    /// How many addresses are handed out before it.
    queue: Option<usize>,
}

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let pods = ipam.pods.iter().flat_map(|(address, pods)| {
        pods.iter()
            .map(|pod| (*address, pod.meta(), "status.podIPs"))
    });
    let tunnels = ipam.tunnels.iter().flat_map(|(address, tunnels)| {
        tunnels
            .iter()
            .map(|tunnel| (*address, tunnel.node.meta(), tunnel.annotation))
    });
    let mut found: BTreeMap<Subject, (Option<&Block<'_>>, Vec<Unallocated<'_>>)> = BTreeMap::new();
    for (address, user, field) in pods.chain(tunnels) {
        if !ipam.is_in_enabled_pool(address) {
            continue;
        }
        let mut add = |subject: Subject, block| {
            let entry = found.entry(subject).or_insert_with(|| (block, Vec::new()));
            entry.1.push(Unallocated {
                address,
                user,
                field,
                queue: block.and_then(|block: &Block<'_>| block.queue_position(address)),
            });
        };
        let mut blocks = ipam.blocks_of(address).peekable();
        if blocks.peek().is_none()
            && let Some(pool) = ipam.pool_of(address)
        {
            add(pool.object.meta().into(), None);
        }
        for block in blocks.filter(|block| !block.is_allocated(address)) {
            add(block.object.meta().into(), Some(block));
        }
    }
    for (subject, (block, mut users)) in found {
        report(out, subject, block, &mut users);
    }
}

fn report(
    out: &mut Findings<'_>,
    subject: Subject,
    block: Option<&Block<'_>>,
    users: &mut [Unallocated<'_>],
) {
    users.sort_by_key(|user| (user.queue.is_none(), user.queue, user.address));
    let n = users.len();
    let message = match block {
        Some(_) => format!(
            "{n} of its addresses are in use and not allocated: the next allocation of one collides"
        ),
        None => format!("{n} of its addresses are in use and belong to no block"),
    };
    let finding = out.report(subject, message);
    for user in users.iter() {
        let value = match user.queue {
            Some(0) => format!("{}, handed out next", user.address),
            Some(queue) => format!("{}, handed out after {queue} others", user.address),
            None => user.address.to_string(),
        };
        finding.saw(user.user, user.field, value);
    }
    if let Some(block) = block {
        finding.caused_by("BN007", block.object.meta());
        finding.caused_by("BN015", block.object.meta());
    }
    finding.fix(
        Applicability::Disruptive,
        "re-create the pods, those whose address is handed out next first",
    );
}
