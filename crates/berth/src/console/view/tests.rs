//! The view of the scripted cluster, and words one by one.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::model::catalog::Catalog;
use berth_core::model::gpu::ModelSet;
use berth_core::model::request::{GpuRequest, Request};
use berth_core::model::vgpu::VgpuProfile;
use berth_core::time::Span;

use super::fleet::Cell;
use super::{Bounded, View, words};
use crate::service::scripted;

#[test]
fn each_gpu_has_the_cell_that_says_how_it_is() {
    let view = View::of(&scripted::published());
    let cells = |name: &str| {
        let node = view.nodes.iter().find(|node| &*node.name == name).unwrap();
        node.gpus.iter().map(|gpu| gpu.cell).collect::<Vec<_>>()
    };
    assert_eq!(cells("a100-1"), [Cell::Full; 8]);
    // One of seven slices is an eighth, to the nearest.
    assert_eq!(cells("mig-1"), [Cell::Part(1)]);
    // 0.4 of a GPU is three eighths.
    assert_eq!(cells("t4-1"), [Cell::Part(3), Cell::Failed]);
    assert_eq!(cells("t4-2"), [Cell::Lost; 4]);
}

#[test]
fn fleets_count_what_is_held_and_what_is_out() {
    let view = View::of(&scripted::published());
    let fleets: Vec<(&str, usize, GpuUnits, usize)> = view
        .fleets
        .iter()
        .map(|f| (f.name.as_str(), f.gpus, f.held, f.out))
        .collect();
    assert_eq!(
        fleets,
        [
            ("A100", 8, GpuUnits(80_000), 0),
            ("T4 time-slice", 6, GpuUnits(4_000), 5),
            ("A100 MIG", 1, GpuUnits(1_428), 0),
        ]
    );
}

#[test]
fn every_group_that_waits_has_its_reason_and_the_evidence_in_words() {
    let view = View::of(&scripted::published());
    let told: Vec<String> = view
        .waiting
        .items
        .iter()
        .map(|row| {
            format!(
                "{}. {} pods of {}, {}, for {}: {}: {}",
                row.position, row.pods, row.user, row.ask, row.age_ms, row.reason, row.evidence
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "1. 2 pods of cy, 8 GPUs, gang of 4, for 1h 55m: GangIncomplete: 2 of 4 members \
             submitted; 1 node: GPUs taken; 3 nodes: too small; largest free piece 0.6 GPU",
            "2. 2 pods of ada, 1 x A100, for 1h 59m: GpuBusy: 1 node: GPUs taken; 1 node: other GPU \
             mode; 2 nodes: other GPU model; largest free piece 0 GPU",
            "3. 2 pods of bo, 0.4 x T4, for 1h 58m: QueueLimit: queue speech holds 0.4 of 0.4 GPUs; \
             1 node: takes no work; 2 nodes: other GPU model",
        ]
    );
    let reasons: Vec<(&str, u64)> = view.reasons.into_iter().collect();
    assert_eq!(
        reasons,
        [("GangIncomplete", 2), ("GpuBusy", 2), ("QueueLimit", 2)]
    );
}

#[test]
fn queues_stand_below_their_parents_with_what_they_hold() {
    let view = View::of(&scripted::published());
    let rows: Vec<String> = view
        .queues
        .iter()
        .map(|row| {
            let limit = row.limit.map(|limit| limit.to_string());
            format!(
                "{}{} {} {limit:?} {}",
                " ".repeat(row.depth),
                row.name,
                row.used,
                row.pods_waiting
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "site 8.5428 None 6",
            " speech 0.4 Some(\"0.4\") 2",
            " vision 8.1428 Some(\"12\") 4"
        ]
    );
}

#[test]
fn requests_read_as_people_speak() {
    let mut catalog = Catalog::default();
    let h100 = ModelSet::NONE.with(catalog.intern_model("H100").unwrap());
    let two = h100.with(catalog.intern_model("A100").unwrap());
    let three = two.with(catalog.intern_model("T4").unwrap());
    let profile = VgpuProfile {
        name: "A40-8Q".into(),
        models: ModelSet::ANY,
        memory: Bytes::from_gib(8),
        per_gpu_max: 6,
    };
    let vgpu = catalog.add_vgpu_profile(profile);
    let check = |gpu, models, expected: &str| {
        let (cpu, memory) = (MilliCpu(2_500), Bytes::from_gib(1));
        assert_eq!(
            words::ask(
                &catalog,
                &Request {
                    cpu,
                    memory,
                    gpu,
                    models
                }
            ),
            expected
        );
    };
    let share = |compute, gib| {
        let (compute, memory) = (GpuUnits(compute), Bytes::from_gib(gib));
        GpuRequest::Share { compute, memory }
    };
    check(GpuRequest::None, ModelSet::ANY, "2.5 CPU");
    check(GpuRequest::Whole { count: 1 }, ModelSet::ANY, "1 GPU");
    check(GpuRequest::Whole { count: 4 }, ModelSet::ANY, "4 GPUs");
    check(GpuRequest::Whole { count: 4 }, two, "4 x H100/A100");
    check(
        GpuRequest::Whole { count: 1 },
        three,
        "1 x H100 or 2 others",
    );
    check(
        GpuRequest::Passthrough { count: 1 },
        h100,
        "1 x H100, passthrough",
    );
    check(share(5_000, 0), ModelSet::ANY, "0.5 GPU");
    check(share(5_000, 20), h100, "0.5 x H100, 20 GiB");
    check(share(0, 20), ModelSet::ANY, "20 GiB of a GPU");
    check(
        GpuRequest::Vgpu { profile: vgpu },
        ModelSet::ANY,
        "vGPU A40-8Q",
    );
}

#[test]
fn spans_and_clocks_are_rounded_for_people() {
    assert_eq!(
        words::clock(Span::from_hours(31) + Span(61_900)),
        "day 2 07:01:01"
    );
    assert_eq!(words::seconds(0.2), "0s");
    assert_eq!(words::seconds(3_725.0), "1h 2m");
}

#[test]
fn a_list_that_is_cut_says_by_how_much() {
    let cut = Bounded::first([1, 2, 3].iter(), 2);
    assert_eq!((cut.items.len(), cut.total, cut.truncated), (2, 3, 1));
}
