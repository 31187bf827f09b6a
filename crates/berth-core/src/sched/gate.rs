//! Which nodes Kubernetes' filters leave open for a pod.
//!
//! Invariant: a pod without facts is kept out nowhere, and one with facts goes only where every filter
//! lets it. Filters look at the picture that the gate was made of; whoever changes that makes another
//! gate. Not here: room and GPUs, which [`crate::sched::fit`] looks after.

use crate::filter::cluster::Cluster;
use crate::filter::verdict::{Reason, Remedy};
use crate::filter::{self, Answer, Check, Start};
use crate::id::NodeId;
use crate::model::pod::Facts;
use crate::model::snapshot::Snapshot;

/// The nodes that are open for one pod.
#[derive(Debug)]
pub(super) enum Gate<'a> {
    /// Every node: nobody has facts.
    Open,
    /// None, whatever becomes of nodes.
    Shut(Shut),
    /// Those that the filters let through.
    Guarded(&'a Cluster, Box<Check<'a>>),
}

/// Why no node is open.
#[derive(Debug)]
pub(super) struct Shut {
    /// The filter that says so.
    pub(super) filter: &'static str,
    /// Why; `None` where it has no answer.
    pub(super) reason: Option<Reason>,
}

/// What filters say of one node.
#[derive(Debug)]
pub(super) enum Opening {
    Open,
    /// It would be open if other pods left.
    AfterOthers(Shut),
    Shut(Shut),
}

impl<'a> Gate<'a> {
    /// The gate of a pod with these facts in `cluster`.
    pub(super) fn new(cluster: &'a Cluster, facts: Option<&'a Facts>) -> Self {
        let Some(facts) = facts else {
            return Self::Open;
        };
        match filter::start(cluster, facts.pod()) {
            Start::Open(check) => Self::Guarded(cluster, Box::new(check)),
            Start::Refused(objection) => Self::Shut(Shut {
                filter: objection.filter,
                reason: Some(objection.what.reason),
            }),
            Start::Failed(objection) => Self::Shut(Shut {
                filter: objection.filter,
                reason: None,
            }),
        }
    }

    /// Whether every node is open.
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// Whether a node is open now.
    pub(super) fn lets_in(&self, snapshot: &Snapshot, node: NodeId) -> bool {
        self.is_open() || matches!(self.ask(snapshot, node), Opening::Open)
    }

    /// Whether a node is open now or would be after others have left.
    pub(super) fn may_let_in(&self, snapshot: &Snapshot, node: NodeId) -> bool {
        self.is_open() || !matches!(self.ask(snapshot, node), Opening::Shut(_))
    }

    /// What filters say of a node.
    pub(super) fn ask(&self, snapshot: &Snapshot, node: NodeId) -> Opening {
        let shut = |filter, reason| Shut { filter, reason };
        match self {
            Self::Open => Opening::Open,
            Self::Shut(Shut { filter, reason }) => Opening::Shut(shut(filter, reason.clone())),
            Self::Guarded(cluster, check) => {
                let Some(entry) = cluster.node(&snapshot.node(node).name) else {
                    return Opening::Shut(shut("", None));
                };
                match check.ask(entry) {
                    Answer::Fits => Opening::Open,
                    Answer::Refused(objection) => {
                        let shut = shut(objection.filter, Some(objection.what.reason));
                        match objection.what.remedy {
                            Remedy::PodsLeave => Opening::AfterOthers(shut),
                            Remedy::SomethingElse => Opening::Shut(shut),
                        }
                    }
                    Answer::Failed(objection) => Opening::Shut(shut(objection.filter, None)),
                }
            }
        }
    }
}
