//! The engine sends pods only where Kubernetes' filters let them in, and leaves none waiting that
//! would be let in.

use std::sync::Arc;

use arcstr::literal;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::label::Labels;
use berth_core::filter::facts::node::NodeFacts;
use berth_core::filter::facts::pod::{NodeRules, PodFacts, PodTemplate};
use berth_core::filter::facts::resources::Resources;
use berth_core::filter::facts::taint::{Effect, Taint};
use berth_core::filter::{Answer, Start, start};
use berth_core::id::PodId;
use berth_core::model::draft::{Draft, NodeSpec};
use berth_core::model::gpu::{GpuGrant, GpuMode};
use berth_core::model::pod::{Facts, PodSpec, Preempts, Tenure};
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::cycle;
use berth_core::sched::explain::{Reason, explain};
use berth_core::sched::fit;
use berth_core::sched::policy::POLICIES;
use berth_core::sched::profile::Effort;
use berth_core::stream::Stream;
use berth_core::time::Time;
use proptest::prelude::*;

use crate::filters::{node_facts, ruled_pod};
use crate::world::{World, profile, share, whole};

/// Adds a pod with facts; its name and UID are the same.
fn add(world: &mut World, name: &str, created: i64, gpus: u8, facts: &PodFacts) -> PodId {
    let request = if gpus == 0 { share(500) } else { whole(gpus) };
    let task = world.draft.catalog_mut().intern_task(request);
    let facts = PodFacts {
        uid: Text::from(name),
        name: Text::from(name),
        template: Arc::new(PodTemplate {
            requests: Resources {
                cpu: request.cpu,
                memory: request.memory,
                ..Resources::default()
            },
            ..(*facts.template).clone()
        }),
        ..facts.clone()
    };
    let spec = PodSpec {
        name: name.into(),
        user: world.user,
        queue: world.root,
        task,
        priority: 0,
        preempts: Preempts::Never,
        tenure: Tenure::Evictable,
        created: Time::from_secs(created),
        gang: None,
        vm: None,
        facts: Some(Facts::new(Arc::new(facts))),
    };
    world.draft.add_pod(spec).expect("small worlds are bounded")
}

fn world(zones: &[usize], change: impl Fn(usize, &mut NodeFacts)) -> World {
    let mut world = World::new();
    for (index, zone) in zones.iter().enumerate() {
        let mut facts = node_facts(index, *zone);
        facts.allocatable.memory = berth_core::amount::Bytes::from_gib(256);
        change(index, &mut facts);
        world.node(&facts.name.clone(), 2, GpuMode::TimeSlice);
        world.draft.facts_mut().set_node(Arc::new(facts));
    }
    world
}

/// Whether `pod` may go to the node at `index` as things stand, by the filters and by what is free.
fn may_go(draft: &Snapshot, pod: PodId, index: usize) -> bool {
    let spec = &draft.pod(pod).expect("it is there").spec;
    let facts = spec.facts.as_ref().expect("all pods here have facts");
    let Start::Open(check) = start(draft.facts(), facts.pod()) else {
        return false;
    };
    let node = draft.nodes().get(index).expect("in range");
    let entry = draft.facts().node(&node.name).expect("it has facts");
    let request = draft.catalog().task(spec.task);
    check.ask(entry) == Answer::Fits
        && fit::fits(draft.catalog(), request, &node.shape, &node.state)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn pods_start_exactly_where_filters_and_room_allow(
        zones in proptest::collection::vec(0_usize..3, 1..5),
        pods in proptest::collection::vec((0_u8..3, ruled_pod()), 1..9),
        policy in 0_usize..POLICIES.len(),
    ) {
        let mut world = world(&zones, |_, _| {});
        let ids: Vec<PodId> = pods.iter().enumerate().map(|(index, (gpus, facts))| {
            // Nearness to somebody who comes later would let a pod in afterwards.
            let spread = if index % 2 == 0 { Box::default() } else { facts.template.spread.clone() };
            let template = PodTemplate { affinity: Box::default(), spread, ..(*facts.template).clone() };
            let facts = PodFacts { template: Arc::new(template), ..facts.clone() };
            add(&mut world, &format!("p{index}"), index as i64, *gpus, &facts)
        }).collect();
        let now = Time::from_secs(1000);
        let mut stream = Stream::from_seed(1);
        let profile = profile(POLICIES[policy]);
        let decisions = cycle::run(&world.draft, &profile, Effort::Place, now, &mut stream);
        let mut draft = Draft::over(&world.draft);
        for bind in &decisions.binds {
            prop_assert!(may_go(&draft, bind.pod, bind.node.index()), "{bind:?}");
            draft.bind(bind.pod, bind.node, bind.grant, now).expect("it fits");
        }
        // Spreading may let a pod in again once others have come, so those are left out.
        for &pod in &ids {
            let spec = &draft.pod(pod).expect("it is there").spec;
            let spreads = !spec.facts.as_ref().expect("with facts").pod().template.spread.is_empty();
            if draft.pod(pod).expect("it is there").node().is_none() && !spreads {
                for index in 0..zones.len() {
                    prop_assert!(!may_go(&draft, pod, index), "{pod:?} could go to node {index}");
                }
            }
        }
        prop_assert_eq!(draft.facts().nodes().map(|node| node.pods().len()).sum::<usize>(),
            decisions.binds.len());
        for bind in &decisions.binds {
            draft.remove_pod(bind.pod, now).expect("it is there");
        }
        prop_assert!(draft.facts().nodes().all(|node| node.pods().is_empty()));
    }
}

#[test]
fn a_pod_for_no_node_says_which_rules_keep_it_out() {
    let mut world = world(&[0, 0, 1], |index, facts| {
        if index == 0 {
            facts.taints = Box::new([Taint {
                key: literal!("maintenance"),
                value: Text::new(),
                effect: Effect::NoSchedule,
            }]);
        }
    });
    let rules = NodeRules {
        node_labels: Labels::new([(literal!("zone"), literal!("z0"))]),
        ..NodeRules::default()
    };
    let facts = PodFacts {
        template: Arc::new(PodTemplate {
            rules,
            ..PodTemplate::default()
        }),
        ..PodFacts::default()
    };
    for name in ["a", "b", "c"] {
        add(&mut world, name, 0, 2, &facts);
    }
    let now = Time::from_secs(1000);
    let profile = profile(POLICIES[0]);
    let decisions = cycle::run(
        &world.draft,
        &profile,
        Effort::Place,
        now,
        &mut Stream::from_seed(1),
    );
    assert_eq!(decisions.binds.len(), 1);
    decisions.apply(&mut world.draft, now);
    let (key, hindrance) = decisions.waiting[0];
    let explanation = explain(&world.draft, &key, hindrance);
    assert_eq!(explanation.reason, Reason::NodeRules);
    let rules: Vec<(&str, u32)> = explanation
        .rules
        .iter()
        .map(|(rule, nodes)| (rule.as_str(), *nodes))
        .collect();
    let expected = [
        ("node affinity or selector doesn't match", 1),
        ("untolerated taint maintenance:NoSchedule", 1),
    ];
    assert_eq!(rules, expected);
}

#[test]
fn what_is_found_on_a_node_is_charged_even_if_it_is_too_much() {
    let mut world = world(&[0], |_, _| {});
    let facts = PodFacts::default();
    let pods: Vec<PodId> = (0..3)
        .map(|index| add(&mut world, &format!("p{index}"), 0, 2, &facts))
        .collect();
    let node = berth_core::id::NodeId::at(0);
    for &pod in &pods {
        let grant = fit::gpu_grant_of(&world.draft, pod, node);
        let since = Time::from_secs(5);
        world
            .draft
            .adopt(pod, node, grant, since, since)
            .expect("it waits");
    }
    assert!(berth_core::invariant::check(&world.draft).is_empty());
    let grants = &world.draft.node(node).placements;
    let holders = grants
        .iter()
        .filter(|placed| placed.grant != GpuGrant::None);
    assert_eq!(holders.count(), 1, "no card is given twice");
    for pod in pods {
        world
            .draft
            .remove_pod(pod, Time::from_secs(9))
            .expect("it is there");
    }
    assert!(berth_core::invariant::check(&world.draft).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nodes_that_change_their_shape_keep_their_books(
        steps in proptest::collection::vec((0_u8..6, 0_usize..3, 0_usize..5, 0_i64..4), 1..30),
    ) {
        let mut world = world(&[0, 0, 1], |_, _| {});
        let mut pods: Vec<PodId> = Vec::new();
        for (at, (what, node, gpus, gib)) in steps.into_iter().enumerate() {
            let now = Time::from_secs(100 + at as i64);
            let id = berth_core::id::NodeId::at(node);
            match what {
                0 | 1 => {
                    let asked = u8::try_from(gpus.min(2)).expect("small");
                    let name = format!("p{at}");
                    let pod = add(&mut world, &name, at as i64, asked, &PodFacts::default());
                    let grant = fit::gpu_grant_of(&world.draft, pod, id);
                    world.draft.adopt(pod, id, grant, now, now).expect("it waits");
                    pods.push(pod);
                }
                2 if !pods.is_empty() => {
                    let pod = pods.swap_remove(gpus % pods.len());
                    world.draft.remove_pod(pod, now).expect("it is there");
                }
                _ => {
                    let before = world.draft.node(id);
                    let gpu = berth_core::model::gpu::GpuSpec {
                        model: world.t4,
                        memory: berth_core::amount::Bytes::from_gib(20 * gib),
                        numa: None,
                        pcie_root: None,
                        nvlink: None,
                    };
                    let shape = berth_core::model::node::Shape::new(
                        before.shape.cpu,
                        before.shape.memory,
                        u32::try_from(gpus).expect("small"),
                        vec![gpu; gpus],
                    );
                    let spec = NodeSpec {
                        name: Arc::clone(&before.name),
                        gpu_modes: vec![GpuMode::TimeSlice; gpus],
                        gpu_uuids: Arc::new([]),
                        shape,
                    };
                    world.draft.reshape(id, spec, now).expect("within bounds");
                }
            }
            let violations = berth_core::invariant::check(&world.draft);
            prop_assert!(violations.is_empty(), "{violations:?}");
        }
    }
}
