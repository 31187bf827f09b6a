//! Writes to pods: binds, gates, evictions, and why they wait.
//!
//! Invariant: a bind that got through is never taken back: what can't be told from the answer is looked
//! up. Attempts are bounded. Not here: what has to be written before a bind.

use berth_core::filter::facts::Text;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::request::{ATTEMPTS_MAX, PAUSE, REQUEST_TIME_MAX, parameters, refused, trouble, within};
use super::{Fence, PodName};
use crate::live::change::Outcome;

/// Binds a pod, or finds out what became of it.
pub(super) async fn bind(client: &Client, pod: &PodName, node: &Text, fence: &Fence) -> Outcome {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let binding = api::Binding {
        metadata: ObjectMeta {
            name: Some(pod.name.to_string()),
            namespace: Some(pod.namespace.to_string()),
            uid: Some(pod.uid.to_string()),
            ..ObjectMeta::default()
        },
        target: api::ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(node.to_string()),
            ..api::ObjectReference::default()
        },
    };
    let parameters = PostParams::default();
    let mut pause = PAUSE;
    let mut last = String::new();
    for _ in 0..ATTEMPTS_MAX {
        if fence.is_closed() {
            return trouble("the right to write was lost".to_owned());
        }
        let write = pods.create_subresource::<_, serde_json::Value>(
            "binding",
            &pod.name,
            &parameters,
            &binding,
        );
        match timeout(REQUEST_TIME_MAX, write).await {
            Ok(Ok(_)) => return Outcome::Bound,
            Ok(Err(kube::Error::Api(status))) => match status.code {
                404 => return Outcome::Overtaken,
                409 => return look(&pods, pod, node).await,
                429 | 500..=599 => last = status.message.clone(),
                _ => return refused(&status),
            },
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = "the API server did not answer".to_owned(),
        }
        sleep(pause).await;
        pause *= 2;
    }
    match look(&pods, pod, node).await {
        Outcome::Refused { .. } => trouble(last),
        other => other,
    }
}

/// Whether a pod is bound after all.
async fn look(pods: &Api<api::Pod>, pod: &PodName, node: &Text) -> Outcome {
    match timeout(REQUEST_TIME_MAX, pods.get_opt(&pod.name)).await {
        Ok(Ok(Some(found))) => {
            let is_same = found.metadata.uid.as_deref() == Some(&*pod.uid);
            let place = found
                .spec
                .as_ref()
                .and_then(|spec| spec.node_name.as_deref());
            match place.filter(|place| !place.is_empty()) {
                _ if !is_same => Outcome::Overtaken,
                Some(place) if place == node.as_str() => Outcome::Bound,
                Some(_) => Outcome::Overtaken,
                None => trouble("it was changed at the same time".to_owned()),
            }
        }
        Ok(Ok(None)) => Outcome::Overtaken,
        Ok(Err(error)) => trouble(error.to_string()),
        Err(_) => trouble("the API server did not answer".to_owned()),
    }
}

/// Takes Berth's own gate off a pod, which has no other.
pub(super) async fn open_gate(
    client: &Client,
    pod: &PodName,
    fence: &Fence,
) -> Result<(), Outcome> {
    if fence.is_closed() {
        return Err(trouble("the right to write was lost".to_owned()));
    }
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let patch = Patch::Merge(json!({
        "metadata": { "uid": pod.uid.as_str() },
        "spec": { "schedulingGates": [] },
    }));
    within(pods.patch(&pod.name, &parameters(), &patch)).await?;
    Ok(())
}

/// Marks a pod as disrupted and deletes it.
pub(super) async fn evict(
    client: &Client,
    pod: &PodName,
    cause: &str,
    message: &str,
    fence: &Fence,
) {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let mark = Patch::Strategic(json!({
        "metadata": { "uid": pod.uid.as_str() },
        "status": { "conditions": [condition("DisruptionTarget", "True", cause, message)] },
    }));
    let parameters = parameters();
    let parameters_of_delete = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(pod.uid.to_string()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let mut pause = PAUSE;
    for _ in 0..ATTEMPTS_MAX {
        if fence.is_closed() {
            return;
        }
        // Without the mark the eviction is as good; only its reason is missing.
        let marking = pods.patch_status(&pod.name, &parameters, &mark);
        if let Ok(Err(why)) = timeout(REQUEST_TIME_MAX, marking).await {
            tracing::debug!(pod = %pod.name, %why, "can't be marked as disrupted");
        }
        let delete = pods.delete(&pod.name, &parameters_of_delete);
        match timeout(REQUEST_TIME_MAX, delete).await {
            Ok(Ok(_)) => return,
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => return,
            Ok(Err(why)) => tracing::warn!(pod = %pod.name, %why, "can't be evicted"),
            Err(_) => tracing::warn!(pod = %pod.name, "eviction got no answer"),
        }
        sleep(pause).await;
        pause *= 2;
    }
}

/// Writes into a pod's status why it waits. Best effort: the next change writes it again. With the
/// version as the lock it can't reach a pod that has been bound in the meantime.
pub(super) async fn tell(
    client: &Client,
    pod: &PodName,
    version: &Text,
    condition: serde_json::Value,
    fence: &Fence,
) {
    if fence.is_closed() {
        return;
    }
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let patch = Patch::Strategic(json!({
        "metadata": { "uid": pod.uid.as_str(), "resourceVersion": version.as_str() },
        "status": { "conditions": [condition] },
    }));
    let parameters = parameters();
    let write = pods.patch_status(&pod.name, &parameters, &patch);
    if let Ok(Err(why)) = timeout(REQUEST_TIME_MAX, write).await {
        tracing::debug!(pod = %pod.name, %why, "can't be told why it waits");
    }
}

pub(super) fn condition(
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
) -> serde_json::Value {
    let now = k8s_openapi::jiff::Timestamp::now();
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    })
}
