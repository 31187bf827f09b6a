//! What the filters know of a node.

use super::Text;
use super::label::Labels;
use super::node_selector::Subject;
use super::resources::Resources;
use super::taint::Taint;

/// Whether a node is cordoned (`spec.unschedulable`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Cordon {
    /// It takes new pods.
    #[default]
    Open,
    /// It takes only pods that tolerate that.
    Cordoned,
}

/// A node as its object says it is, without what runs there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeFacts {
    pub name: Text,
    pub labels: Labels,
    pub taints: Box<[Taint]>,
    pub cordon: Cordon,
    /// What pods may take (`status.allocatable`), without the pods themselves.
    pub allocatable: Resources,
    /// How many pods may run.
    pub pod_slots: i64,
    /// Features that the kubelet declares (KEP-5328), sorted.
    pub declared_features: Box<[Text]>,
}

impl NodeFacts {
    /// The node as a selector over labels and names sees it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            labels: &self.labels,
            name: Some(&self.name),
        }
    }

    /// The node as a selector over labels alone sees it.
    #[must_use]
    pub fn labels_only(&self) -> Subject<'_> {
        Subject {
            labels: &self.labels,
            name: None,
        }
    }
}

/// One CSI driver on a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NodeDriver {
    pub name: Text,
    /// How many volumes it can attach; `None` for no limit.
    pub volumes_max: Option<i64>,
}

/// The CSI drivers of a node (its `CSINode`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeDrivers {
    pub drivers: Box<[NodeDriver]>,
}
