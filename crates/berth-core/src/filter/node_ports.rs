//! `NodePorts`: nobody on the node has the pod's host ports.

use super::cluster::{Cluster, NodeEntry};
use super::facts::pod::{HostPort, PodFacts};
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodePorts",
    reach: Reach::Dynamic,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    wanted: &'a [HostPort],
}

fn prepare<'a>(_cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let wanted = &*pod.template.host_ports;
    if wanted.is_empty() {
        return Outset::Idle;
    }
    Outset::Judge(Box::new(Ready { wanted }))
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let mut used = node.pods().iter().flat_map(|pod| &pod.template.host_ports);
        let conflict = used.find(|port| self.wanted.iter().any(|one| one.conflicts_with(port)));
        match conflict {
            None => Verdict::Fits,
            Some(port) => Verdict::until_pods_leave(Reason::PortTaken(port.clone())),
        }
    }
}
