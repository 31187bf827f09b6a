//! The way out: the cheapest changes that would start a group that waits.
//!
//! Candidates are found by looking at nodes and queues; each is applied to a draft, a whole cycle is
//! run there, and what doesn't start the group is dropped. Invariant: a change that is told is true:
//! applied to the snapshot as it is, the next cycle starts the group, whoever else waits. Searches are
//! bounded by cycles, so of a crowded cluster not every way out may be found. Not here: words, and how
//! long it will take (that is another matter).

use serde::Serialize;

use crate::amount::{Bytes, MilliCpu};
use crate::id::{GpuModelId, NodeId, PodId, QueueId};
use crate::limits;
use crate::model::draft::Draft;
use crate::model::pod::PodSpec;
use crate::model::request::{GpuRequest, Request};
use crate::model::snapshot::{Alike, GroupKey, Snapshot};
use crate::quota::{Beside, Meter, Quota};
use crate::sched::cycle;
use crate::sched::explain::Hindrance;
use crate::sched::fit;
use crate::sched::gate::Gate;
use crate::sched::profile::{Effort, Profile};
use crate::stream::Stream;
use crate::time::Time;

mod ask;
mod ends;
mod quota;
mod words;

/// A change that would start a group that waits: its oldest pod, or enough members of its gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// The rest of the gang is submitted.
    Complete {
        /// Members that are missing.
        missing: u32,
    },
    /// It accepts GPUs of one more model.
    OtherModel {
        /// The model.
        model: GpuModelId,
    },
    /// Each pod asks for less CPU or memory.
    LessHost {
        /// CPU to ask for.
        cpu: MilliCpu,
        /// Memory to ask for.
        memory: Bytes,
    },
    /// Each pod asks for less GPU, or for it in a form that is free.
    LessGpu {
        /// What to ask for.
        gpu: GpuRequest,
    },
    /// Work that runs ends.
    Ends {
        /// The pods of one job, or of the fewest jobs that are enough together.
        pods: Vec<PodId>,
    },
    /// Quota is raised.
    MoreQuota {
        /// What has to be raised, and by how much at least.
        raises: Vec<Raise>,
    },
}

/// A rule of a queue and by how much it would have to rise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Raise {
    /// The queue.
    pub queue: QueueId,
    /// The kind of amount.
    pub meter: Meter,
    /// Which of its rules.
    pub rule: Rule,
    /// By how much, in the unit of the meter.
    pub by: i64,
}

/// A rule of a queue that may stand in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Its limit.
    Limit,
    /// What it may borrow.
    Borrowing,
    /// Its own part.
    Nominal,
}

/// A search for ways out for the groups of one snapshot.
#[derive(Debug)]
pub struct WaysOut<'a> {
    snapshot: &'a Snapshot,
    profile: &'a Profile,
    now: Time,
    stream: Stream,
    /// Cycles that may still be run for the group at hand.
    cycles: usize,
}

/// The group at hand.
#[derive(Debug, Clone)]
struct Waiting {
    key: GroupKey,
    /// The pods that would have to start at once, oldest first.
    pods: Vec<PodId>,
    /// Of the oldest.
    spec: PodSpec,
    request: Request,
    /// Nodes that Kubernetes' filters leave open for it.
    open: Vec<NodeId>,
    /// Those and the ones that would be open once others have left.
    may_open: Vec<NodeId>,
}

impl<'a> WaysOut<'a> {
    /// A search over `snapshot`; `stream` is the one that the next cycle would draw from.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot, profile: &'a Profile, now: Time, stream: &Stream) -> Self {
        Self {
            snapshot,
            profile,
            now,
            stream: stream.clone(),
            cycles: 0,
        }
    }

    /// What would start the group `key`, which waits because of `hindrance`: at most one change of
    /// each kind, what costs the user least before what others would have to do.
    #[must_use]
    pub fn for_group(&mut self, key: &GroupKey, hindrance: Hindrance) -> Vec<Change> {
        if let Hindrance::GangIncomplete { have, need } = hindrance {
            let missing = need.saturating_sub(have);
            return vec![Change::Complete { missing }];
        }
        let Some(waiting) = Waiting::of(self.snapshot, key) else {
            return Vec::new();
        };
        self.cycles = limits::NEXT_CYCLES_MAX;
        let families: [fn(&Self, &Waiting) -> Vec<Change>; 5] = match hindrance.is_quota() {
            true => [
                Self::other_models,
                Self::less_gpu,
                Self::ends,
                Self::more_quota,
                Self::less_host,
            ],
            false => [
                Self::other_models,
                Self::less_host,
                Self::less_gpu,
                Self::ends,
                Self::more_quota,
            ],
        };
        let mut found = Vec::new();
        for candidates in families {
            let candidates = candidates(self, &waiting).into_iter();
            let mut promising = candidates.take(limits::NEXT_CANDIDATES_MAX);
            found.extend(promising.find(|change| self.is_true(&waiting, change)));
        }
        found
    }

    /// Whether the next cycle would start the group if `change` were made now.
    fn is_true(&mut self, waiting: &Waiting, change: &Change) -> bool {
        let Some(left) = self.cycles.checked_sub(1) else {
            return false;
        };
        self.cycles = left;
        let mut draft = Draft::over(self.snapshot);
        let Some(pods) = waiting.with(change, &mut draft, self.now) else {
            return false;
        };
        let mut stream = self.stream.clone();
        let (profile, now) = (self.profile, self.now);
        let decisions = cycle::run(&draft, profile, Effort::Place, now, &mut stream);
        let started = |pod: &&PodId| decisions.binds.iter().any(|bind| bind.pod == **pod);
        pods.iter().filter(started).count() >= waiting.pods.len()
    }

    fn other_models(&self, waiting: &Waiting) -> Vec<Change> {
        let models = ask::other_models(self.snapshot, waiting);
        let change = |model| Change::OtherModel { model };
        models.into_iter().map(change).collect()
    }

    fn less_host(&self, waiting: &Waiting) -> Vec<Change> {
        let less = ask::less_host(self.snapshot, waiting);
        let change = |(cpu, memory)| Change::LessHost { cpu, memory };
        less.into_iter().map(change).collect()
    }

    fn less_gpu(&self, waiting: &Waiting) -> Vec<Change> {
        let less = ask::less_gpu(self.snapshot, waiting);
        let change = |gpu| Change::LessGpu { gpu };
        less.into_iter().map(change).collect()
    }

    fn ends(&self, waiting: &Waiting) -> Vec<Change> {
        let jobs = ends::candidates(self.snapshot, waiting, self.now);
        let change = |pods| Change::Ends { pods };
        jobs.into_iter().map(change).collect()
    }

    fn more_quota(&self, waiting: &Waiting) -> Vec<Change> {
        let raises = quota::raises(self.snapshot, waiting);
        let change = |raises| Change::MoreQuota { raises };
        raises.into_iter().map(change).collect()
    }
}

impl Waiting {
    fn of(snapshot: &Snapshot, key: &GroupKey) -> Option<Self> {
        let group = snapshot.pending().get(key)?;
        let need = match key.alike {
            Alike::Task { .. } => 1,
            Alike::Gang { gang } => snapshot.gang(gang).needed_at_once() as usize,
        };
        let pods: Vec<PodId> = group.values().take(need).copied().collect();
        let spec = snapshot.pod(*pods.first()?)?.spec.clone();
        let gate = Gate::new(snapshot.facts(), spec.facts.as_ref());
        let nodes = || (0..snapshot.nodes().len()).map(NodeId::at);
        let open = nodes().filter(|&node| gate.lets_in(snapshot, node));
        let may_open = nodes().filter(|&node| gate.may_let_in(snapshot, node));
        let (open, may_open) = (open.collect(), may_open.collect());
        drop(gate);
        (pods.len() == need).then(|| Self {
            key: *key,
            request: *snapshot.catalog().task(spec.task),
            pods,
            spec,
            open,
            may_open,
        })
    }

    /// Makes `change` in `draft` and says which pods wait for their start there; `None` if it can't
    /// be made.
    fn with(&self, change: &Change, draft: &mut Draft, now: Time) -> Option<Vec<PodId>> {
        let request = match change {
            Change::Complete { .. } => return None,
            Change::OtherModel { model } => Request {
                models: self.request.models.with(*model),
                ..self.request
            },
            Change::LessHost { cpu, memory } => Request {
                cpu: *cpu,
                memory: *memory,
                ..self.request
            },
            Change::LessGpu { gpu } => Request {
                gpu: *gpu,
                ..self.request
            },
            Change::Ends { pods } => {
                for &pod in pods {
                    draft.remove_pod(pod, now).ok()?;
                }
                return Some(self.pods.clone());
            }
            Change::MoreQuota { raises } => {
                for raise in raises {
                    raise.make(draft);
                }
                return Some(self.pods.clone());
            }
        };
        self.with_request(request, draft, now)
    }

    /// Lets the pods ask for `request` instead: those of a gang all do, of others the oldest.
    fn with_request(&self, request: Request, draft: &mut Draft, now: Time) -> Option<Vec<PodId>> {
        let all: Vec<PodId> = match self.key.alike {
            Alike::Task { .. } => self.pods.clone(),
            Alike::Gang { .. } => draft.pending().get(&self.key)?.values().copied().collect(),
        };
        let task = draft.catalog_mut().intern_task(request);
        let mut pods = Vec::with_capacity(all.len());
        for pod in all {
            let gone = draft.remove_pod(pod, now).ok()?;
            let spec = PodSpec {
                task,
                ..gone.spec.clone()
            };
            pods.push(draft.add_pod(spec).ok()?);
        }
        Some(pods)
    }

    /// Whether the queue tree has room for all pods of the group in `draft`.
    fn has_quota(&self, draft: &Snapshot) -> bool {
        self.demand(draft).into_iter().all(|(meter, amount)| {
            let room = draft.room_for(self.spec.queue, meter, amount, Beside::WhatIsHeld);
            room.is_ok()
        })
    }

    /// What all pods of the group are charged, by meter.
    fn demand(&self, snapshot: &Snapshot) -> Vec<(usize, i64)> {
        let (catalog, meters) = (snapshot.catalog(), snapshot.meters());
        let each = meters.demand(catalog, &self.request, self.spec.carrier());
        let n = i64::try_from(self.pods.len()).expect("gangs are bounded");
        let all = each.into_iter().map(|amount| amount.saturating_mul(n));
        all.enumerate().collect()
    }
}

impl Raise {
    /// The rule as it would be.
    #[must_use]
    pub fn of(&self, quota: Quota) -> Quota {
        let raised = |value: Option<i64>| Some(value.unwrap_or(0).max(0).saturating_add(self.by));
        match self.rule {
            Rule::Limit => Quota {
                limit: raised(quota.limit),
                ..quota
            },
            Rule::Borrowing => Quota {
                borrowing_limit: raised(quota.borrowing_limit),
                ..quota
            },
            Rule::Nominal => Quota {
                nominal: raised(quota.nominal),
                ..quota
            },
        }
    }

    fn make(&self, draft: &mut Draft) {
        let Some(at) = draft.meters().position(self.meter) else {
            return;
        };
        let quota = self.of(draft.queue(self.queue).account(at).quota);
        draft.set_quota(self.queue, self.meter, quota);
    }
}

/// Whether one of `nodes` has room for `request`.
fn fits_among(snapshot: &Snapshot, nodes: &[NodeId], request: &Request) -> bool {
    nodes.iter().any(|&id| {
        let node = snapshot.node(id);
        fit::fits(snapshot.catalog(), request, &node.shape, &node.state)
    })
}
