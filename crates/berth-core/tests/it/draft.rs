//! The books: stale actions are refused, and giving back undoes exactly what was charged.

use berth_core::amount::{Bytes, GpuUnits};
use berth_core::id::NodeId;
use berth_core::invariant;
use berth_core::model::draft::{Draft, Refused};
use berth_core::model::gpu::{GpuGrant, GpuHealth, GpuMode, GpuSet};
use berth_core::model::mig::MigProfileId;
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::GpuRequest;
use berth_core::sched::fit;
use berth_core::time::Time;

use crate::world::{World, share, whole, with_gpu};

const FIRST: GpuGrant = GpuGrant::Share {
    gpu: 0,
    compute: GpuUnits(5000),
    memory: Bytes::ZERO,
};

#[test]
fn an_action_on_a_pod_that_has_gone_misses_its_successor() {
    let mut world = World::new();
    let node = world.node("n1", 1, GpuMode::TimeSlice);
    let gone = world.pod("first", 0, share(500));
    world.draft.remove_pod(gone, Time::ZERO).expect("it waits");
    let successor = world.pod("second", 1, share(500));
    assert_eq!(gone.slot, successor.slot);
    assert_eq!(
        world.draft.bind(gone, node, FIRST, Time::ZERO),
        Err(Refused::PodGone)
    );
    assert_eq!(
        world
            .draft
            .remove_pod(gone, Time::ZERO)
            .expect_err("it has gone"),
        Refused::PodGone
    );
    assert!(world.draft.pod(successor).is_some());
}

#[test]
fn a_place_is_given_once() {
    let mut world = World::new();
    let node = world.node("n1", 1, GpuMode::TimeSlice);
    let (a, b) = (world.pod("a", 0, whole(1)), world.pod("b", 0, whole(1)));
    let grant = GpuGrant::Whole {
        gpus: GpuSet::one(0),
    };
    assert_eq!(world.draft.bind(a, node, grant, Time::ZERO), Ok(()));
    assert_eq!(
        world.draft.bind(b, node, grant, Time::ZERO),
        Err(Refused::NoLongerFits)
    );
    assert_eq!(
        world.draft.bind(a, node, grant, Time::ZERO),
        Err(Refused::AlreadyBound)
    );
    assert_eq!(world.draft.evict(b, Time::ZERO), Err(Refused::NotBound));
    assert_eq!(
        world.draft.bind(b, NodeId(9), grant, Time::ZERO),
        Err(Refused::NoLongerFits)
    );
    assert_eq!(invariant::check(&world.draft), vec![]);
}

#[test]
fn an_unhealthy_card_takes_nothing_new_and_keeps_what_it_has() {
    let mut world = World::new();
    let node = world.node("n1", 1, GpuMode::TimeSlice);
    let (a, b) = (world.pod("a", 0, share(500)), world.pod("b", 0, share(500)));
    world
        .draft
        .bind(a, node, FIRST, Time::ZERO)
        .expect("it fits");
    world.draft.set_gpu_health(node, 0, GpuHealth::Degraded);
    assert_eq!(
        world.draft.bind(b, node, FIRST, Time::ZERO),
        Err(Refused::NoLongerFits)
    );
    assert!(world.draft.node(node).placement(a).is_some());
    assert_eq!(world.draft.set_gpu_health(node, 7, GpuHealth::Failed), None);
}

#[test]
fn giving_back_restores_every_kind_of_card() {
    let requests = [
        (GpuMode::TimeSlice, share(300)),
        (GpuMode::Exclusive, whole(1)),
        (
            GpuMode::Mig,
            with_gpu(GpuRequest::Mig {
                profile: MigProfileId(2),
            }),
        ),
        (
            GpuMode::Passthrough,
            with_gpu(GpuRequest::Passthrough { count: 1 }),
        ),
        (
            GpuMode::TimeSlice,
            with_gpu(GpuRequest::Share {
                compute: GpuUnits::ZERO,
                memory: Bytes::from_gib(20),
            }),
        ),
    ];
    for (mode, request) in requests {
        let mut world = World::new();
        let node = world.node("n1", 2, mode);
        let before = world.draft.node(node).state.clone();
        let pod = world.pod("p", 0, request);
        let state = &world.draft.node(node).state;
        let shape = &world.draft.node(node).shape;
        let grant = fit::best_fit_grant(world.draft.catalog(), &request, shape, state);
        world
            .draft
            .bind(pod, node, grant, Time::ZERO)
            .expect("it fits an empty node");
        assert_ne!(world.draft.node(node).state, before);
        assert_eq!(world.draft.queue(world.root).used(), grant.equivalents());
        world.draft.evict(pod, Time::ZERO).expect("it is bound");
        assert_eq!(world.draft.node(node).state, before, "{request:?}");
        assert_eq!(world.draft.queue(world.root).used(), GpuUnits::ZERO);
        assert_eq!(world.draft.pod(pod).map(|pod| pod.evictions), Some(1));
    }
}

#[test]
fn a_hypothesis_leaves_the_snapshot_as_it_was() {
    let mut world = World::new();
    let node = world.node("n1", 1, GpuMode::TimeSlice);
    let pod = world.pod("p", 0, share(500));
    let snapshot = world.draft.snapshot();
    let mut draft = Draft::over(&snapshot);
    draft.bind(pod, node, FIRST, Time::ZERO).expect("it fits");
    draft.set_gpu_health(node, 0, GpuHealth::Failed);
    assert_eq!(
        snapshot.node(node).state.gpus[0].free_compute,
        GpuUnits::ONE_GPU
    );
    assert_eq!(snapshot.node(node).state.gpus[0].health, GpuHealth::Healthy);
    assert_eq!((snapshot.n_pending(), snapshot.n_bound()), (1, 0));
    assert_eq!((draft.n_pending(), draft.n_bound()), (0, 1));
}

#[test]
fn bounds_are_refused_with_their_name() {
    let mut draft = Draft::new();
    let mut parent = None;
    for depth in 0..16 {
        parent = Some(
            draft
                .add_queue(QueueSpec::new(format!("q{depth}"), parent))
                .expect("within bounds"),
        );
    }
    let text = draft
        .add_queue(QueueSpec::new("deep", parent))
        .expect_err("too deep")
        .to_string();
    assert!(text.contains("`deep` would be 17 levels deep"), "{text}");
    let text = draft
        .add_gang("g", 10_001, 0)
        .expect_err("too large")
        .to_string();
    assert!(text.contains("members of one gang"), "{text}");
}
