//! Who has been evicted and is still there: nobody comes to a node before they have left it.
//!
//! The index gives a place away as soon as that is decided, so that nobody else gets it; the kubelet
//! would refuse a pod that came before the others have gone. Binds to a node with pods that are
//! leaving wait here. Invariant: a bind waits only while somebody who was evicted from that node
//! before is still there.

use std::collections::{BTreeMap, BTreeSet};

use berth_core::filter::facts::Text;

use super::act::Order;

/// Pods that are leaving, by node, and the binds that wait for them.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    nodes: BTreeMap<Text, Node>,
    node_of: BTreeMap<Text, Text>,
}

#[derive(Debug, Default)]
struct Node {
    leaving: BTreeSet<Text>,
    waiting: Vec<Order>,
}

impl Leaving {
    /// Notes that a pod has to leave a node.
    pub(super) fn add(&mut self, pod: &Text, node: &Text) {
        let entry = self.nodes.entry(node.clone()).or_default();
        entry.leaving.insert(pod.clone());
        self.node_of.insert(pod.clone(), node.clone());
    }

    /// Gives the order back if it may go out at once, or keeps it.
    pub(super) fn pass(&mut self, node: &Text, order: Order) -> Option<Order> {
        match self.nodes.get_mut(node) {
            Some(entry) => {
                entry.waiting.push(order);
                None
            }
            None => Some(order),
        }
    }

    /// Notes that a pod has gone; returns the binds that have waited for it and nobody else.
    pub(super) fn gone(&mut self, pod: &Text) -> Vec<Order> {
        let Some(node) = self.node_of.remove(pod) else {
            return Vec::new();
        };
        let Some(entry) = self.nodes.get_mut(&node) else {
            return Vec::new();
        };
        entry.leaving.remove(pod);
        if !entry.leaving.is_empty() {
            return Vec::new();
        }
        let entry = self.nodes.remove(&node);
        entry.map_or_else(Vec::new, |entry| entry.waiting)
    }
}

#[cfg(test)]
mod tests {
    use arcstr::literal;

    use super::super::act::{Bind, PodName};
    use super::*;

    fn order(name: &str) -> Order {
        let pod = PodName {
            namespace: literal!("team"),
            name: Text::from(name),
            uid: Text::from(name),
        };
        Order::Bind(Bind {
            pod,
            node: literal!("n1"),
            is_gated: false,
            claims: Vec::new(),
            volumes: Vec::new(),
        })
    }

    #[test]
    fn a_bind_waits_for_everybody_who_leaves_its_node_and_for_nobody_else() {
        let mut leaving = Leaving::default();
        let (here, there) = (literal!("n1"), literal!("n2"));
        leaving.add(&literal!("team/a"), &here);
        leaving.add(&literal!("team/b"), &here);
        assert!(leaving.pass(&here, order("x")).is_none());
        assert!(leaving.pass(&there, order("y")).is_some());
        assert!(leaving.gone(&literal!("team/a")).is_empty());
        assert!(leaving.gone(&literal!("team/z")).is_empty());
        assert_eq!(leaving.gone(&literal!("team/b")).len(), 1);
        assert!(leaving.pass(&here, order("z")).is_some());
    }
}
