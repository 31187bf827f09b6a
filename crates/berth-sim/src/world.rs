//! A cluster on virtual time: it plays a workload and its faults, and carries out decisions.
//!
//! Invariants: events apply in the order of time, then of scheduling; an end is refused once the
//! start that it belongs to has been undone; what has finished leaves no record behind, so memory
//! follows the pods alive and not the length of the run. Not here: decisions (the core's), and
//! figures over a run (the report's).
//!
//! What a fault does to work: batch pods and gangs start anew; notebooks and machines run on for
//! what was left of their time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;

use berth_core::amount::GpuUnits;
use berth_core::id::{GangId, NodeId, PodId, QueueId, UserId};
use berth_core::model::draft::Draft;
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::decisions::{Decisions, EvictCause};
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::sched::scheduler::Cluster;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use crate::faults::{FaultPlan, FaultRates};
use crate::target::target_of;
use crate::workload::{Job, Workload};
use crate::world::founding::Names;
use crate::world::gantt::Gantt;
use crate::world::log::Log;
use crate::world::outlook::{Kind, Outlook, kind_of};
use crate::world::tally::{Cause, Tally};

mod events;
pub mod founding;
pub mod gantt;
mod life;
mod log;
pub mod mig;
mod outlook;
pub mod tally;

pub use founding::{FoundError, Planned};

/// What may be done to a device from outside of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The node is lost, and what ran on it.
    LoseNode(NodeId),
    /// The node takes nothing new; what runs goes on.
    CordonNode(NodeId),
    /// The node takes nothing new, and what ran on it starts elsewhere.
    DrainNode(NodeId),
    /// The node takes work again.
    ReturnNode(NodeId),
    /// The GPU fails, and what ran on it is lost.
    FailGpu(NodeId, u8),
    /// The GPU takes work again.
    RepairGpu(NodeId, u8),
}

/// Who brought an event about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// The fault plan: the next one follows.
    Plan,
    /// A caller.
    Caller,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    PodEnds { pod: PodId, epoch: u32 },
    GangEnds { gang: GangId, epoch: u32 },
    NodeLost { node: NodeId, by: Origin },
    NodeCordoned { node: NodeId },
    NodeDrained { node: NodeId },
    NodeBack { node: NodeId, by: Origin },
    GpuFailed { node: NodeId, gpu: u8, by: Origin },
    GpuRepaired { node: NodeId, gpu: u8, by: Origin },
}

/// Where a pod is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Submitted, never started.
    New,
    /// Holds its place since then.
    Running { since: Time, units: GpuUnits },
    /// Lost its place.
    Evicted,
}

#[derive(Debug, Clone)]
struct LivePod {
    id: PodId,
    job: Arc<Planned>,
    gang: Option<GangId>,
    stage: Stage,
    /// Counts starts, so that the end of an undone start is refused.
    epoch: u32,
    /// What is left to run.
    left: Option<Span>,
}

#[derive(Debug, Clone)]
struct LiveGang {
    job: Arc<Planned>,
    members: Vec<PodId>,
    /// The epoch of the run under way; `None` while too few members hold a place.
    running: Option<u32>,
    epoch: u32,
}

#[derive(Debug, Clone)]
struct FaultSource {
    rates: FaultRates,
    nodes: Vec<Stream>,
    gpus: Vec<Vec<Stream>>,
}

/// A cluster on virtual time.
#[derive(Debug, Clone)]
pub struct World {
    names: Names,
    future: VecDeque<Planned>,
    /// Jobs that came after the beginning, by arrival.
    late: BTreeMap<(Time, Arc<str>), Job>,
    pods_planned: u64,
    heap: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sequence: u64,
    outlook: Outlook,
    pods: Vec<Option<LivePod>>,
    gangs: BTreeMap<GangId, LiveGang>,
    faults: Option<FaultSource>,
    tally: Tally,
    gantt: Gantt,
    log: Log,
}

impl World {
    /// Founds the world of `workload`, with nobody at work yet, and the index that shows it.
    ///
    /// # Errors
    /// If the workload can't be played as it stands.
    pub fn found(workload: &Workload) -> Result<(Self, Draft), FoundError> {
        let mut draft = Draft::new();
        let mut names = Names::found(workload, &mut draft)?;
        let mut future = VecDeque::with_capacity(workload.jobs.len());
        for job in &workload.jobs {
            future.push_back(names.plan(job, &mut draft)?);
        }
        let gantt = Gantt::over(&draft);
        let pods_planned = future.iter().map(|job| u64::from(job.pods)).sum();
        let world = Self {
            names,
            future,
            late: BTreeMap::new(),
            pods_planned,
            heap: BinaryHeap::new(),
            sequence: 0,
            outlook: Outlook::default(),
            pods: Vec::new(),
            gangs: BTreeMap::new(),
            faults: None,
            tally: Tally::default(),
            gantt,
            log: Log::default(),
        };
        Ok((world, draft))
    }

    /// Lets nodes and GPUs fail as `plan` says, from `start` on.
    pub fn plan_faults(&mut self, plan: FaultPlan, index: &Snapshot, stream: &Stream, start: Time) {
        let Some(rates) = plan.rates() else { return };
        let (mut nodes, mut gpus) = (Vec::new(), Vec::new());
        for (at, node) in index.nodes().iter().enumerate() {
            let id = NodeId::at(at);
            let own = stream.child(&node.name);
            let mut losses = own.child("node");
            let event = Event::NodeLost {
                node: id,
                by: Origin::Plan,
            };
            self.push(start + rates.node_loss(&mut losses), event);
            nodes.push(losses);
            let mut cards = Vec::new();
            for gpu in 0..node.shape.gpus().len() {
                let mut failures = own.child("gpu").child_n(gpu as u64);
                let gpu = u8::try_from(gpu).expect("nodes are bounded to 32 GPUs");
                let event = Event::GpuFailed {
                    node: id,
                    gpu,
                    by: Origin::Plan,
                };
                self.push(start + rates.gpu_failure(&mut failures), event);
                cards.push(failures);
            }
            gpus.push(cards);
        }
        self.faults = Some(FaultSource { rates, nodes, gpus });
    }

    /// Adds a job to what is to come; one that should have arrived already arrives with the next
    /// news.
    ///
    /// # Errors
    /// If the job names models or profiles that `index` doesn't have, or is out of bounds.
    pub fn submit(&mut self, job: Job, index: &Snapshot) -> Result<(), FoundError> {
        self.names.check(&job, index.catalog())?;
        let key = (job.arrival, job.name.as_str().into());
        if self.late.contains_key(&key) {
            return Err(FoundError::Duplicate {
                kind: "jobs",
                name: job.name,
            });
        }
        self.pods_planned += u64::from(job.pods);
        self.late.insert(key, job);
        Ok(())
    }

    /// Brings trouble, or its end, at a set time.
    pub fn trouble(&mut self, at: Time, trouble: Trouble) {
        let by = Origin::Caller;
        let event = match trouble {
            Trouble::LoseNode(node) => Event::NodeLost { node, by },
            Trouble::CordonNode(node) => Event::NodeCordoned { node },
            Trouble::DrainNode(node) => Event::NodeDrained { node },
            Trouble::ReturnNode(node) => Event::NodeBack { node, by },
            Trouble::FailGpu(node, gpu) => Event::GpuFailed { node, gpu, by },
            Trouble::RepairGpu(node, gpu) => Event::GpuRepaired { node, gpu, by },
        };
        self.push(at, event);
    }

    /// Whether nothing can happen any more: nobody will arrive, nothing that runs will end, and
    /// nothing out of order will come back. Faults alone don't keep a world going.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.nobody_comes() && self.outlook.is_over()
    }

    /// The running totals.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Pods that the workload has in all, submitted or not.
    #[must_use]
    pub fn pods_planned(&self) -> u64 {
        self.pods_planned
    }

    /// When the first job that is still to come arrives; `None` if none is.
    #[must_use]
    pub fn first_arrival(&self) -> Option<Time> {
        self.next_arrival()
    }

    /// The mix of tasks of all jobs still to come, each pod counted once.
    #[must_use]
    pub fn target(&self, index: &Snapshot) -> TargetWorkload {
        let catalog = index.catalog();
        let demand = self
            .future
            .iter()
            .map(|job| (catalog.task(job.task), u64::from(job.pods)));
        target_of(demand, catalog)
    }

    /// When the last job of the workload arrives; `None` once all have.
    #[must_use]
    pub fn last_arrival(&self) -> Option<Time> {
        let late = self.late.last_key_value().map(|((at, _), _)| *at);
        self.future.back().map(|job| job.arrival).max(late)
    }

    /// The job of a pod and, where it runs and will end by itself, when.
    #[must_use]
    pub fn job_of(&self, pod: PodId) -> Option<(&Planned, Option<Time>)> {
        let live = self.live(pod)?;
        let end = match (live.stage, live.left, live.gang) {
            (Stage::Running { since, .. }, Some(left), None) => Some(since + left),
            _ => None,
        };
        Some((&live.job, end))
    }

    /// Entries of the event log so far.
    #[must_use]
    pub fn log_entries(&self) -> u64 {
        self.log.entries()
    }

    /// The hash of the event log so far.
    #[must_use]
    pub fn log_hash(&self) -> u64 {
        self.log.hash()
    }

    /// Pods that are alive, with who submitted them and since when they run, if they do.
    pub(crate) fn alive(&self) -> impl Iterator<Item = (&Planned, Option<Time>)> {
        self.pods.iter().flatten().map(|live| {
            let since = match live.stage {
                Stage::Running { since, .. } => Some(since),
                Stage::New | Stage::Evicted => None,
            };
            (&*live.job, since)
        })
    }

    /// Each user in each queue, by position of the claim.
    pub(crate) fn claims(&self) -> Vec<(QueueId, UserId)> {
        self.names.claims()
    }

    pub(crate) fn gantt(&self) -> &Gantt {
        &self.gantt
    }

    pub(crate) fn settle(&mut self, now: Time) {
        self.tally.advance(now);
    }

    fn live(&self, id: PodId) -> Option<&LivePod> {
        self.pods
            .get(id.slot as usize)?
            .as_ref()
            .filter(|live| live.id == id)
    }

    fn live_mut(&mut self, id: PodId) -> Option<&mut LivePod> {
        self.pods
            .get_mut(id.slot as usize)?
            .as_mut()
            .filter(|live| live.id == id)
    }

    fn push(&mut self, at: Time, event: Event) {
        self.outlook.expect(kind_of(event));
        self.heap.push(Reverse((at, self.sequence, event)));
        self.sequence += 1;
    }

    fn nobody_comes(&self) -> bool {
        self.future.is_empty() && self.late.is_empty()
    }

    /// Whether an event no longer happens: the end of a start that has been undone, or a fault of
    /// the plan after load has ended.
    fn no_longer_happens(&self, event: Event) -> bool {
        match event {
            Event::PodEnds { pod, epoch } => !self.live(pod).is_some_and(|live| {
                live.epoch == epoch && matches!(live.stage, Stage::Running { .. })
            }),
            Event::GangEnds { gang, epoch } => self
                .gangs
                .get(&gang)
                .is_none_or(|gang| gang.running != Some(epoch)),
            Event::NodeLost { .. } | Event::GpuFailed { .. } => {
                kind_of(event) == Kind::Fault && self.nobody_comes() && self.outlook.nothing_ends()
            }
            Event::NodeCordoned { .. }
            | Event::NodeDrained { .. }
            | Event::NodeBack { .. }
            | Event::GpuRepaired { .. } => false,
        }
    }

    /// The time of the next event that isn't stale, with the stale ones before it dropped.
    fn next_event(&mut self) -> Option<Time> {
        while let Some(&Reverse((at, _, event))) = self.heap.peek() {
            if !self.no_longer_happens(event) {
                return Some(at);
            }
            self.heap.pop();
        }
        None
    }

    fn next_arrival(&self) -> Option<Time> {
        let planned = self.future.front().map(|job| job.arrival);
        let late = self
            .late
            .first_key_value()
            .map(|((at, _), _)| (*at).max(self.tally.now));
        match (planned, late) {
            (Some(planned), Some(late)) => Some(planned.min(late)),
            (planned, late) => planned.or(late),
        }
    }
}

impl Cluster for World {
    fn observe(&mut self, index: &mut Draft, until: Time) -> Option<Time> {
        if self.is_over() {
            return None;
        }
        let now = match (self.next_event(), self.next_arrival()) {
            (Some(event), Some(arrival)) => event.min(arrival),
            (event, arrival) => event.or(arrival)?,
        };
        if now > until {
            return None;
        }
        self.tally.advance(now);
        while self.next_event() == Some(now) {
            let Reverse((_, _, event)) = self.heap.pop().expect("the next event was just seen");
            self.outlook.strike_off(kind_of(event));
            self.apply(index, event, now);
        }
        self.arrivals(index, now);
        Some(now)
    }

    fn pass(&mut self, now: Time) {
        self.tally.advance(now);
    }

    fn act(&mut self, index: &Snapshot, decisions: &Decisions, now: Time) {
        for evict in &decisions.evictions {
            let cause = match evict.cause {
                EvictCause::GangStranded => Cause::GangStranded,
                EvictCause::Preempted => Cause::Preempted,
                EvictCause::Reclaimed => Cause::Reclaimed,
            };
            self.lose_place(index, evict.pod, cause, now);
        }
        let takers = decisions.evictions.iter().filter_map(|evict| evict.by);
        self.tally.room.evicted += takers.clone().count() as u64;
        let takers: BTreeSet<PodId> = takers.collect();
        let started = decisions
            .binds
            .iter()
            .filter(|bind| takers.contains(&bind.pod));
        self.tally.room.started += started.count() as u64;
        for bind in &decisions.binds {
            let pod = index.pod(bind.pod).expect("the index shows the decisions");
            self.start(bind.pod, bind.node, &bind.grant, &pod.spec.name, now);
            if let Some(gang) = pod.spec.gang {
                self.start_gang(index, gang, now);
            }
        }
    }
}
