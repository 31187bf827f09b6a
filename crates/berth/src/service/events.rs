//! What happened lately: starts and evictions as decided, faults and repairs as seen.
//!
//! Invariant: the ring is bounded; what falls out of it is counted elsewhere. Not here: the log that
//! a run is compared by (that is the cluster's).

use std::collections::VecDeque;
use std::sync::Arc;

use berth_core::cow::CowVec;
use berth_core::model::gpu::GpuHealth;
use berth_core::model::node::{Node, Readiness};
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::decisions::EvictCause;
use berth_core::sched::scheduler::Step;
use berth_core::time::Time;

/// Events kept: some screens full.
const EVENTS_MAX: usize = 100;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// When, in virtual time.
    pub(crate) at: Time,
    /// What.
    pub(crate) kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A pod got its place.
    Started {
        /// The pod.
        pod: Arc<str>,
        /// Where.
        node: Arc<str>,
    },
    /// The scheduler took a pod's place away.
    Evicted {
        /// The pod.
        pod: Arc<str>,
        /// Why.
        cause: EvictCause,
    },
    /// A node takes new work, or no longer does.
    Node {
        /// The node.
        node: Arc<str>,
        /// What it is now.
        readiness: Readiness,
    },
    /// The health of a GPU changed.
    Gpu {
        /// The node.
        node: Arc<str>,
        /// Its index there.
        gpu: usize,
        /// What it is now.
        health: GpuHealth,
    },
}

/// The latest events.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    events: VecDeque<Event>,
}

impl Ring {
    /// Notes what a step decided; `index` already shows it.
    pub(crate) fn note_step(&mut self, step: &Step, index: &Snapshot) {
        let at = step.now;
        let name = |pod| index.pod(pod).map(|pod| Arc::clone(&pod.spec.name));
        for evict in &step.decisions.evictions {
            if let Some(pod) = name(evict.pod) {
                self.push(Event {
                    at,
                    kind: EventKind::Evicted {
                        pod,
                        cause: evict.cause,
                    },
                });
            }
        }
        let skipped = step.decisions.binds.len().saturating_sub(EVENTS_MAX);
        for bind in step.decisions.binds.iter().skip(skipped) {
            if let Some(pod) = name(bind.pod) {
                let node = Arc::clone(&index.node(bind.node).name);
                self.push(Event {
                    at,
                    kind: EventKind::Started { pod, node },
                });
            }
        }
    }

    /// Notes how nodes and GPUs differ from `before`.
    pub(crate) fn note_nodes(&mut self, at: Time, before: &CowVec<Arc<Node>>, now: &Snapshot) {
        for (index, node) in now.nodes().iter().enumerate() {
            let Some(old) = before.get(index) else {
                continue;
            };
            if Arc::ptr_eq(old, node) {
                continue;
            }
            if old.state.readiness != node.state.readiness {
                let (node, readiness) = (Arc::clone(&node.name), node.state.readiness);
                self.push(Event {
                    at,
                    kind: EventKind::Node { node, readiness },
                });
            }
            for (gpu, (old, new)) in old.state.gpus.iter().zip(&node.state.gpus).enumerate() {
                if old.health != new.health {
                    let (node, health) = (Arc::clone(&node.name), new.health);
                    self.push(Event {
                        at,
                        kind: EventKind::Gpu { node, gpu, health },
                    });
                }
            }
        }
    }

    /// The events, newest first.
    pub(crate) fn newest_first(&self) -> Arc<[Event]> {
        self.events.iter().rev().cloned().collect()
    }

    fn push(&mut self, event: Event) {
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}
