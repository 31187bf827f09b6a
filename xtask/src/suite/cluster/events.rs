//! Events: what `kubectl describe` says became of a pod.

use serde_json::{Value, json};

use super::case::{Case, Cx};
use super::object::{on_node, pod, priority, with};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a bind, a wait and an eviction are told as events",
        run: bind_wait_evict,
    },
    Case {
        name: "a pod whose markers name different gangs is warned",
        run: markers_disagree,
    },
];

const EVENTS: &str = "events.k8s.io/v1:events";

fn bind_wait_evict(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let on_one = on_node("fake-00000");
    cx.pod(&with(with(pod("first", 8), &on_one), &priority("low")))?;
    until_event(cx, "first", "Scheduled", "Assigned to fake-00000")?;
    cx.pod(&with(with(pod("second", 8), &on_one), &priority("low")))?;
    until_event(cx, "second", "FailedScheduling", "NodeRules")?;
    cx.pod(&with(with(pod("urgent", 8), &on_one), &priority("high")))?;
    until_event(cx, "first", "Preempted", "/urgent")
}

fn markers_disagree(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let markers = json!({"metadata": {
        "labels": {"kueue.x-k8s.io/pod-group-name": "a"},
        "annotations": {
            "kueue.x-k8s.io/pod-group-total-count": "1",
            "pod-group-name": "b",
        },
    }});
    cx.pod(&with(pod("member", 1), &markers))?;
    until_event(
        cx,
        "member",
        "GangMarkersDisagree",
        "kueue/a counts, the one of kai does not",
    )?;
    cx.until("it bound all the same", |seen| {
        seen.node("member").is_some()
    })
}

/// Waits for an event on a pod, with a part of its note.
fn until_event(cx: &Cx<'_>, pod: &str, reason: &str, part: &str) -> anyhow::Result<()> {
    let is_it = |event: &Value| {
        let note = event["note"].as_str().unwrap_or_default();
        event["regarding"]["name"] == pod
            && event["reason"] == reason
            && event["reportingController"] == "berth-scheduler"
            && note.contains(part)
    };
    let expected = format!("an event {reason} on {pod} with {part:?}");
    cx.until_api(&expected, &cx.path(EVENTS), |events| {
        events["items"]
            .as_array()
            .is_some_and(|events| events.iter().any(is_it))
    })
}
