//! What the filters know of a pod.
//!
//! Invariant: [`NodeRules`], the one node that a pod may be for, and a
//! [`NodeFacts`](super::node::NodeFacts) decide every static filter by themselves, so an answer may be
//! remembered by the three.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Text;
use super::device::{ContainerAsk, PodClaim};
use super::label::{Labels, Selector};
use super::node_selector::NodeSelector;
use super::resources::Resources;
use super::storage::{ClaimKey, PodVolume};
use super::taint::Toleration;

/// What a pod says about nodes by themselves, whatever runs there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeRules {
    /// Labels that the node must have (`spec.nodeSelector`).
    pub node_labels: Labels,
    /// The required node affinity.
    pub node_affinity: Option<NodeSelector>,
    pub tolerations: Box<[Toleration]>,
    /// Declared node features that it needs (KEP-5328), sorted.
    pub features: Box<[Text]>,
}

impl NodeRules {
    /// Whether the node satisfies both the selector and the required affinity.
    #[must_use]
    pub fn selects(&self, node: &super::node::NodeFacts) -> bool {
        let has = |(key, value): &(Text, Text)| node.labels.get(key) == Some(value);
        self.node_labels.iter().all(has)
            && self
                .node_affinity
                .as_ref()
                .is_none_or(|affinity| affinity.matches(node.subject()))
    }
}

/// A transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

/// A port of the node that a pod takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// The address, as written; `None` for every address.
    pub address: Option<Text>,
    pub protocol: Protocol,
    pub port: i32,
}

impl HostPort {
    /// Whether the two can't be on one node. An address that is not given takes them all.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        self.port == other.port
            && self.protocol == other.protocol
            && match (&self.address, &other.address) {
                (Some(one), Some(another)) => one == another,
                (None, _) | (_, None) => true,
            }
    }
}

/// A required term of pod affinity or anti-affinity.
///
/// `matchLabelKeys` and `mismatchLabelKeys` need no place here: the API server writes them into the
/// selector when the pod is made (KEP-3633).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AffinityTerm {
    pub topology_key: Text,
    pub selector: Selector,
    /// Namespaces by name, sorted; the pod's own where none was given in either way.
    pub namespaces: Box<[Text]>,
    /// Namespaces by label; `Selector::Nothing` where none was given.
    pub namespace_selector: Selector,
}

/// Whether something counts in topology spread, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Inclusion {
    /// Nodes that the pod can't use for this are left out of the count.
    Honor,
    /// They count.
    Ignore,
}

/// A topology spread constraint with `whenUnsatisfiable: DoNotSchedule`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpreadConstraint {
    pub topology_key: Text,
    pub skew_max: i32,
    /// With `matchLabelKeys` already in it.
    pub selector: Selector,
    /// Domains below which the fullest may hold no more than `skew_max`; one by default.
    pub domains_min: i32,
    /// Whether nodes outside of the pod's node affinity are left out.
    pub affinity_policy: Inclusion,
    /// Whether nodes with taints that the pod doesn't tolerate are left out.
    pub taints_policy: Inclusion,
}

/// What pods that are made from one template have in common, as far as filters care. Claims by a name
/// of the pod's own make one of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodTemplate {
    /// What it asks for as a pod to be placed: containers, init containers, native sidecars,
    /// overhead and pod-level resources taken together.
    pub requests: Resources,
    pub rules: NodeRules,
    pub host_ports: Box<[HostPort]>,
    pub affinity: Box<[AffinityTerm]>,
    pub anti_affinity: Box<[AffinityTerm]>,
    pub spread: Box<[SpreadConstraint]>,
    /// Volumes that a filter cares about, in the order of the pod.
    pub volumes: Box<[PodVolume]>,
    /// Claims of devices, in the order of the pod.
    pub device_claims: Box<[PodClaim]>,
    /// Containers that ask for extended resources, init containers first.
    pub containers: Box<[ContainerAsk]>,
}

/// A pod that waits or runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PodFacts {
    pub namespace: Text,
    pub name: Text,
    pub uid: Text,
    pub labels: Labels,
    pub priority: i32,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// The one node that it is for (`spec.nodeName`).
    pub node_name: Option<Text>,
    /// What it counts for once it runs, where an in-place resize makes that differ.
    pub resized: Option<Box<Resources>>,
    pub template: Arc<PodTemplate>,
}

impl PodFacts {
    /// Hashes what decides where the pod may go: all but who it is.
    pub fn hash_kind(&self, hasher: &mut impl Hasher) {
        let Self {
            namespace,
            name: _,
            uid: _,
            labels,
            // Groups of waiting pods are told apart by priority in any case.
            priority: _,
            is_terminating: _,
            node_name,
            // Of pods that run.
            resized: _,
            template,
        } = self;
        (namespace, labels, node_name, template).hash(hasher);
    }

    /// The claims of volumes that it uses, in its order.
    pub fn volume_claims(&self) -> impl Iterator<Item = ClaimKey> {
        let names = self
            .template
            .volumes
            .iter()
            .filter_map(|volume| match volume {
                PodVolume::Claim { name } | PodVolume::Ephemeral { claim_name: name } => Some(name),
                PodVolume::Disk(_) => None,
            });
        names.map(|name| ClaimKey {
            namespace: self.namespace.clone(),
            name: name.clone(),
        })
    }

    /// The device claims that it uses by name and that exist or are about to.
    pub fn device_claim_keys(&self) -> impl Iterator<Item = ClaimKey> {
        let names = self
            .template
            .device_claims
            .iter()
            .filter_map(|claim| match claim {
                PodClaim::Named(name) | PodClaim::Made(name) => Some(name),
                PodClaim::Pending(_) => None,
            });
        names.map(|name| ClaimKey {
            namespace: self.namespace.clone(),
            name: name.clone(),
        })
    }

    /// What it counts for on the node where it runs.
    #[must_use]
    pub fn held(&self) -> &Resources {
        self.resized.as_deref().unwrap_or(&self.template.requests)
    }
}
