//! From names to ids: a workload's nodes, queues, users and requests enter a draft.
//!
//! Invariant: what passes here can't make the core panic: names are unique, amounts are within the
//! bounds, every profile exists. Not here: anything that happens after the beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::amount::GpuUnits;
use berth_core::id::{QueueId, TaskTypeId, UserId};
use berth_core::limits;
use berth_core::model::catalog::{Catalog, CatalogError};
use berth_core::model::draft::{Draft, NodeSpec, Refused};
use berth_core::model::gpu::{GpuMode, GpuSpec, ModelSet};
use berth_core::model::mig::MigProfileId;
use berth_core::model::node::Shape;
use berth_core::model::pod::Preempts;
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::{GpuRequest, Request, RequestError};
use berth_core::model::vgpu::{VgpuProfile, VgpuProfileId};
use berth_core::time::{Span, Time};

use crate::workload::{Ask, GpuAsk, Job, JobKind, NodeTemplate, QueueTemplate, Workload};
use crate::world::mig;

/// Why a workload can't be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoundError {
    /// Two things of a kind have one name.
    #[error("two {kind} are called `{name}`; rename one of them")]
    Duplicate {
        /// What kind of thing.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// A node can't be.
    #[error("node `{node}`: {what}")]
    Node {
        /// The node.
        node: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// A queue can't be.
    #[error("queue `{queue}`: {what}")]
    Queue {
        /// The queue.
        queue: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// A job can't be.
    #[error("job `{job}`: {what}")]
    Job {
        /// The job.
        job: String,
        /// What is wrong and what to do.
        what: String,
    },
    /// A job's request is out of range.
    #[error("job `{job}`: {source}")]
    Request {
        /// The job.
        job: String,
        /// What is wrong with it.
        source: RequestError,
    },
    /// Too many GPU models.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
}

/// A job with its names looked up.
#[derive(Debug, Clone)]
pub struct Planned {
    /// Name; pods of a job of several are called `name/0`, `name/1`, ...
    pub name: Arc<str>,
    /// Who submits it.
    pub user: UserId,
    /// The queue that is charged.
    pub queue: QueueId,
    /// Position of this user in this queue among all such pairs.
    pub(crate) claim: usize,
    /// What each pod asks for.
    pub task: TaskTypeId,
    /// What kind of work it is.
    pub kind: JobKind,
    /// Higher goes first.
    pub priority: i32,
    /// Whose place it may take for that.
    pub preempts: Preempts,
    /// When it is submitted.
    pub arrival: Time,
    /// How long it runs once started.
    pub run: Option<Span>,
    /// Number of pods.
    pub pods: u32,
    /// How many must start at once.
    pub pods_min: u32,
    /// Part of its run in which the GPU works, in thousandths.
    pub busy_permille: u16,
    /// GPU that each pod is charged, in physical-GPU equivalents.
    pub units: GpuUnits,
}

impl Planned {
    /// Whether its pods start together or not at all.
    #[must_use]
    pub fn is_gang(&self) -> bool {
        self.pods_min > 1
    }
}

/// What the names of a workload stand for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    users: BTreeMap<Arc<str>, UserId>,
    queues: BTreeMap<Arc<str>, QueueId>,
    claims: BTreeMap<(QueueId, UserId), usize>,
    mig: BTreeMap<String, Vec<(MigProfileId, ModelSet)>>,
    vgpu: BTreeMap<String, Vec<(VgpuProfileId, ModelSet)>>,
}

impl Names {
    /// Adds the workload's nodes, queues and profiles to `draft`, and every GPU model that a job
    /// names.
    pub(crate) fn found(workload: &Workload, draft: &mut Draft) -> Result<Self, FoundError> {
        let mut names = Self::default();
        unique("nodes", workload.nodes.iter().map(|node| &*node.name))?;
        unique("jobs", workload.jobs.iter().map(|job| &*job.name))?;
        // By name: ids of models order what policies sum up, and must not depend on the listing.
        let of_jobs = workload.jobs.iter().flat_map(|job| &job.ask.models);
        let of_profiles = workload.vgpu_profiles.iter().map(|vgpu| &vgpu.gpu_model);
        let of_nodes = workload.nodes.iter().filter(|node| node.gpus > 0);
        let of_nodes = of_nodes.map(|node| &node.gpu_model);
        let models: BTreeSet<&String> = of_jobs.chain(of_profiles).chain(of_nodes).collect();
        for model in models {
            draft.catalog_mut().intern_model(model)?;
        }
        for node in &workload.nodes {
            names.add_node(node, draft)?;
        }
        names.add_mig_profiles(workload, draft);
        for vgpu in &workload.vgpu_profiles {
            let catalog = draft.catalog_mut();
            let models = ModelSet::NONE.with(catalog.intern_model(&vgpu.gpu_model)?);
            let id = catalog.add_vgpu_profile(VgpuProfile {
                name: vgpu.name.as_str().into(),
                models,
                memory: vgpu.memory,
                per_gpu_max: vgpu.per_gpu_max.max(1),
            });
            names
                .vgpu
                .entry(vgpu.name.clone())
                .or_default()
                .push((id, models));
        }
        for queue in &workload.queues {
            names.add_queue(queue, draft)?;
        }
        Ok(names)
    }

    /// Looks up everything that `job` names, adding its user, queue and task type where new.
    pub(crate) fn plan(&mut self, job: &Job, draft: &mut Draft) -> Result<Planned, FoundError> {
        let request = self.check(job, draft.catalog())?;
        let task = match draft.catalog().task_type_of(&request) {
            Some(known) => known,
            None => draft.catalog_mut().intern_task(request),
        };
        let user = match self.users.get(job.user.as_str()) {
            Some(&known) => known,
            None => {
                let name: Arc<str> = job.user.as_str().into();
                let user = draft.add_user(Arc::clone(&name));
                self.users.insert(name, user);
                user
            }
        };
        let queue = match self.queues.get(job.queue.as_str()) {
            Some(&known) => known,
            None => {
                let name = job.queue.clone();
                self.add_queue(&QueueTemplate::new(name, None), draft)?
            }
        };
        let next = self.claims.len();
        let claim = *self.claims.entry((queue, user)).or_insert(next);
        Ok(Planned {
            name: job.name.as_str().into(),
            user,
            queue,
            claim,
            task,
            kind: job.kind,
            priority: job.priority,
            preempts: job.preempts,
            arrival: job.arrival,
            run: job.run,
            pods: job.pods,
            pods_min: job.pods_min,
            busy_permille: job.busy_permille,
            units: draft.catalog().equivalents(&request),
        })
    }

    /// Each user in each queue, by position of the claim.
    pub(crate) fn claims(&self) -> Vec<(QueueId, UserId)> {
        let mut claims: Vec<_> = self.claims.iter().map(|(&who, &at)| (at, who)).collect();
        claims.sort_unstable();
        claims.into_iter().map(|(_, who)| who).collect()
    }

    /// The request of `job`, if the job is sound.
    pub(crate) fn check(&self, job: &Job, catalog: &Catalog) -> Result<Request, FoundError> {
        let wrong = |what: String| FoundError::Job {
            job: job.name.clone(),
            what,
        };
        let pods_max = limits::GANG_MEMBERS_MAX as u64;
        if job.pods == 0 || u64::from(job.pods) > pods_max {
            return Err(wrong(format!("{} pods; ask for 1 to {pods_max}", job.pods)));
        }
        if job.pods_min == 0 || job.pods_min > job.pods {
            let (least, pods) = (job.pods_min, job.pods);
            return Err(wrong(format!("{least} pods at once; ask for 1 to {pods}")));
        }
        if job.arrival < Time::ZERO || job.run.is_some_and(|run| run < Span::ZERO) {
            return Err(wrong(
                "a time below zero; give times from zero on".to_owned(),
            ));
        }
        if job.busy_permille > 1000 {
            return Err(wrong(format!("busy for {} of 1000", job.busy_permille)));
        }
        let request = self.request(&job.ask, catalog).map_err(wrong)?;
        let of_request = |source| FoundError::Request {
            job: job.name.clone(),
            source,
        };
        request.validate().map_err(of_request)?;
        Ok(request)
    }

    /// The request that `ask` stands for, or what is wrong with it.
    pub(crate) fn request(&self, ask: &Ask, catalog: &Catalog) -> Result<Request, String> {
        let mut models = ModelSet::ANY;
        if ask.gpu != GpuAsk::None && !ask.models.is_empty() {
            models = ModelSet::NONE;
            for name in &ask.models {
                let model = catalog.model_named(name).ok_or_else(|| {
                    let known: Vec<&str> = catalog.model_names(ModelSet::ANY).collect();
                    format!(
                        "GPU model `{name}` is unknown; known are {}",
                        known.join(", ")
                    )
                })?;
                models = models.with(model);
            }
        }
        let gpu = match &ask.gpu {
            GpuAsk::None => GpuRequest::None,
            GpuAsk::Whole(count) => GpuRequest::Whole { count: *count },
            GpuAsk::Share { compute, memory } => GpuRequest::Share {
                compute: *compute,
                memory: *memory,
            },
            GpuAsk::Mig(name) => GpuRequest::Mig {
                profile: profile("MIG", &self.mig, name, models)?,
            },
            GpuAsk::Vgpu(name) => GpuRequest::Vgpu {
                profile: profile("vGPU", &self.vgpu, name, models)?,
            },
            GpuAsk::Passthrough(count) => GpuRequest::Passthrough { count: *count },
        };
        Ok(Request {
            cpu: ask.cpu,
            memory: ask.memory,
            gpu,
            models,
        })
    }

    fn add_node(&self, node: &NodeTemplate, draft: &mut Draft) -> Result<(), FoundError> {
        let wrong = |what: String| FoundError::Node {
            node: node.name.clone(),
            what,
        };
        let amounts = [
            ("CPU", node.cpu.0, limits::CPU_MAX.0),
            ("memory", node.memory.0, limits::MEMORY_MAX.0),
            ("GPU memory", node.gpu_memory.0, limits::MEMORY_MAX.0),
        ];
        for (what, amount, bound) in amounts {
            if !(0..=bound).contains(&amount) {
                return Err(wrong(format!(
                    "{what} of {amount} is not within 0 to {bound}"
                )));
            }
        }
        if node.gpus > 0 && node.gpu_model.is_empty() {
            return Err(wrong("its GPUs have no model; name it".to_owned()));
        }
        if node.gpus > 0 && node.gpu_mode == GpuMode::Mig && node.gpu_memory < mig::MEMORY_MIN {
            return Err(wrong(format!(
                "MIG profiles are known for cards from {}; this one has {}",
                mig::MEMORY_MIN,
                node.gpu_memory
            )));
        }
        let gpus = if node.gpus == 0 {
            Vec::new()
        } else {
            let model = draft.catalog_mut().intern_model(&node.gpu_model)?;
            let memory = node.gpu_memory;
            let gpu = GpuSpec {
                model,
                memory,
                numa: None,
                pcie_root: None,
                nvlink: None,
            };
            vec![gpu; usize::from(node.gpus)]
        };
        let spec = NodeSpec {
            name: node.name.as_str().into(),
            gpu_modes: vec![node.gpu_mode; gpus.len()],
            shape: Shape::new(node.cpu, node.memory, node.pod_slots, gpus),
            gpu_uuids: Arc::new([]),
        };
        draft
            .add_node(spec)
            .map(|_| ())
            .map_err(|refused: Refused| wrong(refused.to_string()))
    }

    /// One set of MIG profiles for each memory size, for all models that come in it.
    fn add_mig_profiles(&mut self, workload: &Workload, draft: &mut Draft) {
        let mut by_memory = BTreeMap::new();
        for node in workload.nodes.iter().filter(|node| node.gpus > 0) {
            if let Some(model) = draft.catalog().model_named(&node.gpu_model) {
                let models: &mut ModelSet =
                    by_memory.entry(node.gpu_memory).or_insert(ModelSet::NONE);
                *models = models.with(model);
            }
        }
        for (memory, models) in by_memory {
            for profile in mig::profiles(memory, models) {
                let name = profile.name.to_string();
                let id = draft.catalog_mut().add_mig_profile(profile);
                self.mig.entry(name).or_default().push((id, models));
            }
        }
    }

    fn add_queue(
        &mut self,
        queue: &QueueTemplate,
        draft: &mut Draft,
    ) -> Result<QueueId, FoundError> {
        let wrong = |what: String| FoundError::Queue {
            queue: queue.name.clone(),
            what,
        };
        if self.queues.contains_key(queue.name.as_str()) {
            return Err(FoundError::Duplicate {
                kind: "queues",
                name: queue.name.clone(),
            });
        }
        let parent = match &queue.parent {
            None => None,
            Some(parent) => Some(self.queues.get(parent.as_str()).copied().ok_or_else(|| {
                wrong(format!(
                    "its parent `{parent}` is not listed before it; add or move it"
                ))
            })?),
        };
        let name: Arc<str> = queue.name.as_str().into();
        let spec = QueueSpec {
            weight: queue.weight,
            ..QueueSpec::new(Arc::clone(&name), parent)
        };
        let id = draft
            .add_queue(spec.with_gpus(queue.quota()))
            .map_err(|refused| wrong(refused.to_string()))?;
        self.queues.insert(name, id);
        Ok(id)
    }
}

/// The one profile called `name` that some model in `models` offers.
fn profile<T: Copy>(
    kind: &str,
    known: &BTreeMap<String, Vec<(T, ModelSet)>>,
    name: &str,
    models: ModelSet,
) -> Result<T, String> {
    let candidates = known.get(name).map_or(&[][..], Vec::as_slice);
    let mut fitting = candidates.iter().filter(|(_, of)| of.intersects(models));
    match (fitting.next(), fitting.next()) {
        (Some(&(id, _)), None) => Ok(id),
        (Some(_), Some(_)) => Err(format!(
            "{kind} profile `{name}` exists in several sizes of card; name the GPU model as well"
        )),
        (None, _) => {
            let names: Vec<&str> = known.keys().map(String::as_str).collect();
            Err(format!(
                "{kind} profile `{name}` is unknown here; known are: {}",
                names.join(", ")
            ))
        }
    }
}

fn unique<'a>(kind: &'static str, names: impl Iterator<Item = &'a str>) -> Result<(), FoundError> {
    // Sorting is linear in names that come sorted, as most do.
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => Err(FoundError::Duplicate {
            kind,
            name: twice[0].to_owned(),
        }),
        None => Ok(()),
    }
}
