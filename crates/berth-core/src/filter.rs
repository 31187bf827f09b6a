//! kube-scheduler's filters (1.37): which nodes a pod can use.
//!
//! Invariant: the set of feasible nodes is the one that kube-scheduler's plugins find with their
//! default settings and feature gates; a differential test holds the two together. A filter looks at
//! the whole cluster once a pod ([`Filter::prepare`], the plugin's `PreFilter`), then at each node.
//! Not here: scores, preemption, and reading of Kubernetes' objects.

pub mod check;
pub mod cluster;
pub mod dynamic_resources;
pub mod facts;
mod inter_pod_affinity;
mod node_affinity;
mod node_declared_features;
mod node_name;
mod node_ports;
mod node_resources;
mod node_unschedulable;
mod node_volume_limits;
mod taint_toleration;
mod topology_spread;
pub mod verdict;
mod volume_binding;
mod volume_restrictions;
mod volume_zone;

use std::collections::BTreeSet;
use std::fmt::Debug;

pub use check::{Answer, Check, Start, start};

use cluster::{Cluster, NodeEntry};
use facts::Text;
use facts::pod::PodFacts;
use verdict::{Failure, Refusal, Verdict};

/// Every filter, in the order in which kube-scheduler asks them.
pub const FILTERS: &[&Filter] = &[
    &node_name::FILTER,
    &node_unschedulable::FILTER,
    &taint_toleration::FILTER,
    &node_affinity::FILTER,
    &node_ports::FILTER,
    &node_resources::FILTER,
    &volume_restrictions::FILTER,
    &node_volume_limits::FILTER,
    &volume_binding::FILTER,
    &volume_zone::FILTER,
    &topology_spread::FILTER,
    &inter_pod_affinity::FILTER,
    &dynamic_resources::FILTER,
    &node_declared_features::FILTER,
];

/// What a filter's verdict depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// The node's facts and the pod's rules for nodes alone; it may be remembered by the two.
    Static,
    /// Other pods, or volumes.
    Dynamic,
}

/// A filter.
#[derive(Debug)]
pub struct Filter {
    /// The name of kube-scheduler's plugin.
    pub name: &'static str,
    pub reach: Reach,
    /// Looks at the cluster once for a pod.
    pub prepare: for<'a> fn(&'a Cluster, &'a PodFacts) -> Outset<'a>,
}

/// What a filter knows of a pod before it looks at nodes.
#[derive(Debug)]
pub enum Outset<'a> {
    /// It has nothing to say to this pod.
    Idle,
    /// It looks at each node.
    Judge(Box<dyn Judge + 'a>),
    /// It looks at these nodes, and every other is out.
    JudgeOnly(BTreeSet<Text>, Box<dyn Judge + 'a>),
    /// No node will do.
    Refused(Refusal),
    /// The question can't be answered.
    Failed(Failure),
}

/// A filter that is ready to look at nodes for one pod.
pub trait Judge: Debug {
    /// Whether the pod may go to `node`.
    fn judge(&self, node: &NodeEntry) -> Verdict;

    /// Counts `pod` as if it ran on `node`; `judge` then has to be given that node with the pod on
    /// it. kube-scheduler does so with nominated pods and, in trials, with pods it has just placed.
    fn add(&mut self, _pod: &PodFacts, _node: &NodeEntry) {}

    /// The inverse of `add`.
    fn remove(&mut self, _pod: &PodFacts, _node: &NodeEntry) {}

    /// A copy that later additions to `self` don't change, or `None` if additions never matter.
    fn copy(&self) -> Option<Box<dyn Judge + '_>> {
        None
    }
}
