//! Claims of volumes that wait for a node: told which, or given a volume, before the pod is bound.
//!
//! As kube-scheduler does it: a free volume is promised to the claim by the volume's `claimRef`, a new
//! one is asked for by the claim's annotation `selected-node`; the volume controllers do the rest.
//! Invariant: a pod is bound only when each of its claims is. Where that takes longer than a moment the
//! pod rests and is tried again, and the node stays the same because the claim names it.

use std::time::Duration;

use berth_core::filter::facts::Text;
use k8s_openapi::api::core::v1 as api;
use kube::api::Patch;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::request::{parameters, trouble, within};
use super::{Fence, PodName};
use crate::live::change::Outcome;

/// How long an attempt waits for claims to be bound, and between two looks.
const PATIENCE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The annotation that asks for a volume on a node.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// The annotation of volumes that were bound by a controller and not by hand.
const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The annotation of claims whose binding is complete.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// A claim that has no volume yet.
#[derive(Debug, Clone)]
pub struct VolumeOrder {
    pub name: Text,
    pub uid: Text,
    /// The volume that it gets; `None` where one is to be made on the node.
    pub volume: Option<Text>,
}

/// Has every claim bound for a pod that goes to `node`.
pub(super) async fn write(
    client: &Client,
    pod: &PodName,
    node: &Text,
    orders: &[VolumeOrder],
    fence: &Fence,
) -> Result<(), Outcome> {
    let claims: Api<api::PersistentVolumeClaim> = Api::namespaced(client.clone(), &pod.namespace);
    for order in orders {
        if fence.is_closed() {
            return Err(trouble("the right to write was lost".to_owned()));
        }
        match &order.volume {
            Some(volume) => promise(client, pod, order, volume).await?,
            None => select(&claims, order, node).await?,
        }
    }
    let until = Instant::now() + PATIENCE;
    for order in orders {
        while !is_bound(&claims, order).await? {
            if Instant::now() >= until {
                return Err(trouble(format!(
                    "claim {} is still being bound",
                    order.name
                )));
            }
            sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

/// Promises a volume to a claim.
async fn promise(
    client: &Client,
    pod: &PodName,
    order: &VolumeOrder,
    volume: &Text,
) -> Result<(), Outcome> {
    let volumes: Api<api::PersistentVolume> = Api::all(client.clone());
    let Some(found) = within(volumes.get_opt(volume)).await? else {
        return Err(trouble(format!("volume {volume} has gone")));
    };
    let owner = found.spec.as_ref().and_then(|spec| spec.claim_ref.as_ref());
    if let Some(owner) = owner {
        let is_ours = owner.name.as_deref() == Some(&*order.name)
            && owner.namespace.as_deref() == Some(&*pod.namespace)
            && owner.uid.as_deref().is_none_or(|uid| uid == &*order.uid);
        if !is_ours {
            return Err(trouble(format!(
                "volume {volume} was given to another claim"
            )));
        }
        if owner.uid.is_some() {
            return Ok(());
        }
    }
    let patch = Patch::Merge(json!({
        "metadata": {
            "resourceVersion": found.metadata.resource_version,
            "annotations": { BOUND_BY_CONTROLLER: "yes" },
        },
        "spec": { "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": pod.namespace.as_str(),
            "name": order.name.as_str(),
            "uid": order.uid.as_str(),
        } },
    }));
    within(volumes.patch(volume, &parameters(), &patch)).await?;
    Ok(())
}

/// Asks for a volume on a node.
async fn select(
    claims: &Api<api::PersistentVolumeClaim>,
    order: &VolumeOrder,
    node: &Text,
) -> Result<(), Outcome> {
    let found = find(claims, order).await?;
    let annotations = found.metadata.annotations.as_ref();
    let selected = annotations.and_then(|all| all.get(SELECTED_NODE));
    if selected.is_some_and(|selected| selected == node.as_str()) || is_complete(&found) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({
        "metadata": {
            "resourceVersion": found.metadata.resource_version,
            "annotations": { SELECTED_NODE: node.as_str() },
        },
    }));
    within(claims.patch(&order.name, &parameters(), &patch)).await?;
    Ok(())
}

async fn is_bound(
    claims: &Api<api::PersistentVolumeClaim>,
    order: &VolumeOrder,
) -> Result<bool, Outcome> {
    Ok(is_complete(&find(claims, order).await?))
}

async fn find(
    claims: &Api<api::PersistentVolumeClaim>,
    order: &VolumeOrder,
) -> Result<api::PersistentVolumeClaim, Outcome> {
    match within(claims.get_opt(&order.name)).await? {
        Some(found) if found.metadata.uid.as_deref() == Some(&*order.uid) => Ok(found),
        Some(_) | None => Err(trouble(format!("claim {} has gone", order.name))),
    }
}

/// Whether the volume controllers are done with a claim.
fn is_complete(claim: &api::PersistentVolumeClaim) -> bool {
    let annotations = claim.metadata.annotations.as_ref();
    let is_done = annotations.is_some_and(|all| all.contains_key(BIND_COMPLETED));
    let volume = claim
        .spec
        .as_ref()
        .and_then(|spec| spec.volume_name.as_ref());
    is_done && volume.is_some_and(|volume| !volume.is_empty())
}
