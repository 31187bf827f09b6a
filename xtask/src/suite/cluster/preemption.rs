//! Preemption: as few as possible go, and nobody comes before they are gone.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use super::case::{Case, Cx};
use super::object::{on_node, pod, pods, priority, stops_after, with};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "the fewest of lower priority go, and their place is taken when they are gone",
        run: fewest_go,
    },
    Case {
        name: "equals do not take each other's place",
        run: equals_stay,
    },
    Case {
        name: "a pod that never preempts waits",
        run: never_preempts,
    },
    Case {
        name: "nobody goes where that would not help",
        run: nobody_goes_in_vain,
    },
];

/// The observer notes it if the newcomer is bound while those that stop are still there.
fn fewest_go(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let here = on_node("fake-00020");
    let low = with(with(here.clone(), &priority("low")), &stops_after("3s"));
    cx.pods(&pods("low", 8, 1, &low))?;
    cx.until("eight of low priority bound", |seen| {
        seen.n_bound("low") == 8
    })?;
    cx.pod(&with(with(pod("high", 3), &here), &priority("high")))?;
    cx.until("three of them leaving", |seen| seen.n_leaving("low") == 3)?;
    cx.expect("the newcomer waiting meanwhile", |seen| {
        seen.node("high").is_none()
    })?;
    cx.until("the newcomer bound and five left", |seen| {
        seen.node("high").is_some() && seen.n_bound("low") == 5 && seen.n_leaving("low") == 0
    })
}

fn equals_stay(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let low = with(on_node("fake-00021"), &priority("low"));
    cx.pods(&pods("first", 8, 1, &low))?;
    cx.until("eight bound", |seen| seen.n_bound("first") == 8)?;
    cx.pods(&pods("second", 2, 1, &low))?;
    cx.until("the second told to wait", |seen| {
        seen.n_waiting("second", "Unschedulable") == 2
    })?;
    cx.settle()?;
    cx.expect("the first undisturbed", |seen| {
        seen.n_bound("first") == 8 && seen.n_leaving("first") == 0
    })
}

fn never_preempts(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class = json!({
        "metadata": {"name": cx.unique("patient")},
        "value": 2_000,
        "preemptionPolicy": "Never",
    });
    cx.make_global(super::object::PRIORITY_CLASSES, &class)?;
    let here = on_node("fake-00022");
    cx.pods(&pods("low", 8, 1, &with(here.clone(), &priority("low"))))?;
    cx.until("eight bound", |seen| seen.n_bound("low") == 8)?;
    let patient = priority(&cx.unique("patient"));
    cx.pod(&with(with(pod("patient", 1), &here), &patient))?;
    cx.until("the patient one told to wait", |seen| {
        seen.n_waiting("patient", "Unschedulable") == 1
    })?;
    cx.settle()?;
    cx.expect("nobody disturbed", |seen| {
        seen.n_bound("low") == 8 && seen.n_leaving("low") == 0
    })?;
    cx.delete(&cx.path("pods/low-0"))?;
    cx.until("the patient one in a place that became free", |seen| {
        seen.node("patient").is_some()
    })
}

fn nobody_goes_in_vain(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let here = on_node("fake-00023");
    cx.pods(&pods("top", 4, 1, &with(here.clone(), &priority("high"))))?;
    cx.pods(&pods("low", 4, 1, &with(here.clone(), &priority("low"))))?;
    cx.until("both kinds bound", |seen| seen.n_bound("") == 8)?;
    cx.pod(&with(with(pod("large", 5), &here), &priority("high")))?;
    cx.until("the large one told to wait", |seen| {
        seen.n_waiting("large", "Unschedulable") == 1
    })?;
    cx.settle()?;
    let n = cx.look(|seen| (seen.n_bound("top"), seen.n_bound("low")));
    ensure!(n == (4, 4), "expected nobody to go, seen {n:?} left");
    cx.until_within(Duration::ZERO, "nobody leaving", |seen| {
        // The probe that settled the case is on its way out itself.
        seen.n_leaving("top") + seen.n_leaving("low") == 0
    })
}
