//! What nobody should ask for: the books stay right, and what can't start is told why.

use berth_core::invariant;
use berth_core::model::gpu::GpuMode;
use berth_core::model::queue::QueueSpec;
use berth_core::quota::{Meter, Quota};
use berth_core::sched::cycle;
use berth_core::sched::decisions::Decisions;
use berth_core::sched::explain::{Hindrance, Reason, explain};
use berth_core::sched::policy::named;
use berth_core::sched::profile::Effort;
use berth_core::stream::Stream;
use berth_core::time::Time;

use crate::world::{World, profile, whole};

/// Runs a cycle, applies it, and recounts everything.
fn cycle_of(world: &mut World) -> Decisions {
    let profile = profile(named("fgd").expect("it is in the catalogue"));
    let (now, mut stream) = (Time::from_secs(86_400), Stream::from_seed(0));
    let decisions = cycle::run(&world.draft, &profile, Effort::MakeRoom, now, &mut stream);
    decisions.apply(&mut world.draft, now);
    assert_eq!(invariant::check(&world.draft), []);
    decisions
}

fn reasons(world: &World, decisions: &Decisions) -> Vec<Reason> {
    let waiting = decisions.waiting.iter();
    waiting
        .map(|(key, hindrance)| explain(&world.draft, key, *hindrance).reason)
        .collect()
}

#[test]
fn a_limit_below_use_keeps_new_work_out_and_evicts_nobody() {
    let mut world = World::new();
    world.node("n", 8, GpuMode::Exclusive);
    for at in 0..3 {
        world.pod(&format!("runs-{at}"), at, whole(1));
    }
    assert_eq!(cycle_of(&mut world).binds.len(), 3);
    for limit in [2, 0, -1, i64::MIN] {
        let limit = limit.max(i64::MIN / 10_000) * 10_000;
        let quota = Quota {
            limit: Some(limit),
            ..Quota::default()
        };
        world.draft.set_quota(world.root, Meter::Gpu, quota);
        let late = world.pod(&format!("late-{limit}"), 9, whole(1));
        let decisions = cycle_of(&mut world);
        assert!(decisions.binds.is_empty() && decisions.evictions.is_empty());
        let expected = if limit >= 10_000 {
            Reason::QueueLimit
        } else {
            Reason::ExceedsMaxQuota
        };
        assert_eq!(reasons(&world, &decisions), [expected], "limit {limit}");
        world.draft.remove_pod(late, Time::ZERO).expect("it waits");
    }
}

#[test]
fn amounts_at_the_ends_of_their_range_add_up() {
    let ends = [i64::MIN, -1, 0, 1, i64::MAX];
    for nominal in ends {
        for other in ends {
            let mut world = World::new();
            world.node("n", 4, GpuMode::Exclusive);
            let quota = |amount| Quota {
                nominal: Some(amount),
                borrowing_limit: Some(other),
                lending_limit: Some(other),
                limit: Some(i64::MAX),
            };
            for (name, amount) in [("a", nominal), ("b", other)] {
                let spec = QueueSpec::new(name, Some(world.root)).with_gpus(quota(amount));
                let queue = world.draft.add_queue(spec).expect("it is shallow");
                world.pod_in(name, 0, whole(1), 0, queue, None);
            }
            let decisions = cycle_of(&mut world);
            assert_eq!(decisions.binds.len() + decisions.waiting.len(), 2);
            assert!(nominal < i64::MAX || !decisions.binds.is_empty());
            for id in [0, 1, 2].map(berth_core::id::QueueId::at) {
                world.draft.set_quota(id, Meter::Gpu, quota(other));
            }
            assert_eq!(invariant::check(&world.draft), []);
        }
    }
}

#[test]
fn a_queue_of_weight_zero_comes_last_and_has_what_is_left() {
    let mut world = World::new();
    world.node("n", 4, GpuMode::Exclusive);
    let mut add = |name: &str, weight| {
        let spec = QueueSpec {
            weight,
            ..QueueSpec::new(name, Some(world.root))
        };
        world.draft.add_queue(spec).expect("it is shallow")
    };
    let (nothing, something) = (add("a", 0), add("b", 1));
    for at in 0..3 {
        world.pod_in(&format!("a-{at}"), at, whole(1), 0, nothing, None);
        world.pod_in(&format!("b-{at}"), 9, whole(1), 0, something, None);
    }
    cycle_of(&mut world);
    let held = |id| world.draft.queue(id).used().0 / 10_000;
    assert_eq!((held(something), held(nothing)), (3, 1));
}

#[test]
fn a_gang_larger_than_the_cluster_holds_nothing() {
    let mut world = World::new();
    world.node("n", 4, GpuMode::Exclusive);
    let gang = world.draft.add_gang("gang", 9, 0).expect("it is bounded");
    for at in 0..9 {
        let name = format!("member-{at}");
        world.pod_in(&name, 0, whole(1), 0, world.root, Some(gang));
    }
    for at in 0..4 {
        world.pod(&format!("single-{at}"), 1, whole(1));
    }
    let decisions = cycle_of(&mut world);
    assert_eq!(decisions.binds.len(), 4);
    assert!(decisions.evictions.is_empty());
    let [(_, hindrance)] = decisions.waiting[..] else {
        panic!("{:?}", decisions.waiting);
    };
    assert_eq!(hindrance, Hindrance::GangNoRoom { placed: 4, need: 9 });
    assert_eq!(world.draft.gang(gang).bound, 0);
}

#[test]
fn ten_thousand_queues_are_charged_to_the_last() {
    let mut world = World::new();
    for at in 0..1_250 {
        world.node(&format!("n-{at}"), 8, GpuMode::Exclusive);
    }
    for at in 0..10_000 {
        let spec = QueueSpec::new(format!("leaf-{at}"), Some(world.root));
        let queue = world.draft.add_queue(spec).expect("it is shallow");
        world.pod_in(&format!("p-{at}"), 0, whole(1), 0, queue, None);
    }
    assert_eq!(cycle_of(&mut world).binds.len(), 10_000);
    assert_eq!(world.draft.queue(world.root).used().0, 100_000_000);
}
