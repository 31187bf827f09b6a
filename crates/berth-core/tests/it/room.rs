//! Making room, against brute force: nobody is evicted without a start, and the fewest go.

use berth_core::id::{NodeId, PodId};
use berth_core::model::draft::Draft;
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::{PodSpec, Preempts, Tenure};
use berth_core::model::queue::QueueSpec;
use berth_core::model::request::Request;
use berth_core::quota::{Meter, Quota};
use berth_core::sched::cycle;
use berth_core::sched::decisions::{Decisions, EvictCause};
use berth_core::sched::fit;
use berth_core::sched::policy::named;
use berth_core::sched::profile::{Effort, Profile};
use berth_core::sched::room::EvictionRules;
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};
use proptest::prelude::*;

use crate::world::{World, profile, share, whole};

/// Late enough that nothing is protected by its runtime.
const NOW: Time = Time::from_secs(100_000);

/// Priority, pods, work lost.
type Cost = (i32, usize, i128);

fn decide(draft: &Draft) -> Decisions {
    let policy = named("best-fit").expect("the catalogue has it");
    let rules = EvictionRules {
        min_runtime: Span::ZERO,
        evictions_max: u32::MAX,
        patience: Span::ZERO,
        period: Span::ZERO,
    };
    let profile = Profile {
        evictions: Some(rules),
        ..profile(policy)
    };
    cycle::run(
        draft,
        &profile,
        Effort::MakeRoom,
        NOW,
        &mut Stream::from_seed(1),
    )
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        (1u8..4).prop_map(whole),
        (1i64..10).prop_map(|tenths| share(tenths * 100)),
    ]
}

/// A small full cluster, and somebody who comes late with more priority than the rest.
fn cluster(nodes: &[usize], running: &[(Request, i32)], late: Request) -> (World, PodId) {
    let mut world = World::new();
    for (at, gpus) in nodes.iter().enumerate() {
        world.node(&format!("n{at}"), *gpus, GpuMode::TimeSlice);
    }
    for (at, (request, priority)) in running.iter().enumerate() {
        let root = world.root;
        let name = format!("running-{at}");
        let pod = world.pod_in(&name, at as i64, *request, *priority, root, None);
        let placed =
            world.draft.nodes().iter().position(|node| {
                fit::fits(world.draft.catalog(), request, &node.shape, &node.state)
            });
        let Some(at) = placed else {
            world.draft.remove_pod(pod, Time::ZERO).expect("it waits");
            continue;
        };
        let node = world.draft.node(NodeId::at(at));
        let grant = fit::best_fit_grant(world.draft.catalog(), request, &node.shape, &node.state);
        let bound = world
            .draft
            .bind(pod, NodeId::at(at), grant, Time::from_secs(at as i64 * 7));
        bound.expect("it fits");
    }
    let task = world.draft.catalog_mut().intern_task(late);
    let spec = PodSpec {
        name: "late".into(),
        user: world.user,
        queue: world.root,
        task,
        priority: 2,
        preempts: Preempts::LowerPriority,
        tenure: Tenure::Evictable,
        created: NOW,
        gang: None,
        vm: None,
        facts: None,
    };
    let late = world.draft.add_pod(spec).expect("bounded");
    (world, late)
}

fn cost(draft: &Draft, victims: &[PodId]) -> Cost {
    victims
        .iter()
        .fold((i32::MIN, 0, 0), |(priority, n, lost), &id| {
            let pod = draft.pod(id).expect("it runs");
            let node = draft.node(pod.node().expect("it runs"));
            let placement = node.placement(id).expect("it runs");
            let units = i128::from(placement.grant.equivalents().0);
            let since = match pod.phase {
                berth_core::model::pod::Phase::Bound { since, .. } => since,
                berth_core::model::pod::Phase::Pending { .. } => NOW,
            };
            let ran = i128::from(NOW.since(since).0);
            (priority.max(pod.spec.priority), n + 1, lost + units * ran)
        })
}

/// The least that a start of `late` costs, over every set of those who may go; `None` if none helps.
fn least(draft: &Draft, late: PodId) -> Option<Cost> {
    let request = *draft.catalog().task(draft.pod(late)?.spec.task);
    let prey: Vec<PodId> = draft
        .pods()
        .filter(|(_, pod)| pod.node().is_some() && pod.spec.priority < 2)
        .map(|(id, _)| id)
        .collect();
    let sets = 0u32..1 << prey.len();
    let chosen = |mask: u32| -> Vec<PodId> {
        let bit = |at: &usize| mask >> at & 1 == 1;
        (0..prey.len()).filter(bit).map(|at| prey[at]).collect()
    };
    let works = |victims: &[PodId]| {
        let mut after = draft.clone();
        for &pod in victims {
            after.evict(pod, NOW).expect("it runs");
        }
        let mut nodes = after.nodes().iter();
        nodes.any(|node| fit::fits(after.catalog(), &request, &node.shape, &node.state))
    };
    sets.map(chosen)
        .filter(|victims| works(victims))
        .map(|victims| cost(draft, &victims))
        .min()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Of all sets of victims that would do, the cheapest goes; and nobody goes for nothing.
    #[test]
    fn the_cheapest_victims_go_and_nobody_for_nothing(
        nodes in prop::collection::vec(1usize..4, 1..3),
        running in prop::collection::vec((request(), 0i32..4), 0..9),
        late in request(),
    ) {
        let (world, late) = cluster(&nodes, &running, late);
        let decisions = decide(&world.draft);
        let starts = decisions.binds.iter().any(|bind| bind.pod == late);
        let victims: Vec<PodId> = decisions.evictions.iter().map(|evict| evict.pod).collect();
        match least(&world.draft, late) {
            Some(least) => {
                prop_assert!(starts);
                prop_assert_eq!(cost(&world.draft, &victims), least);
            }
            None => prop_assert!(!starts && victims.is_empty()),
        }
        for evict in &decisions.evictions {
            prop_assert_eq!((evict.cause, evict.by), (EvictCause::Preempted, Some(late)));
        }
    }

    /// Quota goes back to whom it belongs, to the last unit, and not a pod further.
    #[test]
    fn an_owner_gets_what_is_its_own_and_no_more(
        own in 0i64..6,
        others in 0i64..6,
        wanted in 1usize..8,
        flood in 0usize..9,
    ) {
        let gpus = own + others;
        prop_assume!(gpus > 0);
        let mut world = World::new();
        for at in 0..gpus {
            world.node(&format!("n{at}"), 1, GpuMode::TimeSlice);
        }
        let nominal = |gpus: i64| Quota { nominal: Some(gpus * 10_000), ..Quota::default() };
        let root = world.root;
        let queue = |world: &mut World, name: &str, gpus| {
            let mut spec = QueueSpec::new(name, Some(root));
            spec.quotas.push((Meter::Gpu, nominal(gpus)));
            world.draft.add_queue(spec).expect("shallow")
        };
        let (owner, guest) = (queue(&mut world, "owner", own), queue(&mut world, "guest", others));
        for at in 0..flood {
            world.pod_in(&format!("flood-{at}"), 0, whole(1), 5, guest, None);
        }
        decide(&world.draft).apply(&mut world.draft, Time::ZERO);
        for at in 0..wanted {
            world.pod_in(&format!("mine-{at}"), 1, whole(1), 0, owner, None);
        }
        let decisions = decide(&world.draft);
        decisions.apply(&mut world.draft, NOW);
        let held = |queue| world.draft.queue(queue).used().0 / 10_000;
        let flooded = (flood as i64).min(gpus);
        let mine = (wanted as i64).min(own.max(gpus - flooded));
        prop_assert_eq!(held(owner), mine);
        prop_assert_eq!(held(guest), flooded.min(gpus - mine));
        // Once more changes nothing.
        prop_assert!(decide(&world.draft).evictions.is_empty());
    }
}

#[test]
fn machines_and_the_much_evicted_stay() {
    let (mut world, late) = cluster(&[1], &[(whole(1), 0)], whole(1));
    let running = world.draft.pods().find(|(_, pod)| pod.node().is_some());
    let running = running.expect("one runs").0;
    assert_eq!(decide(&world.draft).evictions[0].pod, running);
    for _ in 0..3 {
        let (node, grant) = (
            NodeId::at(0),
            fit::best_fit_grant(
                world.draft.catalog(),
                &whole(1),
                &world.draft.node(NodeId::at(0)).shape,
                &world
                    .draft
                    .node(NodeId::at(0))
                    .shape
                    .empty_state(&[GpuMode::TimeSlice]),
            ),
        );
        world.draft.evict(running, Time::ZERO).expect("it runs");
        world
            .draft
            .bind(running, node, grant, Time::ZERO)
            .expect("it fits");
    }
    let usual = profile(named("best-fit").expect("the catalogue has it"));
    let decisions = cycle::run(
        &world.draft,
        &usual,
        Effort::MakeRoom,
        NOW,
        &mut Stream::from_seed(1),
    );
    assert!(decisions.evictions.is_empty() && decisions.binds.is_empty());
    assert!(world.draft.pod(late).expect("it waits").node().is_none());
}
