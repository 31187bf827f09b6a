//! The life of one pod: from what the API says about it to the next thing to do, and when.
//!
//! A function of the object and a time; nothing is remembered, so a restarted process goes on where
//! the last one stopped.
//! Deliberately absent: containers, probes, logs, volumes.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Pod, ResourceRequirements};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::object::GPU_RESOURCE;

/// How long the pod takes to start; at once without it.
const START_AFTER: &str = "testbed.berth.dev/start-after";
/// How long the pod runs before it ends by itself; for ever without it.
const RUN_FOR: &str = "testbed.berth.dev/run-for";
/// How long the pod takes to stop once it is deleted; never longer than its grace period.
const STOP_AFTER: &str = "testbed.berth.dev/stop-after";
/// Exit code at the end; anything but 0 makes the pod fail.
const EXIT_CODE: &str = "testbed.berth.dev/exit-code";

/// The little of a pod that its life depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodView {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub node: String,
    pub gpus: u64,
    pub containers: Vec<String>,
    pub phase: Phase,
    started: Option<Timestamp>,
    deleting: Option<Deleting>,
    start_after: Duration,
    run_for: Option<Duration>,
    stop_after: Duration,
    exit_code: i32,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Phase {
    #[default]
    Pending,
    Running,
    /// Succeeded or failed.
    Ended,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Deleting {
    since: Timestamp,
    grace: Duration,
    /// Somebody wants to see the end of the pod before it goes.
    is_watched: bool,
}

/// What a kubelet does to a pod.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    Start,
    /// The node has no room for it after all; says of what.
    Refuse(String),
    Finish(i32),
    Remove,
}

impl PodView {
    /// The view of a bound pod; none where it is bound to no node.
    pub(crate) fn of(pod: Pod) -> Option<Self> {
        let spec = pod.spec?;
        let status = pod.status.unwrap_or_default();
        let meta = pod.metadata;
        let annotations = meta.annotations.unwrap_or_default();
        let duration = |key: &str| annotations.get(key).and_then(|text| duration(text));
        let phase = match status.phase.as_deref() {
            Some("Running") => Phase::Running,
            Some("Succeeded" | "Failed") => Phase::Ended,
            _ => Phase::Pending,
        };
        let grace = u64::try_from(meta.deletion_grace_period_seconds.unwrap_or(0)).unwrap_or(0);
        let is_watched = meta
            .finalizers
            .is_some_and(|finalizers| !finalizers.is_empty());
        // The timestamp says when the grace period is over.
        let grace = Duration::from_secs(grace);
        let deleting = meta.deletion_timestamp.map(|end| Deleting {
            since: end.0 - grace,
            grace,
            is_watched,
        });
        let init = spec.init_containers.iter().flatten();
        let largest_init = init.map(|c| gpus(c.resources.as_ref())).max().unwrap_or(0);
        let together = spec
            .containers
            .iter()
            .map(|c| gpus(c.resources.as_ref()))
            .sum();
        Some(Self {
            namespace: meta.namespace?,
            name: meta.name?,
            uid: meta.uid?,
            node: spec.node_name?,
            gpus: largest_init.max(together),
            containers: spec.containers.into_iter().map(|c| c.name).collect(),
            phase,
            started: status.start_time.map(|time| time.0),
            deleting,
            start_after: duration(START_AFTER).unwrap_or_default(),
            run_for: duration(RUN_FOR),
            stop_after: duration(STOP_AFTER).unwrap_or_default(),
            exit_code: annotations
                .get(EXIT_CODE)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0),
        })
    }

    /// What to do next, and after how long; nothing where the pod is as it should be.
    pub(crate) fn next(&self, now: Timestamp) -> Option<(Action, Duration)> {
        if let Some(deleting) = self.deleting {
            return self.next_of_deleted(deleting, now);
        }
        match self.phase {
            Phase::Pending => Some((Action::Start, self.start_after)),
            Phase::Running => {
                let end = self.started? + self.run_for?;
                Some((Action::Finish(self.exit_code), until(end, now)))
            }
            Phase::Ended => None,
        }
    }

    fn next_of_deleted(&self, deleting: Deleting, now: Timestamp) -> Option<(Action, Duration)> {
        if deleting.grace.is_zero() {
            return None; // removed for good; the API server keeps it for somebody's finalizer
        }
        let wait = until(deleting.since + self.stop_after.min(deleting.grace), now);
        if deleting.is_watched && self.phase != Phase::Ended {
            const KILLED: i32 = 128 + 15; // as a shell reports SIGTERM
            return Some((Action::Finish(KILLED), wait));
        }
        Some((Action::Remove, wait))
    }

    /// The status that an action writes, as a strategic merge patch; none for `Remove`.
    pub(crate) fn patch(&self, action: &Action, now: Timestamp, address: &str) -> Option<Value> {
        let status = match action {
            Action::Start => self.running(now, address),
            Action::Refuse(what) => json!({
                "phase": "Failed",
                "reason": format!("OutOf{what}"),
                "message": format!("the node has too little {what} left for this pod"),
                "startTime": now,
            }),
            Action::Finish(code) => self.ended(now, *code),
            Action::Remove => return None,
        };
        // The UID makes the server refuse the patch for another pod of the same name.
        Some(json!({"metadata": {"uid": self.uid}, "status": status}))
    }

    fn running(&self, now: Timestamp, address: &str) -> Value {
        let conditions = [
            "PodReadyToStartContainers",
            "Initialized",
            "ContainersReady",
            "Ready",
        ];
        json!({
            "phase": "Running",
            "startTime": now,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "conditions": conditions.map(|kind| condition(kind, "True", now)),
            "containerStatuses": self.statuses(&json!({"running": {"startedAt": now}}), true),
        })
    }

    fn ended(&self, now: Timestamp, code: i32) -> Value {
        let (phase, reason) = if code == 0 {
            ("Succeeded", "Completed")
        } else {
            ("Failed", "Error")
        };
        let conditions = ["ContainersReady", "Ready"];
        let state = json!({"terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": self.started.unwrap_or(now),
            "finishedAt": now,
        }});
        json!({
            "phase": phase,
            "conditions": conditions.map(|kind| condition(kind, "False", now)),
            "containerStatuses": self.statuses(&state, false),
        })
    }

    fn statuses(&self, state: &Value, is_ready: bool) -> Vec<Value> {
        let status = |name: &String| {
            json!({
                "name": name,
                "state": state,
                "ready": is_ready,
                "started": is_ready,
                "restartCount": 0,
                "image": "",
                "imageID": "",
            })
        };
        self.containers.iter().map(status).collect()
    }
}

fn condition(kind: &str, status: &str, now: Timestamp) -> Value {
    json!({"type": kind, "status": status, "lastTransitionTime": now})
}

fn until(end: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(end.duration_since(now)).unwrap_or_default() // past: at once
}

/// Reads `1h30m`, `90s` or `250ms`.
fn duration(text: &str) -> Option<Duration> {
    let duration: SignedDuration = text.parse().ok()?;
    Duration::try_from(duration).ok()
}

/// Extended resources are whole numbers, and a request equals its limit.
fn gpus(resources: Option<&ResourceRequirements>) -> u64 {
    let limits = resources.and_then(|resources| resources.limits.as_ref());
    limits
        .and_then(|limits| limits.get(GPU_RESOURCE)?.0.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn view(metadata: &Value, status: &Value) -> PodView {
        let mut metadata = metadata.clone();
        metadata["name"] = "p".into();
        metadata["namespace"] = "default".into();
        metadata["uid"] = "u".into();
        let limits = json!({"resources": {"limits": {GPU_RESOURCE: "2"}}, "name": "main"});
        let pod = json!({
            "metadata": metadata,
            "spec": {"nodeName": "n", "containers": [limits]},
            "status": status,
        });
        PodView::of(serde_json::from_value(pod).unwrap()).unwrap()
    }

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn pod_starts_after_its_annotation_says_so() {
        let plain = view(&json!({}), &json!({"phase": "Pending"}));
        assert_eq!(plain.next(NOW), Some((Action::Start, seconds(0))));
        assert_eq!(plain.gpus, 2);
        let slow = view(&json!({"annotations": {START_AFTER: "1m30s"}}), &json!({}));
        assert_eq!(slow.next(NOW), Some((Action::Start, seconds(90))));
    }

    #[test]
    fn running_pod_ends_only_if_it_says_when() {
        let status = json!({"phase": "Running", "startTime": NOW});
        assert_eq!(view(&json!({}), &status).next(NOW), None);
        let ends = view(
            &json!({"annotations": {RUN_FOR: "30s", EXIT_CODE: "3"}}),
            &status,
        );
        assert_eq!(ends.next(NOW), Some((Action::Finish(3), seconds(30))));
        let later = NOW + seconds(20);
        assert_eq!(ends.next(later), Some((Action::Finish(3), seconds(10))));
        let too_late = NOW + seconds(99);
        assert_eq!(ends.next(too_late), Some((Action::Finish(3), seconds(0))));
    }

    #[test]
    fn deleted_pod_is_removed_within_its_grace_period() {
        let deleted = |annotations: Value, grace: u64, more: Value| {
            let mut metadata = json!({
                "annotations": annotations,
                "deletionTimestamp": NOW + seconds(grace),
                "deletionGracePeriodSeconds": grace,
            });
            if !more.is_null() {
                metadata["finalizers"] = more;
            }
            view(&metadata, &json!({"phase": "Running", "startTime": NOW}))
        };
        let plain = deleted(json!({}), 30, Value::Null);
        assert_eq!(plain.next(NOW), Some((Action::Remove, seconds(0))));
        let slow = deleted(json!({STOP_AFTER: "5s"}), 30, Value::Null);
        assert_eq!(slow.next(NOW), Some((Action::Remove, seconds(5))));
        let capped = deleted(json!({STOP_AFTER: "1h"}), 30, Value::Null);
        assert_eq!(capped.next(NOW), Some((Action::Remove, seconds(30))));
        let gone = deleted(json!({}), 0, json!(["a/b"]));
        assert_eq!(gone.next(NOW), None);
        let watched = deleted(json!({}), 30, json!(["a/b"]));
        assert_eq!(watched.next(NOW), Some((Action::Finish(143), seconds(0))));
    }

    #[test]
    fn ended_pod_is_left_alone() {
        for phase in ["Succeeded", "Failed"] {
            assert_eq!(view(&json!({}), &json!({"phase": phase})).next(NOW), None);
        }
    }

    #[test]
    fn patches_name_the_pod_they_are_for() {
        let pod = view(&json!({}), &json!({}));
        for action in [
            Action::Start,
            Action::Refuse("x".to_owned()),
            Action::Finish(0),
        ] {
            let patch = pod.patch(&action, NOW, "10.0.0.1").unwrap();
            assert_eq!(patch["metadata"]["uid"], "u");
            let typed: Pod = serde_json::from_value(patch).unwrap();
            assert!(typed.status.unwrap().phase.is_some());
        }
        assert_eq!(pod.patch(&Action::Remove, NOW, ""), None);
    }
}
