//! Every way out that is told is true: made by hand, it starts the group in the next cycle.

use berth_core::id::PodId;
use berth_core::model::draft::Draft;
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::PodSpec;
use berth_core::model::request::Request;
use berth_core::model::snapshot::{Alike, GroupKey, Snapshot};
use berth_core::quota::{Beside, Quota};
use berth_core::sched::cycle;
use berth_core::sched::explain::Hindrance;
use berth_core::sched::next::{Change, Raise, Rule, WaysOut};
use berth_core::sched::policy::named;
use berth_core::sched::profile::{Effort, Profile};
use berth_core::stream::Stream;
use berth_core::time::Time;
use proptest::prelude::*;

use crate::world::{self, Random, World, profile, share, whole};

const NOW: Time = Time::from_secs(10_000);

fn usual() -> Profile {
    profile(named("best-fit").expect("the catalogue has it"))
}

/// The cycle on `draft` as it stands; nobody makes room.
fn cycle_on(draft: &Draft) -> berth_core::sched::decisions::Decisions {
    let mut stream = Stream::from_seed(1);
    cycle::run(draft, &usual(), Effort::Place, NOW, &mut stream)
}

fn ways_out(snapshot: &Snapshot, key: &GroupKey, hindrance: Hindrance) -> Vec<Change> {
    WaysOut::of(snapshot, &usual(), NOW, &Stream::from_seed(1)).for_group(key, hindrance)
}

/// Makes `change` with nothing but what a feed can do, and says who should start, and how many of
/// them.
fn make(draft: &mut Draft, key: &GroupKey, change: &Change) -> (Vec<PodId>, usize) {
    let group: Vec<PodId> = draft.pending()[key].values().copied().collect();
    let (mut pods, need) = match key.alike {
        Alike::Task { .. } => (vec![group[0]], 1),
        Alike::Gang { gang } => (group, draft.gang(gang).needed_at_once() as usize),
    };
    let mut ask = |edit: &dyn Fn(Request) -> Request| {
        for pod in &mut pods {
            let gone = draft.remove_pod(*pod, NOW).expect("it waits");
            let request = edit(*draft.catalog().task(gone.spec.task));
            let task = draft.catalog_mut().intern_task(request);
            let spec = PodSpec {
                task,
                ..gone.spec.clone()
            };
            *pod = draft.add_pod(spec).expect("bounded");
        }
    };
    match change {
        Change::Complete { .. } => panic!("members can't be made up"),
        Change::OtherModel { model } => ask(&|request| Request {
            models: request.models.with(*model),
            ..request
        }),
        Change::LessHost { cpu, memory } => ask(&|request| Request {
            cpu: *cpu,
            memory: *memory,
            ..request
        }),
        Change::LessGpu { gpu } => ask(&|request| Request {
            gpu: *gpu,
            ..request
        }),
        Change::Ends { pods: ended } => {
            for &pod in ended {
                assert!(draft.pod(pod).is_some_and(|pod| pod.node().is_some()));
                draft.remove_pod(pod, NOW).expect("it runs");
            }
        }
        Change::MoreQuota { raises } => {
            raises.iter().for_each(|raise| lift(draft, raise, raise.by));
        }
    }
    (pods, need)
}

/// Raises one rule of a queue.
fn lift(draft: &mut Draft, raise: &Raise, by: i64) {
    let at = draft.meters().position(raise.meter).expect("it is on");
    let mut quota: Quota = draft.queue(raise.queue).account(at).quota;
    let rule = match raise.rule {
        Rule::Limit => &mut quota.limit,
        Rule::Borrowing => &mut quota.borrowing_limit,
        Rule::Nominal => &mut quota.nominal,
    };
    *rule = Some(rule.unwrap_or(0) + by);
    draft.set_quota(raise.queue, raise.meter, quota);
}

fn starts(draft: &Draft, pods: &[PodId], need: usize) -> bool {
    let decisions = cycle_on(draft);
    let bound = pods
        .iter()
        .filter(|pod| decisions.binds.iter().any(|bind| bind.pod == **pod));
    bound.count() >= need
}

/// Whether the end of one running job alone would start the oldest pod of `key`.
fn some_end_helps(draft: &Draft, key: &GroupKey) -> bool {
    let running: Vec<PodId> = draft
        .pods()
        .filter(|(_, pod)| pod.node().is_some())
        .map(|(id, _)| id)
        .collect();
    running.into_iter().any(|end| {
        let mut after = draft.clone();
        let gang = draft.pod(end).and_then(|pod| pod.spec.gang);
        let ends: Vec<PodId> = match gang {
            None => vec![end],
            Some(gang) => draft
                .pods()
                .filter(|(_, pod)| pod.spec.gang == Some(gang) && pod.node().is_some())
                .map(|(id, _)| id)
                .collect(),
        };
        for pod in ends {
            after.remove_pod(pod, NOW).expect("it runs");
        }
        let oldest = draft.pending()[key].values().next().copied();
        starts(&after, &[oldest.expect("a group has a pod")], 1)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_way_out_is_true_when_made(
        nodes in world::nodes(),
        events in prop::collection::vec(world::event(), 5..40),
    ) {
        let mut random = Random::new(&nodes);
        for (at, event) in events.iter().enumerate() {
            random.apply(event, Time::from_secs(at as i64 * 60));
        }
        cycle_on(&random.world.draft).apply(&mut random.world.draft, NOW);
        let draft = random.world.draft;
        let waiting = cycle_on(&draft).waiting;
        for (key, hindrance) in waiting.iter().take(6) {
            let changes = ways_out(&draft, key, *hindrance);
            for change in &changes {
                if let Change::Complete { missing } = change {
                    let told = matches!(hindrance, Hindrance::GangIncomplete { have, need }
                        if need - have == *missing && *missing > 0);
                    prop_assert!(told);
                    continue;
                }
                let mut after = draft.clone();
                let (pods, need) = make(&mut after, key, change);
                prop_assert!(starts(&after, &pods, need), "{change:?} doesn't start {key:?}");
            }
            // Raises are the least that help.
            let raises = changes.iter().find_map(|change| match change {
                Change::MoreQuota { raises } => Some(raises),
                _ => None,
            });
            if let Some([raise]) = raises.map(|raises| &raises[..]) {
                let mut less = draft.clone();
                lift(&mut less, raise, raise.by - 1);
                let oldest = *draft.pending()[key].values().next().expect("a group has a pod");
                let is_gang = matches!(key.alike, Alike::Gang { .. });
                prop_assert!(is_gang || !starts(&less, &[oldest], 1));
            }
            // If one job's end would do, a job's end is told; where others wait too and take what the
            // first candidates leave, the bounded search may miss one.
            let single = matches!(key.alike, Alike::Task { .. }) && waiting.len() == 1;
            let tells_end = changes.iter().any(|change| matches!(change, Change::Ends { .. }));
            if single && some_end_helps(&draft, key) {
                prop_assert!(tells_end, "some job's end starts {key:?}, and {changes:?} is told");
            }
        }
    }
}

#[test]
fn each_kind_of_change_is_found_where_it_is_the_one() {
    let only = |world: &World| {
        let decisions = cycle_on(&world.draft);
        let (key, hindrance) = decisions.waiting[0];
        ways_out(&world.draft, &key, hindrance)
    };
    let full = |gpus: usize, request: Request| {
        let mut world = World::new();
        world.node("n", gpus, GpuMode::TimeSlice);
        world.pod("first", 0, request);
        cycle_on(&world.draft).apply(&mut world.draft, Time::ZERO);
        world
    };
    // Half a card is left: a share of half a card starts now, a whole one when the first ends.
    let mut world = full(1, share(500));
    let first = world.draft.pods().next().expect("the first").0;
    world.pod("late", 1, share(800));
    let changes = only(&world);
    assert!(
        matches!(&changes[0], Change::LessGpu { gpu } if *gpu == share(500).gpu),
        "{changes:?}"
    );
    assert_eq!(changes[1], Change::Ends { pods: vec![first] });
    // Three cards of four are left.
    let mut world = full(4, whole(1));
    world.pod("late", 1, whole(4));
    let changes = only(&world);
    assert_eq!(changes[0], Change::LessGpu { gpu: whole(3).gpu });
    // The machine is too small: fewer cores.
    let mut world = full(1, share(500));
    let wide = Request {
        cpu: berth_core::amount::MilliCpu::from_cores(70),
        ..share(500)
    };
    world.pod("wide", 1, wide);
    let changes = only(&world);
    assert!(
        matches!(changes[0], Change::LessHost { cpu, .. } if cpu.0 == 63_000),
        "{changes:?}"
    );
    // Another model is free.
    let mut world = full(1, whole(1));
    let t4 = world.t4;
    world.node_with("t", 64, t4, vec![GpuMode::TimeSlice]);
    let a100 = world.a100;
    let picky = Request {
        models: berth_core::model::gpu::ModelSet::NONE.with(a100),
        ..whole(1)
    };
    world.pod("picky", 1, picky);
    assert_eq!(only(&world)[0], Change::OtherModel { model: t4 });
}

#[test]
fn a_limit_is_raised_by_the_least_that_helps() {
    let mut world = World::new();
    world.node("n", 4, GpuMode::TimeSlice);
    let root = world.root;
    let spec = berth_core::model::queue::QueueSpec::new("team", Some(root));
    let limit = Some(berth_core::amount::GpuUnits(15_000));
    let team = world
        .draft
        .add_queue(spec.with_limit(limit))
        .expect("shallow");
    world.pod_in("a", 0, whole(1), 0, team, None);
    world.pod_in("b", 1, whole(1), 0, team, None);
    let decisions = cycle_on(&world.draft);
    decisions.apply(&mut world.draft, NOW);
    let decisions = cycle_on(&world.draft);
    let (key, hindrance) = decisions.waiting[0];
    let changes = ways_out(&world.draft, &key, hindrance);
    let raises = changes.iter().find_map(|change| match change {
        Change::MoreQuota { raises } => Some(&raises[..]),
        _ => None,
    });
    let [Raise { queue, by, .. }] = raises.expect("quota is what is missing") else {
        panic!("{changes:?}");
    };
    assert_eq!((*queue, *by), (team, 5_000));
    let room = world.draft.room_for(team, 0, 10_000, Beside::WhatIsHeld);
    assert!(room.is_err());
}
