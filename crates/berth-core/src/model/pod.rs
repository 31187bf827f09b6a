//! A pod: who wants what, since when, and where it is.
//!
//! Invariant: a pod is bound exactly when one node has a placement for it. Not here: containers and
//! images; the core decides on amounts.

use std::hash::Hasher;
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use crate::filter::facts::pod::PodFacts;
use crate::id::{GangId, NodeId, QueueId, TaskTypeId, UserId, VmId};
use crate::model::snapshot::Carrier;
use crate::time::Time;

/// Whose place a pod may take because of its priority. What belongs to its queue it may claim back
/// in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preempts {
    /// Nobody's: priority decides about turns alone.
    #[default]
    Never,
    /// That of work of lower priority.
    LowerPriority,
}

/// Whether a pod may lose its place to other work at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tenure {
    /// It may, by the rules.
    #[default]
    Evictable,
    /// Never: another scheduler put it there, or it belongs to the node.
    Permanent,
}

/// What a feed knows of a pod when it appears.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodSpec {
    /// Namespaced name, unique among the pods of a snapshot; breaks ties between pods.
    pub name: Arc<str>,
    /// Who submitted it.
    pub user: UserId,
    /// The queue that is charged.
    pub queue: QueueId,
    /// What it asks for.
    pub task: TaskTypeId,
    /// Higher goes first.
    pub priority: i32,
    /// Whose place it may take for that.
    pub preempts: Preempts,
    /// Whether it may lose its own.
    pub tenure: Tenure,
    /// When it was submitted.
    pub created: Time,
    /// The gang that it starts with, if any.
    pub gang: Option<GangId>,
    /// The virtual machine that it carries, if any.
    pub vm: Option<VmId>,
    /// What Kubernetes' filters know of it; `None` where no Kubernetes stands behind it, and then no
    /// filter is asked.
    #[serde(skip)]
    pub facts: Option<Facts>,
}

/// What Kubernetes' filters know of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pod: Arc<PodFacts>,
    kind: FactsKind,
}

/// What pods have in common that are the same to every filter: a digest of their facts but for who
/// they are. Two kinds that should share a digest would wait as one, and lose no more than time by
/// that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct FactsKind(u64);

/// Where a pod is in its life. Pods that have ended are no longer in the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Waits for a place since `since`.
    Pending {
        /// When the wait began: creation, or the last eviction.
        since: Time,
    },
    /// Holds its place on `node` since `since`.
    Bound {
        /// Where.
        node: NodeId,
        /// When it was bound.
        since: Time,
    },
}

/// A pod of the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// What the feed said when it appeared.
    pub spec: PodSpec,
    /// Where it is.
    pub phase: Phase,
    /// How often it has lost its place.
    pub evictions: u32,
}

impl Facts {
    /// Facts of a pod.
    #[must_use]
    pub fn new(pod: Arc<PodFacts>) -> Self {
        let mut hasher = FxHasher::default();
        pod.hash_kind(&mut hasher);
        let kind = FactsKind(hasher.finish());
        Self { pod, kind }
    }

    /// The facts.
    #[must_use]
    pub fn pod(&self) -> &Arc<PodFacts> {
        &self.pod
    }

    /// What the pod has in common with others.
    #[must_use]
    pub fn kind(&self) -> FactsKind {
        self.kind
    }
}

impl PodSpec {
    /// What the pod is there for.
    #[must_use]
    pub fn carrier(&self) -> Carrier {
        match self.vm {
            Some(_) => Carrier::Machine,
            None => Carrier::Pod,
        }
    }
}

impl Pod {
    /// The node that the pod is bound to, if it is.
    #[must_use]
    pub fn node(&self) -> Option<NodeId> {
        match self.phase {
            Phase::Bound { node, .. } => Some(node),
            Phase::Pending { .. } => None,
        }
    }
}
