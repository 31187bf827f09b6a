//! Who holds what is short.

use berth_core::id::PodId;
use berth_core::model::gpu::{GpuGrant, GpuMode, GpuSet};
use berth_core::model::queue::QueueSpec;
use berth_core::quota::{Meter, Quota};
use berth_core::sched::cycle;
use berth_core::sched::explain::explain;
use berth_core::sched::holders::{Holder, Short, holders};
use berth_core::sched::policy::named;
use berth_core::sched::profile::Effort;
use berth_core::stream::Stream;
use berth_core::time::Time;

use crate::world::{World, profile, whole};

fn place(world: &mut World, pod: PodId, node: berth_core::id::NodeId, gpus: &[usize]) {
    let gpus = gpus.iter().copied().fold(GpuSet::EMPTY, GpuSet::with);
    let grant = GpuGrant::Whole { gpus };
    let bound = world.draft.bind(pod, node, grant, Time::ZERO);
    bound.expect("it fits");
}

fn found(world: &World) -> (Short, Vec<Holder>) {
    let profile = profile(named("fgd").expect("it is in the catalogue"));
    let (now, mut stream) = (Time::ZERO, Stream::from_seed(0));
    let decisions = cycle::run(&world.draft, &profile, Effort::Place, now, &mut stream);
    let (key, hindrance) = decisions.waiting[0];
    let explained = explain(&world.draft, &key, hindrance);
    let found = holders(&world.draft, &key, &explained).expect("somebody holds it");
    (found.short, found.holders)
}

#[test]
fn gpus_are_held_by_those_on_nodes_that_would_do_the_largest_first() {
    let mut world = World::new();
    let near = world.node("near", 4, GpuMode::Exclusive);
    let small = world.node("small", 1, GpuMode::Exclusive);
    let one = world.pod("one", 0, whole(1));
    place(&mut world, one, near, &[0]);
    world.user = world.draft.add_user("bob");
    let two = world.pod("two", 0, whole(2));
    place(&mut world, two, near, &[1, 2]);
    let elsewhere = world.pod("elsewhere", 0, whole(1));
    place(&mut world, elsewhere, small, &[0]);
    world.pod("waits", 1, whole(4));
    let (short, holders) = found(&world);
    assert_eq!(short, Short::Gpu);
    let seen: Vec<_> = holders
        .iter()
        .map(|holder| (holder.amount, holder.pods, holder.largest))
        .collect();
    assert_eq!(seen, [(20_000, 1, two), (10_000, 1, one)]);
}

#[test]
fn quota_is_held_by_those_in_the_queue_and_below_it() {
    let mut world = World::new();
    let node = world.node("n", 8, GpuMode::Exclusive);
    let limit = Quota {
        limit: Some(30_000),
        ..Quota::default()
    };
    world.draft.set_quota(world.root, Meter::Gpu, limit);
    let root = world.root;
    let below = world.draft.add_queue(QueueSpec::new("below", Some(root)));
    let own = world.pod("own", 0, whole(1));
    place(&mut world, own, node, &[0]);
    world.root = below.expect("the tree is shallow");
    let first = world.pod("b", 0, whole(1));
    let second = world.pod("a", 0, whole(1));
    place(&mut world, first, node, &[1]);
    place(&mut world, second, node, &[2]);
    world.pod("waits", 1, whole(1));
    let (short, holders) = found(&world);
    let (queue, meter) = (root, Meter::Gpu);
    assert_eq!(short, Short::Quota { queue, meter });
    let seen: Vec<_> = holders
        .iter()
        .map(|holder| (holder.amount, holder.pods, holder.largest))
        .collect();
    // Among equals the first by name stands for the others.
    assert_eq!(seen, [(20_000, 2, second), (10_000, 1, own)]);
}

#[test]
fn nobody_holds_what_the_cluster_never_had() {
    let mut world = World::new();
    world.node("n", 1, GpuMode::Exclusive);
    world.pod("waits", 1, whole(4));
    let profile = profile(named("fgd").expect("it is in the catalogue"));
    let (now, mut stream) = (Time::ZERO, Stream::from_seed(0));
    let decisions = cycle::run(&world.draft, &profile, Effort::Place, now, &mut stream);
    let (key, hindrance) = decisions.waiting[0];
    let explained = explain(&world.draft, &key, hindrance);
    assert_eq!(holders(&world.draft, &key, &explained), None);
}
