//! Small trees and who goes first in them.

use super::*;
use crate::amount::{Bytes, GpuUnits, MilliCpu};
use crate::model::draft::Draft;
use crate::model::gpu::ModelSet;
use crate::model::pod::{PodSpec, Preempts, Tenure};
use crate::model::queue::QueueSpec;
use crate::model::request::{GpuRequest, Request};
use crate::quota::Usage;

/// Two teams of two people, and what each has had in GPU-hours.
fn site(had: [i64; 4]) -> (Draft, [QueueId; 4]) {
    let mut draft = Draft::new();
    let root = draft
        .add_queue(QueueSpec::new("site", None))
        .expect("shallow");
    let mut people = Vec::new();
    for (team, pair) in had.chunks(2).enumerate() {
        let spec = QueueSpec::new(format!("team-{team}"), Some(root));
        let above = draft.add_queue(spec).expect("shallow");
        let unit_ms = |hours: i64| hours * 10_000 * 3_600_000;
        let usage = |hours| Usage {
            unit_ms: unit_ms(hours),
            at: Time::ZERO,
        };
        draft.set_usage(above, usage(pair.iter().sum()));
        for (person, &hours) in pair.iter().enumerate() {
            let spec = QueueSpec::new(format!("person-{team}-{person}"), Some(above));
            let id = draft.add_queue(spec).expect("shallow");
            draft.set_usage(id, usage(hours));
            people.push(id);
        }
    }
    (draft, people.try_into().expect("four"))
}

fn submit(draft: &mut Draft, name: &str, queue: QueueId, priority: i32, created: i64) {
    let task = draft.catalog_mut().intern_task(Request {
        cpu: MilliCpu(1),
        memory: Bytes::ZERO,
        gpu: GpuRequest::Share {
            compute: GpuUnits(5_000),
            memory: Bytes::ZERO,
        },
        models: ModelSet::ANY,
    });
    let spec = PodSpec {
        name: name.into(),
        user: draft.add_user(name),
        queue,
        task,
        priority,
        preempts: Preempts::Never,
        tenure: Tenure::Evictable,
        created: Time::from_secs(created),
        gang: None,
        vm: None,
        facts: None,
    };
    draft.add_pod(spec).expect("bounded");
}

fn order_of(draft: &Draft, order: Order) -> Vec<String> {
    order_at(draft, order, Time::ZERO)
}

fn order_at(draft: &Draft, order: Order, now: Time) -> Vec<String> {
    let keys: Vec<(GroupKey, ())> = draft.pending().keys().map(|key| (*key, ())).collect();
    let turns = in_order(order, draft, now, &keys);
    let oldest = |key: &GroupKey| {
        draft.pending()[key]
            .keys()
            .next()
            .map(|(_, name)| name.to_string())
    };
    turns.iter().filter_map(|(key, ())| oldest(key)).collect()
}

#[test]
fn who_has_had_least_goes_first_team_by_team() {
    // The first team has had less as a whole, so both its people come before the second's.
    let (mut draft, [a, b, c, d]) = site([0, 5, 1, 9]);
    for (name, queue, created) in [("d", d, 0), ("c", c, 1), ("b", b, 2), ("a", a, 3)] {
        submit(&mut draft, name, queue, 0, created);
    }
    assert_eq!(order_of(&draft, Order::default()), ["a", "b", "c", "d"]);
    assert_eq!(order_of(&draft, Order::Fifo), ["d", "c", "b", "a"]);
}

#[test]
fn priority_comes_before_shares_and_weight_scales_them() {
    let (mut draft, [a, b, _, d]) = site([4, 6, 50, 50]);
    submit(&mut draft, "a", a, 0, 0);
    submit(&mut draft, "b", b, 0, 0);
    submit(&mut draft, "urgent", d, 1, 9);
    assert_eq!(order_of(&draft, Order::default()), ["urgent", "a", "b"]);
    draft.set_weight(b, 2);
    assert_eq!(order_of(&draft, Order::default()), ["urgent", "b", "a"]);
    draft.set_weight(b, 0);
    assert_eq!(order_of(&draft, Order::default()), ["urgent", "a", "b"]);
}

#[test]
fn ties_go_by_name_whatever_was_known_first() {
    let (mut draft, [a, b, c, d]) = site([1, 1, 1, 1]);
    for (name, queue) in [("d", d), ("b", b), ("a", a), ("c", c)] {
        submit(&mut draft, name, queue, 0, 0);
    }
    assert_eq!(order_of(&draft, Order::default()), ["a", "b", "c", "d"]);
}

#[test]
fn who_starves_comes_first_with_one_turn_and_numbers_gain_nothing() {
    let (mut draft, [a, b, _, d]) = site([0, 5, 1, 90]);
    submit(&mut draft, "a", a, 0, 0);
    submit(&mut draft, "b", b, 0, 0);
    submit(&mut draft, "d", d, 0, 60);
    submit(&mut draft, "d-gang", d, -1, 0);
    let after = |hours: i64| Time::from_secs(hours * 3600);
    let turns = |draft: &Draft, hours| order_at(draft, Order::default(), after(hours));
    assert_eq!(turns(&draft, 11), ["a", "b", "d", "d-gang"]);
    // All have waited for long and hold nothing: by age, and only then by what they have had.
    assert_eq!(turns(&draft, 13), ["a", "b", "d", "d-gang"]);
    draft.set_usage(
        a,
        Usage {
            unit_ms: i64::MAX / 4,
            at: Time::ZERO,
        },
    );
    submit(&mut draft, "late", b, 0, 13 * 3600);
    assert_eq!(turns(&draft, 13), ["a", "b", "d", "d-gang"]);
    // Whoever holds anything doesn't starve.
    let pod = draft
        .pods()
        .find(|(_, pod)| &*pod.spec.name == "a")
        .expect("it waits")
        .0;
    let gpu = crate::model::gpu::GpuSpec {
        model: draft.catalog_mut().intern_model("A100").expect("the first"),
        memory: Bytes::ZERO,
        numa: None,
        pcie_root: None,
        nvlink: None,
    };
    let shape = crate::model::node::Shape::new(MilliCpu(64), Bytes::ZERO, 9, vec![gpu]);
    let node = crate::model::draft::NodeSpec {
        name: "n".into(),
        shape,
        gpu_modes: vec![crate::model::gpu::GpuMode::TimeSlice],
        gpu_uuids: std::sync::Arc::new([]),
    };
    let node = draft.add_node(node).expect("bounded");
    let grant = crate::model::gpu::GpuGrant::Share {
        gpu: 0,
        compute: GpuUnits(5_000),
        memory: Bytes::ZERO,
    };
    draft.bind(pod, node, grant, Time::ZERO).expect("it fits");
    submit(&mut draft, "a-2", a, 0, 0);
    assert_eq!(turns(&draft, 13), ["b", "d", "a-2", "d-gang"]);
}
