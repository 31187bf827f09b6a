//! Objects that the cases make.

use serde_json::{Value, json};

pub(super) const PRIORITY_CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
pub(super) const QUEUES: &str = "/apis/berth.dev/v1alpha1/queues";
pub(super) const POD_GROUPS: &str = "scheduling.k8s.io/v1beta1:podgroups";

/// A pod for Berth that asks for so many whole GPUs.
pub(super) fn pod(name: &str, gpus: u64) -> Value {
    let limits = match gpus {
        0 => json!({}),
        gpus => json!({"nvidia.com/gpu": gpus.to_string()}),
    };
    json!({
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "berth",
            "containers": [{"name": "main", "image": "none", "resources": {"limits": limits}}],
        },
    })
}

/// Pods that differ in a number behind their names.
pub(super) fn pods(prefix: &str, n: usize, gpus: u64, more: &Value) -> Vec<Value> {
    let one = |index| with(pod(&format!("{prefix}-{index}"), gpus), more);
    (0..n).map(one).collect()
}

/// An object with more fields; objects are merged, everything else is replaced.
pub(super) fn with(mut object: Value, more: &Value) -> Value {
    merge(&mut object, more);
    object
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more.clone(),
    }
}

/// What keeps a pod to one node.
pub(super) fn on_node(node: &str) -> Value {
    json!({"spec": {"nodeSelector": {"kubernetes.io/hostname": node}}})
}

pub(super) fn in_queue(queue: &str) -> Value {
    json!({"metadata": {"labels": {"berth.dev/queue": queue}}})
}

/// A member of a core pod group.
pub(super) fn in_group(group: &str) -> Value {
    json!({"spec": {"schedulingGroup": {"podGroupName": group}}})
}

pub(super) fn priority(class: &str) -> Value {
    json!({"spec": {"priorityClassName": class}})
}

/// A pod that takes that long to stop when it is deleted.
pub(super) fn stops_after(span: &str) -> Value {
    json!({"metadata": {"annotations": {"testbed.berth.dev/stop-after": span}}})
}

pub(super) fn priority_class(name: &str, value: i32) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    })
}

/// A queue that may hold so many GPUs at all.
pub(super) fn queue(name: &str, parent: Option<&str>, gpus_max: Option<u64>) -> Value {
    let quotas: Vec<Value> = gpus_max
        .map(|gpus| json!({"resource": "gpu", "limit": gpus.to_string()}))
        .into_iter()
        .collect();
    let mut queue = json!({
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"quotas": quotas},
    });
    if let Some(parent) = parent {
        queue["spec"]["parent"] = parent.into();
    }
    queue
}

/// A core pod group of which so many members start together.
pub(super) fn pod_group(name: &str, members_min: usize) -> Value {
    json!({
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"schedulingPolicy": {"gang": {"minCount": members_min}}},
    })
}
