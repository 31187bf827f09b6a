//! The one reason is the true one.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::id::NodeId;
use berth_core::model::gpu::{GpuHealth, GpuMode, ModelSet};
use berth_core::model::mig::MigProfileId;
use berth_core::model::node::Readiness;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::sched::cycle;
use berth_core::sched::explain::{Explanation, Obstacle, Reason, explain};
use berth_core::sched::policy::named;
use berth_core::sched::profile::Effort;
use berth_core::stream::Stream;
use berth_core::time::Time;
use proptest::prelude::*;

use crate::world::{Random, World, event, nodes, profile, share, whole, with_gpu};

fn explanations(world: &World) -> Vec<Explanation> {
    let profile = profile(named("fgd").expect("it is in the catalogue"));
    let snapshot = world.draft.snapshot();
    let decisions = cycle::run(
        &snapshot,
        &profile,
        Effort::Place,
        Time::ZERO,
        &mut Stream::from_seed(0),
    );
    let mut after = world.draft.clone();
    for bind in &decisions.binds {
        after
            .bind(bind.pod, bind.node, bind.grant, Time::ZERO)
            .expect("it fits");
    }
    decisions
        .waiting
        .iter()
        .map(|(key, hindrance)| explain(&after, key, *hindrance))
        .collect()
}

fn check(build: impl FnOnce(&mut World), reason: Reason) -> Explanation {
    let mut world = World::new();
    build(&mut world);
    let mut all = explanations(&world);
    assert_eq!(all.len(), 1, "{all:?}");
    let explanation = all.remove(0);
    assert_eq!(explanation.reason, reason, "{explanation:?}");
    explanation
}

#[test]
fn each_cause_gives_its_own_reason() {
    let t4_only = |world: &World| Request {
        models: ModelSet::NONE.with(world.t4),
        ..whole(1)
    };
    check(
        |world| {
            world.node("n1", 4, GpuMode::TimeSlice);
            let request = t4_only(world);
            world.pod("p", 0, request);
        },
        Reason::NoMatchingGpu,
    );
    check(
        |world| {
            world.node("n1", 4, GpuMode::TimeSlice);
            world.pod("p", 0, whole(5));
        },
        Reason::NeverFits,
    );
    check(
        |world| {
            world.node("n1", 4, GpuMode::Exclusive);
            world.pod(
                "p",
                0,
                with_gpu(GpuRequest::Mig {
                    profile: MigProfileId(0),
                }),
            );
        },
        Reason::NoMatchingMode,
    );
    check(
        |world| {
            let node = world.node("n1", 1, GpuMode::Exclusive);
            world.draft.set_gpu_health(node, 0, GpuHealth::Failed);
            world.pod("p", 0, whole(1));
        },
        Reason::GpuUnhealthy,
    );
    check(
        |world| {
            let node = world.node("n1", 1, GpuMode::Exclusive);
            world.draft.set_readiness(node, Readiness::Cordoned);
            world.pod("p", 0, whole(1));
        },
        Reason::NodeNotReady,
    );
    check(
        |world| {
            world.node("n1", 2, GpuMode::Exclusive);
            world.pod("a", 0, whole(2));
            world.pod("b", 1, whole(1));
        },
        Reason::GpuBusy,
    );
    check(
        |world| {
            world.node("n1", 4, GpuMode::Exclusive);
            let greedy = Request {
                cpu: MilliCpu::from_cores(60),
                ..whole(1)
            };
            world.pod("a", 0, greedy);
            world.pod("b", 1, greedy);
        },
        Reason::HostFull,
    );
}

#[test]
fn pieces_that_would_suffice_together_are_called_fragmented() {
    let explanation = check(
        |world| {
            world.node("n1", 2, GpuMode::TimeSlice);
            world.pod("a", 0, share(600));
            world.pod("b", 1, share(600));
            world.pod("c", 2, share(700));
        },
        Reason::Fragmented,
    );
    assert_eq!(explanation.nodes, vec![(Obstacle::Fragmented, 1)]);
    assert_eq!(explanation.largest_free, GpuUnits::from_milli(400));
    assert_eq!(explanation.total_free, GpuUnits::from_milli(800));
}

#[test]
fn one_broken_card_does_not_speak_for_a_busy_cluster() {
    let explanation = check(
        |world| {
            let broken = world.node("n0", 1, GpuMode::Exclusive);
            world.draft.set_gpu_health(broken, 0, GpuHealth::Failed);
            for at in 1..=3 {
                world.node(&format!("n{at}"), 1, GpuMode::Exclusive);
                world.pod(&format!("a{at}"), 0, whole(1));
            }
            world.pod("b", 1, whole(1));
        },
        Reason::GpuBusy,
    );
    assert_eq!(
        explanation.nodes,
        vec![(Obstacle::Unhealthy, 1), (Obstacle::GpuBusy, 3)]
    );
    assert_eq!(explanation.largest_free, GpuUnits::ZERO);
}

#[test]
fn a_share_of_more_memory_than_any_card_has_never_fits() {
    check(
        |world| {
            world.node("n1", 2, GpuMode::TimeSlice);
            let memory = Bytes::from_gib(81);
            let share = GpuRequest::Share {
                compute: GpuUnits(100),
                memory,
            };
            world.pod("p", 0, with_gpu(share));
        },
        Reason::NeverFits,
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Each node counts under one obstacle, exactly if the request doesn't fit it.
    #[test]
    fn the_evidence_sums_to_the_nodes(
        nodes in nodes(),
        events in prop::collection::vec(event(), 1..30),
    ) {
        let mut random = Random::new(&nodes);
        let profile = profile(named("best-fit").expect("it is in the catalogue"));
        for (at, event) in events.iter().enumerate() {
            let now = Time::from_secs(at as i64);
            random.apply(event, now);
            let decisions =
                cycle::run(&random.world.draft, &profile, Effort::Place, now, &mut Stream::from_seed(0));
            let draft = &mut random.world.draft;
            for evict in &decisions.evictions {
                draft.evict(evict.pod, now).expect("it is bound");
            }
            for bind in &decisions.binds {
                draft.bind(bind.pod, bind.node, bind.grant, now).expect("it fits");
            }
            for (key, hindrance) in &decisions.waiting {
                let explanation = explain(draft, key, *hindrance);
                let counted: u32 = explanation.nodes.iter().map(|(_, n)| n).sum();
                let fitting = (0..draft.nodes().len()).filter(|&at| {
                    let node = draft.node(NodeId::at(at));
                    let pod = draft.pending()[key].values().next().expect("the group waits");
                    let task = draft.pod(*pod).expect("it waits").spec.task;
                    let request = draft.catalog().task(task);
                    berth_core::sched::fit::fits(draft.catalog(), request, &node.shape, &node.state)
                });
                prop_assert_eq!(counted as usize + fitting.count(), draft.nodes().len());
            }
        }
    }
}
