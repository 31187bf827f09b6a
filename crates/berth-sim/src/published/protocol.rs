//! One run of the published experiment over Berth's own scheduler.

use std::sync::Arc;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::id::{NodeId, PodId, QueueId, TaskTypeId, UserId};
use berth_core::invariant::Violation;
use berth_core::model::catalog::{Catalog, CatalogError};
use berth_core::model::draft::{Draft, NodeSpec, Refused};
use berth_core::model::gpu::{GpuMode, GpuSpec, ModelSet};
use berth_core::model::node::{Node, Shape};
use berth_core::model::pod::{PodSpec, Preempts, Tenure};
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::decisions::Decisions;
use berth_core::sched::fit;
use berth_core::sched::policy::Entry;
use berth_core::sched::profile::Profile;
use berth_core::sched::scheduler::{Cluster, Scheduler};
use berth_core::stream::Stream;
use berth_core::time::Time;
use serde::{Deserialize, Serialize};

use super::arrivals;
use super::go_rand::GoRand;
use super::measure::{Column, Measures};
use crate::trace::openb::{self, NodeRow, PodRow};
use crate::trace::table::ReadError;

/// Pods that the published nodes accept; never binding.
const POD_SLOTS: u32 = 1001;

/// The lists of one experiment, sorted by name.
#[derive(Debug, Clone)]
pub struct Inputs {
    trace: String,
    pub(super) nodes: Vec<NodeRow>,
    pub(super) pods: Vec<PodRow>,
    pub(super) gpus: i64,
}

/// Why a run can't be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The generator's first outputs are not 4,856 bytes.
    #[error("seed {seed}: the first outputs of Go's generator must be 4856 bytes, not {bytes}")]
    GoRand {
        /// The seed.
        seed: u64,
        /// Bytes given.
        bytes: usize,
    },
    /// The lists name too many GPU models.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The cluster is beyond the core's bounds.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A pod was turned away although a node had room for it: a defect of the policy.
    #[error("pod {pod} was turned away although node {node} has room for it")]
    Withheld {
        /// Number of the pod, in the order of arrival.
        pod: u64,
        /// Name of the node.
        node: String,
    },
    /// The scheduler broke an invariant: a defect of Berth.
    #[error("an invariant is broken: {}", first(.0))]
    Violated(Vec<Violation>),
}

/// What is checked beside what every run checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Nothing more.
    Invariants,
    /// That a pod which is turned away fits nowhere.
    WorkConservation,
}

/// What a run measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Name of the pod list (`default`).
    pub trace: String,
    /// Name of the policy.
    pub policy: String,
    /// Seed of the arrivals and of the node names.
    pub seed: u64,
    /// Allocation and fragmentation at each percentage of arrival.
    pub arrived: Vec<Column>,
    /// Pods that had found a place at the last event of each of these percentages.
    pub placed: Vec<u64>,
    /// Pods that found a place.
    pub pods_placed: u64,
    /// Pods that arrived.
    pub pods_offered: u64,
}

impl Inputs {
    /// Reads the two lists of an experiment. `nodes` and `pods` are file names, for messages, and
    /// contents.
    ///
    /// # Errors
    /// The first thing that is wrong with either list.
    pub fn read(trace: &str, nodes: (&str, &[u8]), pods: (&str, &[u8])) -> Result<Self, ReadError> {
        let mut nodes = openb::read_nodes(nodes.0, nodes.1)?;
        let mut pods = openb::read_pods(pods.0, pods.1)?;
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        pods.sort_by(|a, b| a.name.cmp(&b.name));
        let gpus = nodes.iter().map(|node| i64::from(node.gpus)).sum();
        Ok(Self {
            trace: trace.to_owned(),
            nodes,
            pods,
            gpus,
        })
    }

    /// Name of the pod list.
    #[must_use]
    pub fn trace(&self) -> &str {
        &self.trace
    }

    /// GPUs of the cluster.
    #[must_use]
    pub fn gpus(&self) -> i64 {
        self.gpus
    }
}

/// Runs the experiment with `policy` until `until_percent` of the cluster's GPUs have been asked
/// for. `go_rand` is the first 607 outputs of Go's generator for `seed`.
///
/// # Errors
/// If the inputs are beyond the core's bounds, an invariant breaks, or `check` finds something.
pub fn run(
    inputs: &Inputs,
    policy: &'static Entry,
    seed: u64,
    go_rand: &[u8],
    until_percent: u32,
    check: Check,
) -> Result<Run, RunError> {
    let rand = GoRand::from_first_outputs(go_rand).ok_or(RunError::GoRand {
        seed,
        bytes: go_rand.len(),
    })?;
    let (order, ranks) = arrivals::draw(&inputs.pods, inputs.nodes.len(), inputs.gpus, rand);
    let mut index = Draft::new();
    add_nodes(&mut index, &inputs.nodes, &ranks)?;
    let tasks = intern_tasks(&mut index, &inputs.pods)?;
    let workload = arrivals::target(&inputs.pods, |spec| {
        models(index.catalog(), spec).expect("every spelling was interned with its pod")
    });
    let profile = Profile::new(policy, Arc::new(workload));
    let mut fragmentation = Fragmentation::new(&profile, &index);
    let mut measures = Measures::new(inputs.gpus);
    let experiment = Experiment {
        user: index.add_user("openb"),
        queue: index.add_queue(QueueSpec::new("openb", None))?,
        tasks: order.iter().map(|&at| tasks[at]).collect(),
        next: 0,
        waiting: None,
    };
    let stream = Stream::from_seed(seed).child("published");
    let mut scheduler = Scheduler::new(experiment, index, &profile, stream);
    let (mut arrived, mut used, mut placed, mut offered) = (0, 0, 0, 0);
    for &at in &order {
        let pod = &inputs.pods[at];
        let milli = pod.gpu_milli * i64::from(pod.gpus);
        if measures.percent(arrived + milli) > until_percent as usize {
            break;
        }
        let step = scheduler.step(Time::MAX).map_err(RunError::Violated)?;
        let step = step.expect("the experiment has one step for each pod");
        offered += 1;
        arrived += milli;
        if step.decisions.binds.is_empty() && check == Check::WorkConservation {
            nothing_fits(scheduler.index(), tasks[at], offered)?;
        }
        for bind in &step.decisions.binds {
            placed += 1;
            used += milli;
            fragmentation.update(scheduler.index(), bind.node);
        }
        measures.record(arrived, used, fragmentation.total, placed);
    }
    Ok(Run {
        trace: inputs.trace.clone(),
        policy: policy.name.to_owned(),
        seed,
        arrived: measures.columns(),
        placed: measures.placed(),
        pods_placed: placed,
        pods_offered: offered,
    })
}

/// Looks for a node that would have had room for pod number `pod`, of type `task`.
fn nothing_fits(index: &Snapshot, task: TaskTypeId, pod: u64) -> Result<(), RunError> {
    let catalog = index.catalog();
    let request = catalog.task(task);
    let fits = |node: &&Arc<Node>| fit::fits(catalog, request, &node.shape, &node.state);
    match index.nodes().iter().find(fits) {
        Some(node) => Err(RunError::Withheld {
            pod,
            node: node.name.to_string(),
        }),
        None => Ok(()),
    }
}

/// The cluster of the experiment: pods come one by one, and one that finds no place is gone.
#[derive(Debug)]
struct Experiment {
    user: UserId,
    queue: QueueId,
    tasks: Vec<TaskTypeId>,
    next: usize,
    waiting: Option<PodId>,
}

impl Cluster for Experiment {
    fn observe(&mut self, index: &mut Draft, _until: Time) -> Option<Time> {
        if let Some(failed) = self.waiting.take() {
            index
                .remove_pod(failed, Time::ZERO)
                .expect("the pod still waits");
        }
        let task = *self.tasks.get(self.next)?;
        let now = Time(i64::try_from(self.next).expect("lists are bounded"));
        let spec = PodSpec {
            name: format!("{:07}", self.next).into(),
            user: self.user,
            queue: self.queue,
            task,
            priority: 0,
            preempts: Preempts::Never,
            tenure: Tenure::Evictable,
            created: now,
            gang: None,
            vm: None,
            facts: None,
        };
        self.next += 1;
        self.waiting = Some(
            index
                .add_pod(spec)
                .expect("lists are bounded below the core's bound"),
        );
        Some(now)
    }

    fn pass(&mut self, _now: Time) {}

    fn act(&mut self, _index: &Snapshot, decisions: &Decisions, _now: Time) {
        if !decisions.binds.is_empty() {
            self.waiting = None;
        }
    }
}

/// The cluster's fragmentation, kept up node by node.
#[derive(Debug)]
struct Fragmentation {
    profile: Profile,
    by_node: Vec<f64>,
    total: f64,
}

impl Fragmentation {
    fn new(profile: &Profile, index: &Snapshot) -> Self {
        let of = |node: &Arc<Node>| {
            profile
                .workload
                .node_fragmentation(&node.shape, &node.state)
        };
        let by_node: Vec<f64> = index.nodes().iter().map(of).collect();
        let total = by_node.iter().sum();
        Self {
            profile: profile.clone(),
            by_node,
            total,
        }
    }

    fn update(&mut self, index: &Snapshot, node: NodeId) {
        let now = index.node(node);
        let after = self
            .profile
            .workload
            .node_fragmentation(&now.shape, &now.state);
        self.total += after - self.by_node[node.index()];
        self.by_node[node.index()] = after;
    }
}

fn add_nodes(index: &mut Draft, nodes: &[NodeRow], ranks: &[usize]) -> Result<(), RunError> {
    for (node, rank) in nodes.iter().zip(ranks) {
        let mut gpus = Vec::new();
        if node.gpus > 0 {
            let model = index.catalog_mut().intern_model(&node.model)?;
            let memory = Bytes::ZERO;
            let gpu = GpuSpec {
                model,
                memory,
                numa: None,
                pcie_root: None,
                nvlink: None,
            };
            gpus = vec![gpu; usize::from(node.gpus)];
        }
        index.add_node(NodeSpec {
            name: format!("{rank:04}-{}", node.name).into(),
            gpu_modes: vec![GpuMode::TimeSlice; gpus.len()],
            shape: Shape::new(
                MilliCpu(node.cpu_milli),
                Bytes::from_mib(node.memory_mib),
                POD_SLOTS,
                gpus,
            ),
            gpu_uuids: Arc::new([]),
        })?;
    }
    Ok(())
}

/// The task type of each pod of the list.
fn intern_tasks(index: &mut Draft, pods: &[PodRow]) -> Result<Vec<TaskTypeId>, RunError> {
    let catalog = index.catalog_mut();
    let mut tasks = Vec::with_capacity(pods.len());
    for pod in pods {
        for model in spelled(&pod.gpu_spec) {
            catalog.intern_model(model)?;
        }
        let gpu = match (pod.gpus, pod.gpu_milli) {
            (0, _) => GpuRequest::None,
            (count, 1000..) => GpuRequest::Whole { count },
            (_, milli) => {
                let (compute, memory) = (GpuUnits::from_milli(milli), Bytes::ZERO);
                GpuRequest::Share { compute, memory }
            }
        };
        let models = match gpu {
            GpuRequest::None => ModelSet::ANY,
            _ => models(catalog, &pod.gpu_spec).expect("interned by the loop above"),
        };
        let (cpu, memory) = (MilliCpu(pod.cpu_milli), Bytes::from_mib(pod.memory_mib));
        tasks.push(catalog.intern_task(Request {
            cpu,
            memory,
            gpu,
            models,
        }));
    }
    Ok(tasks)
}

/// The models that `spec` spells.
pub(super) fn spelled(spec: &str) -> impl Iterator<Item = &str> {
    spec.split('|').filter(|model| !model.is_empty())
}

/// The set that `spec` spells; `None` if it names a model that isn't interned.
pub(super) fn models(catalog: &Catalog, spec: &str) -> Option<ModelSet> {
    if spec.is_empty() {
        return Some(ModelSet::ANY);
    }
    spelled(spec).try_fold(ModelSet::NONE, |set, model| {
        Some(set.with(catalog.model_named(model)?))
    })
}

fn first(violations: &[Violation]) -> String {
    violations
        .first()
        .map_or_else(String::new, ToString::to_string)
}
