//! `GpuGrant`: which GPUs of a node are whose, where the node's GPUs are not DRA devices.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

/// The one record of who has which GPU of a node; named after the node. The scheduler writes `spec`
/// before it binds, with the resource version as the lock; the node acknowledges in `status`.
#[derive(
    CustomResource, KubeSchema, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize,
)]
#[kube(
    group = "berth.dev",
    version = "v1alpha1",
    kind = "GpuGrant",
    doc = "Which GPUs of a node are whose.",
    status = "GpuGrantStatus",
    category = "berth",
    printcolumn(name = "Epoch", type_ = "integer", json_path = ".spec.epoch"),
    printcolumn(name = "Pods", type_ = "string", json_path = ".spec.grants[*].name"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct GpuGrantSpec {
    /// How often the right to write has passed from one scheduler to another; a writer whose epoch
    /// is lower than this has lost that right.
    pub epoch: i64,
    /// Who has what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024))]
    pub grants: Vec<PodGrant>,
}

/// What one pod has.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodGrant {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// The pod's UID.
    pub uid: String,
    /// The cards, by index on the node.
    pub gpus: Vec<u8>,
    /// Compute of each card, in 1/10,000; whole cards have 10,000.
    pub compute: i64,
    /// GPU memory of each card in bytes; whole cards have all of it, and say 0.
    pub memory_bytes: i64,
}

/// What the node says.
#[derive(KubeSchema, Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GpuGrantStatus {
    /// UIDs of the pods whose grants the node has put into force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledged: Vec<String>,
}
