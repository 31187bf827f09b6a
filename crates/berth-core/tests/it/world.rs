//! Small random worlds, and short ways to build one by hand.

use std::sync::Arc;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::id::{GangId, GpuModelId, NodeId, PodId, QueueId, UserId};
use berth_core::model::draft::{Draft, NodeSpec};
use berth_core::model::gpu::{GpuHealth, GpuMode, GpuSpec, ModelSet};
use berth_core::model::mig::{self, MigProfileId};
use berth_core::model::node::{Readiness, Shape};
use berth_core::model::pod::{PodSpec, Preempts, Tenure};
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::model::vgpu::{VgpuProfile, VgpuProfileId};
use berth_core::quota::{Meter, Quota};
use berth_core::sched::fragmentation::{TargetTask, TargetWorkload};
use berth_core::sched::policy::Entry;
use berth_core::sched::profile::Profile;
use berth_core::time::Time;
use proptest::prelude::*;

/// A cluster in the making, with one user and a root queue.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) draft: Draft,
    pub(crate) user: UserId,
    pub(crate) root: QueueId,
    pub(crate) a100: GpuModelId,
    pub(crate) t4: GpuModelId,
}

impl World {
    pub(crate) fn new() -> Self {
        let mut draft = Draft::new();
        let user = draft.add_user("ada");
        let root = draft
            .add_queue(QueueSpec::new("root", None))
            .expect("a root is shallow");
        let catalog = draft.catalog_mut();
        let a100 = catalog.intern_model("A100").expect("the first model");
        let t4 = catalog.intern_model("T4").expect("the second model");
        for profile in mig::profiles_80gb(ModelSet::NONE.with(a100)) {
            catalog.add_mig_profile(profile);
        }
        catalog.add_vgpu_profile(VgpuProfile {
            name: "A100-20C".into(),
            models: ModelSet::NONE.with(a100),
            memory: Bytes::from_gib(20),
            per_gpu_max: 4,
        });
        Self {
            draft,
            user,
            root,
            a100,
            t4,
        }
    }

    /// A node with 64 cores, 256 GiB and `gpus` cards of 80 GB, all in one mode.
    pub(crate) fn node(&mut self, name: &str, gpus: usize, mode: GpuMode) -> NodeId {
        let model = self.a100;
        self.node_with(name, 64, model, vec![mode; gpus])
    }

    pub(crate) fn node_with(
        &mut self,
        name: &str,
        cores: i64,
        model: GpuModelId,
        gpu_modes: Vec<GpuMode>,
    ) -> NodeId {
        let memory = Bytes::from_gib(80);
        let gpu = GpuSpec {
            model,
            memory,
            numa: None,
            pcie_root: None,
            nvlink: None,
        };
        let gpus = vec![gpu; gpu_modes.len()];
        let (cpu, memory) = (MilliCpu::from_cores(cores), Bytes::from_gib(256));
        let shape = Shape::new(cpu, memory, 110, gpus);
        let spec = NodeSpec {
            name: name.into(),
            shape,
            gpu_modes,
            gpu_uuids: Arc::new([]),
        };
        self.draft
            .add_node(spec)
            .expect("small worlds are within bounds")
    }

    pub(crate) fn pod(&mut self, name: &str, created: i64, request: Request) -> PodId {
        let root = self.root;
        self.pod_in(name, created, request, 0, root, None)
    }

    pub(crate) fn pod_in(
        &mut self,
        name: &str,
        created: i64,
        request: Request,
        priority: i32,
        queue: QueueId,
        gang: Option<GangId>,
    ) -> PodId {
        let task = self.draft.catalog_mut().intern_task(request);
        let (user, created) = (self.user, Time::from_secs(created));
        let name = name.into();
        let spec = PodSpec {
            name,
            user,
            queue,
            task,
            priority,
            preempts: Preempts::Never,
            tenure: Tenure::Evictable,
            created,
            gang,
            vm: None,
            facts: None,
        };
        self.draft
            .add_pod(spec)
            .expect("small worlds are within bounds")
    }
}

pub(crate) fn share(milli: i64) -> Request {
    with_gpu(GpuRequest::Share {
        compute: GpuUnits::from_milli(milli),
        memory: Bytes::ZERO,
    })
}

pub(crate) fn whole(count: u8) -> Request {
    with_gpu(GpuRequest::Whole { count })
}

pub(crate) fn with_gpu(gpu: GpuRequest) -> Request {
    let (cpu, memory) = (MilliCpu::from_cores(1), Bytes::from_gib(4));
    Request {
        cpu,
        memory,
        gpu,
        models: ModelSet::ANY,
    }
}

/// A profile for `policy` that keeps room for half cards and whole ones.
pub(crate) fn profile(policy: &'static Entry) -> Profile {
    let task = |milli, gpus, count| TargetTask {
        cpu: MilliCpu::from_cores(4),
        compute_each: GpuUnits::from_milli(milli),
        gpus,
        models: ModelSet::ANY,
        count,
    };
    let tasks = [
        task(500, 1, 5),
        task(1000, 1, 3),
        task(1000, 4, 1),
        task(0, 0, 1),
    ];
    Profile::new(policy, Arc::new(TargetWorkload::new(&tasks, 10)))
}

/// What happens to a random world.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    Submit {
        request: Request,
        priority: i32,
        queue: usize,
        copies: u8,
    },
    SubmitGang {
        request: Request,
        members: u8,
        members_min: u8,
    },
    End {
        nth: usize,
    },
    Evict {
        nth: usize,
    },
    Readiness {
        node: usize,
        readiness: Readiness,
    },
    Health {
        node: usize,
        gpu: usize,
        health: GpuHealth,
    },
}

pub(crate) fn request() -> impl Strategy<Value = Request> {
    let gpu = prop_oneof![
        2 => Just(GpuRequest::None),
        3 => (1u8..=4).prop_map(|count| GpuRequest::Whole { count }),
        4 => (1i64..=10).prop_map(|tenths| GpuRequest::Share {
            compute: GpuUnits(tenths * 1000),
            memory: Bytes::ZERO,
        }),
        1 => (1i64..=90).prop_map(|gib| GpuRequest::Share {
            compute: GpuUnits::ZERO,
            memory: Bytes::from_gib(gib),
        }),
        2 => (0u16..6).prop_map(|id| GpuRequest::Mig { profile: MigProfileId(id) }),
        1 => Just(GpuRequest::Vgpu { profile: VgpuProfileId(0) }),
        1 => (1u8..=2).prop_map(|count| GpuRequest::Passthrough { count }),
    ];
    let models = prop_oneof![
        3 => Just(ModelSet::ANY),
        1 => Just(ModelSet::NONE.with(GpuModelId(0))),
        1 => Just(ModelSet::NONE.with(GpuModelId(1))),
    ];
    (1i64..=24, 1i64..=128, gpu, models).prop_map(|(cores, gib, gpu, models)| Request {
        cpu: MilliCpu::from_cores(cores),
        memory: Bytes::from_gib(gib),
        gpu,
        models,
    })
}

pub(crate) fn mode() -> impl Strategy<Value = GpuMode> {
    prop_oneof![
        2 => Just(GpuMode::Exclusive),
        4 => Just(GpuMode::TimeSlice),
        1 => Just(GpuMode::Mps),
        2 => Just(GpuMode::Mig),
        1 => Just(GpuMode::Vgpu),
        1 => Just(GpuMode::Passthrough),
    ]
}

pub(crate) fn event() -> impl Strategy<Value = Event> {
    let readiness = prop_oneof![
        3 => Just(Readiness::Ready),
        1 => Just(Readiness::Cordoned),
        1 => Just(Readiness::Lost),
    ];
    let health = prop_oneof![
        3 => Just(GpuHealth::Healthy),
        1 => Just(GpuHealth::Degraded),
        1 => Just(GpuHealth::Failed),
    ];
    prop_oneof![
        6 => (request(), 0i32..3, 0usize..4, 1u8..5).prop_map(
            |(request, priority, queue, copies)| Event::Submit { request, priority, queue, copies }
        ),
        2 => (request(), 2u8..6, 1u8..6).prop_map(|(request, members, min)| Event::SubmitGang {
            request,
            members,
            members_min: min.min(members),
        }),
        3 => (0usize..64).prop_map(|nth| Event::End { nth }),
        1 => (0usize..64).prop_map(|nth| Event::Evict { nth }),
        1 => (0usize..6, readiness).prop_map(|(node, readiness)| Event::Readiness { node, readiness }),
        1 => (0usize..6, 0usize..8, health)
            .prop_map(|(node, gpu, health)| Event::Health { node, gpu, health }),
    ]
}

/// Nodes of a random world: cores, whether T4 instead of A100, and the mode of each GPU.
pub(crate) fn nodes() -> impl Strategy<Value = Vec<(i64, bool, Vec<GpuMode>)>> {
    let node = (
        8i64..=64,
        any::<bool>(),
        prop::collection::vec(mode(), 0..5),
    );
    prop::collection::vec(node, 1..6)
}

/// A random world under way.
#[derive(Debug)]
pub(crate) struct Random {
    pub(crate) world: World,
    queues: Vec<QueueId>,
    submitted: usize,
}

impl Random {
    pub(crate) fn new(nodes: &[(i64, bool, Vec<GpuMode>)]) -> Self {
        let mut world = World::new();
        for (at, (cores, is_t4, modes)) in nodes.iter().enumerate() {
            let model = if *is_t4 { world.t4 } else { world.a100 };
            world.node_with(&format!("node-{at}"), *cores, model, modes.clone());
        }
        let root = world.root;
        let gpus = |gpus: i64| Some(gpus * GpuUnits::ONE_GPU.0);
        let team = Quota {
            nominal: gpus(3),
            borrowing_limit: gpus(2),
            lending_limit: None,
            limit: gpus(4),
        };
        let other = Quota {
            nominal: gpus(5),
            borrowing_limit: None,
            lending_limit: gpus(2),
            limit: None,
        };
        let one = Quota {
            limit: gpus(1),
            ..Quota::default()
        };
        let t4 = Meter::GpuModel(world.t4);
        let mut add = |name: &str, parent, meter, quota| {
            let mut spec = QueueSpec::new(name, Some(parent));
            spec.quotas.push((meter, quota));
            world.draft.add_queue(spec).expect("a shallow tree")
        };
        let team = add("team", root, Meter::Gpu, team);
        let person = add("person", team, t4, one);
        let other = add("other", root, Meter::Gpu, other);
        Self {
            world,
            queues: vec![root, team, person, other],
            submitted: 0,
        }
    }

    pub(crate) fn apply(&mut self, event: &Event, now: Time) {
        let created = now.0 / 1000;
        match event {
            Event::Submit {
                request,
                priority,
                queue,
                copies,
            } => {
                for _ in 0..*copies {
                    let name = self.next_name();
                    let queue = self.queues[*queue];
                    self.world
                        .pod_in(&name, created, *request, *priority, queue, None);
                }
            }
            Event::SubmitGang {
                request,
                members,
                members_min,
            } => {
                let name = self.next_name();
                let gang = self
                    .world
                    .draft
                    .add_gang(&*name, u32::from(*members_min), 1);
                let gang = gang.expect("small gangs are within bounds");
                for _ in 0..*members {
                    let (name, queue) = (self.next_name(), self.queues[1]);
                    self.world
                        .pod_in(&name, created, *request, 0, queue, Some(gang));
                }
            }
            Event::End { nth } => {
                if let Some(pod) = self.nth_bound(*nth) {
                    self.world.draft.remove_pod(pod, now).expect("it is bound");
                }
            }
            Event::Evict { nth } => {
                if let Some(pod) = self.nth_bound(*nth) {
                    self.world.draft.evict(pod, now).expect("it is bound");
                }
            }
            Event::Readiness { node, readiness } => {
                if *node < self.world.draft.nodes().len() {
                    self.world
                        .draft
                        .set_readiness(NodeId::at(*node), *readiness);
                }
            }
            Event::Health { node, gpu, health } => {
                if *node < self.world.draft.nodes().len() {
                    self.world
                        .draft
                        .set_gpu_health(NodeId::at(*node), *gpu, *health);
                }
            }
        }
    }

    fn next_name(&mut self) -> String {
        self.submitted += 1;
        format!("pod-{:04}", self.submitted)
    }

    fn nth_bound(&self, nth: usize) -> Option<PodId> {
        let bound: Vec<PodId> = self
            .world
            .draft
            .pods()
            .filter(|(_, pod)| pod.node().is_some())
            .map(|(id, _)| id)
            .collect();
        (!bound.is_empty()).then(|| bound[nth % bound.len()])
    }
}
