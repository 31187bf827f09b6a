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
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use berth_core::amount::GpuUnits;
use berth_core::id::{GangId, NodeId, PodId};
use berth_core::model::draft::Draft;
use berth_core::model::gpu::{GpuGrant, GpuHealth};
use berth_core::model::node::Readiness;
use berth_core::model::pod::PodSpec;
use berth_core::model::request::GpuRequest;
use berth_core::model::snapshot::Snapshot;
use berth_core::model::vm::{Migratability, Vm};
use berth_core::sched::decisions::{Decisions, EvictCause};
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::sched::scheduler::Cluster;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use crate::faults::{FaultPlan, FaultRates};
use crate::target::target_of;
use crate::workload::{Job, JobKind, Workload};
use crate::world::founding::Names;
use crate::world::gantt::Gantt;
use crate::world::log::{Entry, Log};
use crate::world::tally::{Cause, Tally};

pub mod founding;
pub mod gantt;
mod log;
pub mod mig;
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
    /// Events in the heap that can make a difference even if nothing else happens: all but plan
    /// faults and ends of undone starts.
    promises: usize,
    pods: Vec<Option<LivePod>>,
    n_pods: usize,
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
            promises: 0,
            pods: Vec::new(),
            n_pods: 0,
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
        self.future.is_empty() && self.late.is_empty() && self.promises == 0
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
        if !is_spontaneous(event) {
            self.promises += 1;
        }
        self.heap.push(Reverse((at, self.sequence, event)));
        self.sequence += 1;
    }

    /// Whether an end belongs to a start that has been undone.
    fn is_stale(&self, event: Event) -> bool {
        match event {
            Event::PodEnds { pod, epoch } => !self.live(pod).is_some_and(|live| {
                live.epoch == epoch && matches!(live.stage, Stage::Running { .. })
            }),
            Event::GangEnds { gang, epoch } => self
                .gangs
                .get(&gang)
                .is_none_or(|gang| gang.running != Some(epoch)),
            Event::NodeLost { .. }
            | Event::NodeCordoned { .. }
            | Event::NodeDrained { .. }
            | Event::NodeBack { .. }
            | Event::GpuFailed { .. }
            | Event::GpuRepaired { .. } => false,
        }
    }

    /// The time of the next event that isn't stale, with the stale ones before it dropped.
    fn next_event(&mut self) -> Option<Time> {
        while let Some(&Reverse((at, _, event))) = self.heap.peek() {
            if !self.is_stale(event) {
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

    fn apply(&mut self, index: &mut Draft, event: Event, now: Time) {
        match event {
            Event::PodEnds { pod, .. } => {
                self.promises -= 1;
                self.finish(index, pod, now);
            }
            Event::GangEnds { gang, .. } => {
                self.promises -= 1;
                let gang = self
                    .gangs
                    .remove(&gang)
                    .expect("a stale end was dropped before");
                for member in gang.members {
                    self.finish(index, member, now);
                }
            }
            Event::NodeLost { node, by } => {
                self.close_node(index, node, Readiness::Lost, now);
                self.evict_all(index, node, Cause::NodeLost, now);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let repair = source.rates.node_return(&mut source.nodes[node.index()]);
                    self.push(now + repair, Event::NodeBack { node, by });
                } else {
                    self.promises -= 1;
                }
            }
            Event::NodeCordoned { node } => {
                self.promises -= 1;
                self.close_node(index, node, Readiness::Cordoned, now);
            }
            Event::NodeDrained { node } => {
                self.promises -= 1;
                self.close_node(index, node, Readiness::Cordoned, now);
                self.evict_all(index, node, Cause::NodeDrained, now);
            }
            Event::NodeBack { node, by } => {
                self.promises -= 1;
                self.close_node(index, node, Readiness::Ready, now);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let next = source.rates.node_loss(&mut source.nodes[node.index()]);
                    self.push(now + next, Event::NodeLost { node, by });
                }
            }
            Event::GpuFailed { node, gpu, by } => {
                self.fail_gpu(index, node, gpu, now);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let stream = &mut source.gpus[node.index()][usize::from(gpu)];
                    let repair = source.rates.gpu_repair(stream);
                    self.push(now + repair, Event::GpuRepaired { node, gpu, by });
                } else {
                    self.promises -= 1;
                }
            }
            Event::GpuRepaired { node, gpu, by } => {
                self.promises -= 1;
                index.set_gpu_health(node, usize::from(gpu), GpuHealth::Healthy);
                self.log
                    .add(now, Entry::Gpu, [u64::from(node.0), u64::from(gpu), 1]);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let stream = &mut source.gpus[node.index()][usize::from(gpu)];
                    let next = source.rates.gpu_failure(stream);
                    self.push(now + next, Event::GpuFailed { node, gpu, by });
                }
            }
        }
    }

    fn close_node(&mut self, index: &mut Draft, node: NodeId, readiness: Readiness, now: Time) {
        index.set_readiness(node, readiness);
        self.log
            .add(now, Entry::Node, [u64::from(node.0), readiness as u64, 0]);
    }

    fn evict_all(&mut self, index: &mut Draft, node: NodeId, cause: Cause, now: Time) {
        let placements = &index.node(node).placements;
        let pods: Vec<PodId> = placements.iter().map(|placement| placement.pod).collect();
        for pod in pods {
            self.evict(index, pod, cause, now);
        }
    }

    fn fail_gpu(&mut self, index: &mut Draft, node: NodeId, gpu: u8, now: Time) {
        index.set_gpu_health(node, usize::from(gpu), GpuHealth::Failed);
        self.log
            .add(now, Entry::Gpu, [u64::from(node.0), u64::from(gpu), 0]);
        let tenants = index.node(node).tenants(usize::from(gpu));
        let pods: Vec<PodId> = tenants.map(|placement| placement.pod).collect();
        for pod in pods {
            self.evict(index, pod, Cause::GpuFailed, now);
        }
    }

    /// Takes a pod's place away in the index and here.
    fn evict(&mut self, index: &mut Draft, pod: PodId, cause: Cause, now: Time) {
        index
            .evict(pod, now)
            .expect("a placement belongs to a bound pod");
        self.lose_place(index, pod, cause, now);
    }

    /// Notes that a pod has lost its place, which the index already shows.
    fn lose_place(&mut self, index: &Snapshot, pod: PodId, cause: Cause, now: Time) {
        self.log
            .add(now, Entry::Evicted, [pod_word(pod), cause as u64, 0]);
        *self.tally.evictions.entry(cause).or_default() += 1;
        self.stop(pod, now);
        let live = self.live_mut(pod).expect("a bound pod is alive");
        live.stage = Stage::Evicted;
        let gang = live.gang;
        let ends_by_itself = gang.is_none() && live.left.is_some();
        if ends_by_itself {
            self.promises -= 1;
        }
        let live = self.live_mut(pod).expect("a bound pod is alive");
        if matches!(live.job.kind, JobKind::Batch | JobKind::Gang) {
            live.left = live.job.run;
        }
        let Some(id) = gang else { return };
        let gang = self
            .gangs
            .get_mut(&id)
            .expect("a live member's gang is alive");
        let too_few = index.gang(id).bound < gang.job.pods_min;
        if too_few && gang.running.take().is_some() && gang.job.run.is_some() {
            self.promises -= 1;
        }
    }

    /// Settles the account of a pod that runs: it gives its GPU back, and has run for some time.
    fn stop(&mut self, pod: PodId, now: Time) {
        let live = self
            .live_mut(pod)
            .expect("the caller knows that it is alive");
        let Stage::Running { since, units } = live.stage else {
            return;
        };
        let ran = now.since(since);
        live.left = live.left.map(|left| Span((left - ran).0.max(0)));
        let job = Arc::clone(&live.job);
        self.tally
            .give_back(job.user, units, job.busy_permille, ran);
        self.gantt.end(pod, now);
    }

    /// Takes a pod out that has run to its end, or whose gang has.
    fn finish(&mut self, index: &mut Draft, pod: PodId, now: Time) {
        let Some(live) = self.live(pod) else { return };
        let ran = matches!(live.stage, Stage::Running { .. });
        let entry = if ran { Entry::Ended } else { Entry::Withdrawn };
        self.log.add(now, entry, [pod_word(pod), 0, 0]);
        *(if ran {
            &mut self.tally.completed
        } else {
            &mut self.tally.withdrawn
        }) += 1;
        self.stop(pod, now);
        index.remove_pod(pod).expect("a live pod is in the index");
        self.pods[pod.slot as usize] = None;
        self.n_pods -= 1;
    }

    fn arrivals(&mut self, index: &mut Draft, now: Time) {
        while self.future.front().is_some_and(|job| job.arrival <= now) {
            let job = self.future.pop_front().expect("the front was just seen");
            self.arrive(index, job, now);
        }
        while self
            .late
            .first_key_value()
            .is_some_and(|((at, _), _)| *at <= now)
        {
            let (_, mut job) = self.late.pop_first().expect("the first was just seen");
            job.arrival = now;
            let planned = self.names.plan(&job, index);
            self.arrive(
                index,
                planned.expect("the job was checked on submission"),
                now,
            );
        }
    }

    fn arrive(&mut self, index: &mut Draft, job: Planned, now: Time) {
        let job = Arc::new(job);
        let gang = job.is_gang().then(|| {
            let gang = index.add_gang(Arc::clone(&job.name), job.pods_min, job.priority);
            gang.expect("the workload was checked against the bounds")
        });
        let vm = (job.kind == JobKind::Vm).then(|| {
            let migratability = match index.catalog().task(job.task).gpu {
                GpuRequest::Passthrough { .. } | GpuRequest::Mig { .. } => Migratability::Pinned,
                _ => Migratability::LiveMigratable,
            };
            index.add_vm(Vm {
                name: Arc::clone(&job.name),
                migratability,
            })
        });
        let mut members = Vec::new();
        for number in 0..job.pods {
            let name = if job.pods == 1 {
                Arc::clone(&job.name)
            } else {
                format!("{}/{number}", job.name).into()
            };
            let spec = PodSpec {
                name,
                user: job.user,
                queue: job.queue,
                task: job.task,
                priority: job.priority,
                created: now,
                gang,
                vm,
            };
            let Ok(id) = index.add_pod(spec) else {
                // The cluster takes no more pods: the API server refuses the rest of the job.
                break;
            };
            self.log.add(
                now,
                Entry::Submitted,
                [pod_word(id), u64::from(job.task.0), 0],
            );
            let live = LivePod {
                id,
                job: Arc::clone(&job),
                gang,
                stage: Stage::New,
                epoch: 0,
                left: job.run,
            };
            let slot = id.slot as usize;
            if self.pods.len() <= slot {
                self.pods.resize_with(slot + 1, || None);
            }
            self.pods[slot] = Some(live);
            self.n_pods += 1;
            members.push(id);
        }
        let n = members.len() as u64;
        self.tally.submitted += n;
        let user = self.tally.user(job.user);
        user.submitted += n;
        if let Some(run) = job.run {
            user.demanded += i128::from(job.units.0) * i128::from(run.0) * i128::from(n);
        }
        if let Some(id) = gang {
            self.gangs.insert(
                id,
                LiveGang {
                    job,
                    members,
                    running: None,
                    epoch: 0,
                },
            );
        }
    }

    /// Starts a pod that the index shows bound.
    fn start(&mut self, pod: PodId, node: NodeId, grant: &GpuGrant, name: &Arc<str>, now: Time) {
        let units = grant.equivalents();
        let grant_word = match *grant {
            GpuGrant::None => 0,
            _ => {
                grant.gpus().iter().fold(0, |word, gpu| word | 1 << gpu) | grant_units(grant) << 32
            }
        };
        self.log.add(
            now,
            Entry::Bound,
            [pod_word(pod), u64::from(node.0), grant_word],
        );
        self.gantt.start(pod, name, node, grant, now);
        let live = self.live_mut(pod).expect("only live pods are in the index");
        let before = live.stage;
        live.stage = Stage::Running { since: now, units };
        live.epoch += 1;
        let (epoch, left, gang, job) = (live.epoch, live.left, live.gang, Arc::clone(&live.job));
        self.tally.placed += 1;
        self.tally.hold(units, job.busy_permille);
        match before {
            Stage::New => self
                .tally
                .waited(job.user, job.kind, now.since(job.arrival)),
            Stage::Evicted => self.tally.evictions_restarted += 1,
            Stage::Running { .. } => unreachable!("the index refuses to bind a bound pod"),
        }
        if let (None, Some(left)) = (gang, left) {
            self.push(now + left, Event::PodEnds { pod, epoch });
        }
    }

    /// Starts the run of a gang that has just become whole.
    fn start_gang(&mut self, index: &Snapshot, id: GangId, now: Time) {
        let Some(gang) = self.gangs.get_mut(&id) else {
            return;
        };
        if gang.running.is_some() || index.gang(id).bound < gang.job.pods_min {
            return;
        }
        gang.epoch += 1;
        gang.running = Some(gang.epoch);
        let (epoch, run) = (gang.epoch, gang.job.run);
        if let Some(run) = run {
            self.push(now + run, Event::GangEnds { gang: id, epoch });
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
            self.apply(index, event, now);
        }
        self.arrivals(index, now);
        Some(now)
    }

    fn act(&mut self, index: &Snapshot, decisions: &Decisions, now: Time) {
        for evict in &decisions.evictions {
            let cause = match evict.cause {
                EvictCause::GangStranded => Cause::GangStranded,
            };
            self.lose_place(index, evict.pod, cause, now);
        }
        for bind in &decisions.binds {
            let pod = index.pod(bind.pod).expect("the index shows the decisions");
            self.start(bind.pod, bind.node, &bind.grant, &pod.spec.name, now);
            if let Some(gang) = pod.spec.gang {
                self.start_gang(index, gang, now);
            }
        }
    }
}

fn is_spontaneous(event: Event) -> bool {
    match event {
        Event::NodeLost { by, .. } | Event::GpuFailed { by, .. } => by == Origin::Plan,
        Event::PodEnds { .. }
        | Event::GangEnds { .. }
        | Event::NodeCordoned { .. }
        | Event::NodeDrained { .. }
        | Event::NodeBack { .. }
        | Event::GpuRepaired { .. } => false,
    }
}

fn pod_word(pod: PodId) -> u64 {
    u64::from(pod.generation) << 32 | u64::from(pod.slot)
}

fn grant_units(grant: &GpuGrant) -> u64 {
    grant.compute_each().0.unsigned_abs()
}
