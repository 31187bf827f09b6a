//! A small cluster by hand, for tests of everything that shows one.
//!
//! Eight A100 taken, two T4 of which one is shared and one has failed, a MIG card, a node that is
//! lost; and somebody who waits for each of a few reasons.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::id::{GpuModelId, PodId, QueueId, TaskTypeId, UserId};
use berth_core::model::draft::{Draft, NodeSpec};
use berth_core::model::gpu::{GpuHealth, GpuMode, GpuSpec, ModelSet};
use berth_core::model::mig::profiles_80gb;
use berth_core::model::node::{Readiness, Shape};
use berth_core::model::pod::{PodSpec, Preempts, Tenure};
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::sched::cycle;
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::sched::policy;
use berth_core::sched::profile::{Effort, Profile};
use berth_core::sched::turns::{self, Order};
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use super::Totals;
use super::clock::Flow;
use super::events::{Event, EventKind};
use super::published::{Books, Pace, Published, Rates};
use super::tally::{Shares, Tally};

/// The profile of the scripted cluster.
pub(crate) fn profile() -> Profile {
    let policy = policy::named("best-fit").expect("the catalogue has it");
    Profile {
        order: Order::Fifo,
        ..Profile::new(policy, Arc::new(TargetWorkload::default()))
    }
}

/// The scripted cluster, two hours after its start.
pub(crate) fn published() -> Published {
    let mut script = Script::new();
    let now = Time::from_secs(7_200);
    let mut draft = script.work();
    let mut stream = Stream::from_seed(1);
    let decisions = cycle::run(&draft, &profile(), Effort::Place, now, &mut stream);
    decisions.apply(&mut draft, now);
    let mut tally = Tally::default();
    tally.cycle(Duration::from_millis(2));
    tally.placed = decisions.binds.len() as u64;
    tally.decisions = tally.placed;
    tally.waited(Span::from_secs(90));
    let shares = Shares::of(&draft, &profile().workload);
    tally.shares.add(shares);
    let failed = EventKind::Gpu {
        node: "t4-1".into(),
        gpu: 1,
        health: GpuHealth::Failed,
    };
    let started = EventKind::Started {
        pod: "vision/train-0".into(),
        node: "a100-1".into(),
    };
    let event = |seconds, kind| Event {
        at: Time::from_secs(seconds),
        kind,
    };
    Published {
        number: 1,
        name: "scripted".into(),
        policy: "best-fit",
        seed: Some(42),
        snapshot: draft.snapshot(),
        waiting: turns::in_order(profile().order, &draft, now, &decisions.waiting).into(),
        pace: Pace {
            start: Time::ZERO,
            head_start: Span::ZERO,
            now,
            lag: Span::ZERO,
            speed: 60.0,
            flow: Flow::Running,
        },
        tally,
        totals: Totals {
            submitted: 18,
            completed: 3,
            evictions: [("node-lost".to_owned(), 1)].into(),
            log_hash: "0123456789abcdef".to_owned(),
        },
        users_seen: 3,
        rates: Rates {
            starts_per_min: 1.5,
            ends_per_min: 0.5,
            decisions_per_s: 12.0,
        },
        shares,
        events: [event(7_100, failed), event(60, started)].into(),
        books: Books::Balanced,
        at: Instant::now(),
    }
}

/// Ids of the scripted cluster, as they come to be.
struct Script {
    draft: Draft,
    team: QueueId,
    small: QueueId,
    users: [UserId; 3],
    tasks: Tasks,
}

struct Tasks {
    a100: TaskTypeId,
    share: TaskTypeId,
    mig: TaskTypeId,
    eight: TaskTypeId,
}

impl Script {
    fn new() -> Self {
        let mut draft = Draft::new();
        let catalog = draft.catalog_mut();
        let a100 = catalog.intern_model("A100").expect("a few models");
        let t4 = catalog.intern_model("T4").expect("a few models");
        let models = ModelSet::NONE.with(a100);
        let mut profiles = profiles_80gb(models).into_iter();
        let mig = catalog.add_mig_profile(profiles.next().expect("1g.10gb comes first"));
        let mut task = |cores, gpu, models| {
            let (cpu, memory) = (MilliCpu::from_cores(cores), Bytes::from_gib(8));
            catalog.intern_task(Request {
                cpu,
                memory,
                gpu,
                models,
            })
        };
        let share = GpuRequest::Share {
            compute: GpuUnits(4_000),
            memory: Bytes::ZERO,
        };
        let tasks = Tasks {
            a100: task(8, GpuRequest::Whole { count: 1 }, models),
            share: task(2, share, ModelSet::NONE.with(t4)),
            mig: task(2, GpuRequest::Mig { profile: mig }, models),
            eight: task(64, GpuRequest::Whole { count: 8 }, ModelSet::ANY),
        };
        add_nodes(&mut draft, a100, t4);
        let site = draft
            .add_queue(QueueSpec::new("site", None))
            .expect("shallow");
        let limit = Some(GpuUnits::ONE_GPU * 12);
        let team = draft
            .add_queue(QueueSpec::new("vision", Some(site)).with_limit(limit))
            .expect("shallow");
        let limit = Some(GpuUnits(4_000));
        let small = draft
            .add_queue(QueueSpec::new("speech", Some(site)).with_limit(limit))
            .expect("shallow");
        let users = ["ada", "bo", "cy"].map(|name| draft.add_user(name));
        Self {
            draft,
            team,
            small,
            users,
            tasks,
        }
    }

    fn work(&mut self) -> Draft {
        let (team, small) = (self.team, self.small);
        let [ada, bo, cy] = self.users;
        let Tasks {
            a100,
            share,
            mig,
            eight,
        } = self.tasks;
        for n in 0..10 {
            self.pod(&format!("vision/train-{n}"), ada, team, a100, n);
        }
        for n in 0..3 {
            self.pod(&format!("speech/notebook-{n}"), bo, small, share, 100 + n);
        }
        self.pod("vision/mig-0", cy, team, mig, 200);
        let gang = self.draft.add_gang("vision/pretrain", 4, 10).expect("few");
        for n in 0..2 {
            let mut spec = self.spec(&format!("vision/pretrain-{n}"), cy, team, eight, 300 + n);
            spec.gang = Some(gang);
            self.draft.add_pod(spec).expect("few");
        }
        std::mem::take(&mut self.draft)
    }

    fn pod(
        &mut self,
        name: &str,
        user: UserId,
        queue: QueueId,
        task: TaskTypeId,
        at: i64,
    ) -> PodId {
        let spec = self.spec(name, user, queue, task, at);
        self.draft.add_pod(spec).expect("few")
    }

    fn spec(&self, name: &str, user: UserId, queue: QueueId, task: TaskTypeId, at: i64) -> PodSpec {
        let created = Time::from_secs(at);
        PodSpec {
            name: name.into(),
            user,
            queue,
            task,
            priority: 0,
            preempts: Preempts::Never,
            tenure: Tenure::Evictable,
            created,
            gang: None,
            vm: None,
            facts: None,
        }
    }
}

fn add_nodes(draft: &mut Draft, a100: GpuModelId, t4: GpuModelId) {
    let gpu = |model, gib| GpuSpec {
        model,
        memory: Bytes::from_gib(gib),
        numa: Some(0),
        pcie_root: None,
        nvlink: None,
    };
    let mut add = |name: &str, model, gib, n: usize, mode| {
        let shape = Shape::new(
            MilliCpu::from_cores(96),
            Bytes::from_gib(512),
            110,
            vec![gpu(model, gib); n],
        );
        let (name, gpu_modes) = (name.into(), vec![mode; n]);
        draft
            .add_node(NodeSpec {
                name,
                shape,
                gpu_modes,
                gpu_uuids: [].into(),
            })
            .expect("few")
    };
    add("a100-1", a100, 80, 8, GpuMode::Exclusive);
    add("mig-1", a100, 80, 1, GpuMode::Mig);
    let shared = add("t4-1", t4, 16, 2, GpuMode::TimeSlice);
    let lost = add("t4-2", t4, 16, 4, GpuMode::TimeSlice);
    draft.set_gpu_health(shared, 1, GpuHealth::Failed);
    draft.set_readiness(lost, Readiness::Lost);
}
