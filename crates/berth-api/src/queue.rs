//! `Queue`: who may have how much, in a tree of organisations, teams and people.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// A node of the quota tree. Work names a queue with the label `berth.dev/queue` and is charged to
/// it and to every queue above it.
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[kube(
    group = "berth.dev",
    version = "v1alpha1",
    kind = "Queue",
    doc = "A node of the quota tree: an organisation, a team or a person.",
    status = "QueueStatus",
    category = "berth",
    shortname = "bq",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Parent", type_ = "string", json_path = ".spec.parent"),
    printcolumn(name = "Held", type_ = "string", json_path = ".status.gpusHeld"),
    printcolumn(name = "Pending", type_ = "integer", json_path = ".status.pending"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.parent) == has(oldSelf.parent) && (!has(self.parent) || self.parent == oldSelf.parent)")
    .message("a queue can't move to another parent; make a new one"))]
pub struct QueueSpec {
    /// The queue above; a root if there is none. It can't be changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Its part among the queues beside it where there is more to want than to have, 1 by default; 0 is served
    /// when nobody else wants anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10_000))]
    pub weight: Option<u32>,
    /// Rules for what it may hold; what is not named is not limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub quotas: Vec<QueueQuota>,
}

/// What a queue may hold of one resource.
#[derive(KubeSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.resource in ['gpu', 'cpu', 'memory', 'machines'] || self.resource.startsWith('gpu/')")
    .message("resource must be gpu, gpu/MODEL, cpu, memory or machines"))]
pub struct QueueQuota {
    /// `gpu` for physical GPUs of any model, `gpu/MODEL` for those of one, `cpu`, `memory`, or
    /// `machines` for virtual machines.
    pub resource: String,
    /// What it has of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nominal: Option<Quantity>,
    /// What it may borrow beyond that; without a limit if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub borrowing_limit: Option<Quantity>,
    /// What of its own it lends while it doesn't need it; all if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lending_limit: Option<Quantity>,
    /// What it may hold at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Quantity>,
}

/// What has become of a queue.
#[derive(KubeSchema, Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatus {
    /// `Ready` is true while work of the queue is scheduled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Physical GPUs that it and the queues under it hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_held: Option<String>,
    /// Pods of the queue itself that wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<i64>,
}
