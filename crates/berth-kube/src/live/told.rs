//! What one pod's own object says: for those who may not look at the whole cluster.

use berth_core::filter::facts::Text;
use berth_core::time::Time;
use k8s_openapi::api::core::v1 as api;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

/// A pod as its object says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldPod {
    pub key: Text,
    pub scheduler: String,
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: String,
    /// Where it has its place.
    pub node: Option<String>,
    pub created: Option<Time>,
    /// Its condition `PodScheduled`, once somebody has written it.
    pub scheduled: Option<ToldCondition>,
}

/// A condition of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldCondition {
    pub is_true: bool,
    pub reason: String,
    pub message: String,
    pub since: Option<Time>,
}

impl ToldPod {
    /// Whether it has ended, and holds nothing any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        matches!(self.phase.as_str(), "Succeeded" | "Failed")
    }
}

/// The pod of this name; `None` if there is none.
///
/// # Errors
/// If the API server doesn't say.
pub async fn pod(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<ToldPod>, kube::Error> {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), namespace);
    let Some(pod) = pods.get_opt(name).await? else {
        return Ok(None);
    };
    let time = |at: &k8s_openapi::jiff::Timestamp| Time(at.as_millisecond());
    let spec = pod.spec.unwrap_or_default();
    let status = pod.status.unwrap_or_default();
    let mut conditions = status.conditions.into_iter().flatten();
    let scheduled = conditions.find(|one| one.type_ == "PodScheduled");
    Ok(Some(ToldPod {
        key: Text::from(format!("{namespace}/{name}")),
        scheduler: spec.scheduler_name.unwrap_or_default(),
        phase: status.phase.unwrap_or_default(),
        node: spec.node_name.filter(|node| !node.is_empty()),
        created: pod.metadata.creation_timestamp.map(|at| time(&at.0)),
        scheduled: scheduled.map(|one| ToldCondition {
            is_true: one.status == "True",
            reason: one.reason.unwrap_or_default(),
            message: one.message.unwrap_or_default(),
            since: one.last_transition_time.map(|at| time(&at.0)),
        }),
    }))
}

/// The names of the pods of a namespace.
///
/// # Errors
/// If this account may not list them.
pub async fn pod_names(client: &Client, namespace: &str) -> Result<Vec<String>, kube::Error> {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), namespace);
    let listed = pods.list_metadata(&ListParams::default()).await?;
    Ok(listed.items.iter().map(ResourceExt::name_any).collect())
}
