//! The engine against the oracle, and against itself without a memory.

use std::sync::Arc;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::id::NodeId;
use berth_core::invariant;
use berth_core::limits;
use berth_core::model::draft::Draft;
use berth_core::model::gpu::{GpuMode, ModelSet};
use berth_core::model::node::Readiness;
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::sched::cycle;
use berth_core::sched::decisions::{Decisions, EvictCause};
use berth_core::sched::engine::Engine;
use berth_core::sched::explain::Hindrance;
use berth_core::sched::fragmentation::{TargetTask, TargetWorkload};
use berth_core::sched::policy::{POLICIES, Selection, named};
use berth_core::sched::profile::{Effort, Profile};
use berth_core::stream::Stream;
use berth_core::time::Time;
use proptest::prelude::*;

use crate::oracle;
use crate::world::{Random, World, event, nodes, profile, share, whole};

fn cold(draft: &Draft, policy: &str) -> Decisions {
    let policy = named(policy).expect("a policy of the catalogue");
    cycle::run(
        draft,
        &profile(policy),
        Effort::Place,
        Time::ZERO,
        &mut Stream::from_seed(1),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Through any history: decisions are those of the brute-force oracle, a memory changes
    /// nothing, the books balance, gangs are whole, and everybody who waits is accounted for.
    #[test]
    fn every_policy_decides_like_the_oracle_through_any_history(
        nodes in nodes(),
        events in prop::collection::vec(event(), 1..40),
        policy in 0..POLICIES.len(),
    ) {
        let policy = POLICIES[policy];
        let profile = profile(policy);
        let mut random = Random::new(&nodes);
        let mut engine = Engine::new(&profile);
        for (at, event) in events.iter().enumerate() {
            let now = Time::from_secs(at as i64);
            random.apply(event, now);
            let snapshot = random.world.draft.snapshot();
            let stream = Stream::from_seed(5).child_n(at as u64);
            let profile = engine.profile();
            let decisions = engine.run(&snapshot, Effort::Place, now, &mut stream.clone());
            prop_assert_eq!(&decisions, &cycle::run(&snapshot, &profile, Effort::Place, now, &mut stream.clone()));
            if policy.selection == Selection::HighestScore {
                prop_assert_eq!(&decisions.binds, &oracle::binds(&snapshot, &profile, now));
            }
            decisions.apply(&mut random.world.draft, now);
            let after = &random.world.draft;
            prop_assert_eq!(invariant::check(after), vec![]);
            prop_assert_eq!(after.stranded_gangs().count(), 0);
            let waiting: Vec<_> = decisions.waiting.iter().map(|(key, _)| *key).collect();
            let mut still: Vec<_> = after.pending().keys().copied().collect();
            let mut said = waiting.clone();
            still.sort();
            said.sort();
            prop_assert_eq!(said, still);
        }
    }

    /// The order in which nodes became known decides nothing.
    #[test]
    fn decisions_do_not_depend_on_the_order_of_nodes(
        nodes in nodes(),
        requests in prop::collection::vec(crate::world::request(), 1..20),
        policy in 0..POLICIES.len(),
    ) {
        let policy = POLICIES[policy];
        let places = |reversed: bool| {
            let mut world = World::new();
            let mut order: Vec<usize> = (0..nodes.len()).collect();
            if reversed {
                order.reverse();
            }
            for at in order {
                let (cores, is_t4, modes) = &nodes[at];
                let model = if *is_t4 { world.t4 } else { world.a100 };
                world.node_with(&format!("node-{at}"), *cores, model, modes.clone());
            }
            for (at, request) in requests.iter().enumerate() {
                world.pod(&format!("pod-{at:02}"), at as i64, *request);
            }
            let decisions = cold(&world.draft, policy.name);
            let name = |id| world.draft.node(id).name.to_string();
            decisions.binds.iter().map(|bind| (bind.pod, name(bind.node), bind.grant)).collect::<Vec<_>>()
        };
        prop_assert_eq!(places(false), places(true));
    }
}

#[test]
fn halves_pair_up_on_cards() {
    let mut world = World::new();
    let node = world.node("n1", 8, GpuMode::TimeSlice);
    for at in 0..16 {
        world.pod(&format!("p{at:02}"), 0, share(500));
    }
    let decisions = cold(&world.draft, "fgd");
    decisions.apply(&mut world.draft, Time::ZERO);
    assert_eq!(decisions.binds.len(), 16);
    let gpus = &world.draft.node(node).state.gpus;
    assert!(
        gpus.iter()
            .all(|gpu| gpu.tenants == 2 && gpu.free_compute == GpuUnits::ZERO)
    );
}

#[test]
fn a_gang_waits_for_its_last_member_and_then_starts_at_once() {
    let mut world = World::new();
    world.node("n1", 4, GpuMode::Exclusive);
    let (gang, root) = (world.draft.add_gang("g", 3, 0).expect("small"), world.root);
    for at in 0..2 {
        world.pod_in(&format!("m{at}"), 0, whole(1), 0, root, Some(gang));
    }
    let first = cold(&world.draft, "best-fit");
    assert!(first.binds.is_empty());
    assert_eq!(
        first.waiting[0].1,
        Hindrance::GangIncomplete { have: 2, need: 3 }
    );
    world.pod_in("m2", 5, whole(1), 0, root, Some(gang));
    assert_eq!(cold(&world.draft, "best-fit").binds.len(), 3);
}

#[test]
fn two_gangs_that_fill_the_cluster_run_one_after_the_other() {
    let mut world = World::new();
    world.node("n1", 4, GpuMode::Exclusive);
    let root = world.root;
    for name in ["a", "b"] {
        let gang = world.draft.add_gang(name, 4, 0).expect("small");
        for at in 0..4 {
            world.pod_in(&format!("{name}{at}"), 0, whole(1), 0, root, Some(gang));
        }
    }
    let decisions = cold(&world.draft, "fgd");
    assert_eq!(decisions.binds.len(), 4);
    assert_eq!(
        decisions.waiting[0].1,
        Hindrance::GangNoRoom { placed: 0, need: 4 }
    );
}

#[test]
fn a_gang_that_lost_a_member_gives_its_places_back_when_it_cannot_be_whole() {
    let mut world = World::new();
    let (lost, _) = (
        world.node("n1", 1, GpuMode::Exclusive),
        world.node("n2", 1, GpuMode::Exclusive),
    );
    let (gang, root) = (world.draft.add_gang("g", 2, 0).expect("small"), world.root);
    for at in 0..2 {
        world.pod_in(&format!("m{at}"), 0, whole(1), 0, root, Some(gang));
    }
    let decisions = cold(&world.draft, "fgd");
    decisions.apply(&mut world.draft, Time::ZERO);
    let other = world.pod("single", 1, whole(1));
    world.draft.set_readiness(lost, Readiness::Lost);
    let victim = world.draft.node(lost).placements[0].pod;
    world.draft.evict(victim, Time::ZERO).expect("it was bound");
    let decisions = cold(&world.draft, "fgd");
    assert_eq!(decisions.evictions.len(), 1);
    assert_eq!(decisions.evictions[0].cause, EvictCause::GangStranded);
    assert_eq!(
        decisions
            .binds
            .iter()
            .map(|bind| bind.pod)
            .collect::<Vec<_>>(),
        vec![other]
    );
}

#[test]
fn a_queue_at_its_limit_holds_back_only_its_own() {
    let mut world = World::new();
    world.node("n1", 4, GpuMode::Exclusive);
    let (root, limit) = (world.root, Some(GpuUnits::ONE_GPU));
    let small = world
        .draft
        .add_queue(QueueSpec::new("small", Some(root)).with_limit(limit))
        .expect("shallow");
    world.pod_in("a", 0, whole(1), 0, small, None);
    world.pod_in("b", 1, whole(1), 0, small, None);
    world.pod_in("c", 2, whole(1), 0, root, None);
    let decisions = cold(&world.draft, "fgd");
    assert_eq!(decisions.binds.len(), 2);
    assert_eq!(
        decisions.waiting[0].1,
        Hindrance::QueueLimit { queue: small }
    );
}

#[test]
fn higher_priority_goes_first_whatever_its_age() {
    let mut world = World::new();
    world.node("n1", 1, GpuMode::Exclusive);
    let root = world.root;
    world.pod_in("old", 0, whole(1), 0, root, None);
    let urgent = world.pod_in("urgent", 9, whole(1), 5, root, None);
    let decisions = cold(&world.draft, "first-fit");
    assert_eq!(decisions.binds.len(), 1);
    assert_eq!(
        (decisions.binds[0].pod, decisions.binds[0].node),
        (urgent, NodeId(0))
    );
}

#[test]
fn the_same_stream_draws_the_same_places() {
    let mut world = World::new();
    for at in 0..5 {
        world.node(&format!("n{at}"), 4, GpuMode::TimeSlice);
    }
    for at in 0..10 {
        world.pod(&format!("p{at}"), at, share(300));
    }
    assert_eq!(cold(&world.draft, "random"), cold(&world.draft, "random"));
}

/// Long enough for several price steps, with a mix that is known and with one that is not.
#[test]
fn what_was_learned_lives_in_the_profile_alone() {
    let policy = named("berth").expect("the catalogue has it");
    let unknown = Profile {
        workload: Arc::default(),
        ..profile(policy)
    };
    for profile in [profile(policy), unknown] {
        let mut world = World::new();
        for at in 0..3 {
            world.node(&format!("n{at}"), 4, GpuMode::TimeSlice);
        }
        let mut engine = Engine::new(&profile);
        let mut bound = std::collections::VecDeque::new();
        for at in 0..330 {
            let now = Time::from_secs(at);
            let request = match at % 4 {
                0 => whole(1),
                1 => whole(2),
                n => share(n * 230),
            };
            let pod = world.pod(&format!("p{at:03}"), at, request);
            let snapshot = world.draft.snapshot();
            let (before, mut stream) = (engine.profile(), Stream::from_seed(1));
            let decisions = engine.run(&snapshot, Effort::Place, now, &mut stream);
            let cold = cycle::run(
                &snapshot,
                &before,
                Effort::Place,
                now,
                &mut Stream::from_seed(1),
            );
            assert_eq!(decisions, cold, "arrival {at}");
            decisions.apply(&mut world.draft, now);
            bound.extend(decisions.binds.iter().map(|bind| bind.pod));
            if decisions.binds.is_empty() {
                world.draft.remove_pod(pod, now).expect("it waits");
            }
            if bound.len() > 9 {
                let oldest = bound.pop_front().expect("there are ten");
                world.draft.remove_pod(oldest, now).expect("it is bound");
            }
        }
        assert!(engine.profile().prices.is_some());
    }
}

/// What no trace has: nothing asked for, everything asked for, nothing there.
#[test]
fn odd_requests_and_clusters_are_placed_or_wait() {
    let policy = named("berth").expect("the catalogue has it");
    let odd = |cpu: i64, gpu| Request {
        cpu: MilliCpu(cpu),
        memory: Bytes::ZERO,
        gpu,
        models: ModelSet::ANY,
    };
    let tiny = GpuRequest::Share {
        compute: GpuUnits(1),
        memory: Bytes::ZERO,
    };
    let requests = [
        odd(0, GpuRequest::None),
        odd(0, GpuRequest::Whole { count: 1 }),
        odd(0, tiny),
        odd(1, tiny),
        odd(limits::CPU_MAX.0, GpuRequest::None),
        odd(limits::CPU_MAX.0, GpuRequest::Whole { count: 32 }),
        odd(1000, GpuRequest::Whole { count: 20 }),
    ];
    let kinds = requests.iter().map(|request| TargetTask {
        cpu: request.cpu,
        compute_each: GpuUnits(if request.wants_gpu() { 10_000 } else { 0 }),
        gpus: request.whole_gpus(),
        models: ModelSet::ANY,
        count: 1,
    });
    let kinds: Vec<TargetTask> = kinds.collect();
    for (nodes, gpus) in [(0, 0), (1, 0), (2, 1), (2, 32)] {
        for tasks in [&kinds[..0], &kinds[..1], &kinds[..]] {
            let mut world = World::new();
            for at in 0..nodes {
                world.node(&format!("n{at}"), gpus, GpuMode::TimeSlice);
            }
            for (at, request) in requests.iter().cycle().take(70).enumerate() {
                world.pod(&format!("p{at:02}"), 0, *request);
            }
            let profile = Profile {
                workload: Arc::new(TargetWorkload::new(tasks, 7)),
                ..profile(policy)
            };
            let mut stream = Stream::from_seed(1);
            let decisions = cycle::run(
                &world.draft,
                &profile,
                Effort::Place,
                Time::ZERO,
                &mut stream,
            );
            decisions.apply(&mut world.draft, Time::ZERO);
            assert_eq!(invariant::check(&world.draft), vec![]);
        }
    }
}
