//! The claim that stands for a pod's extended resources (KEP-5004), as kube-scheduler makes it.
//!
//! It belongs to the pod and goes with it, and the pod's status says which request is for which
//! container, so that the kubelet hands the devices out.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, Patch, PostParams};
use kube::{Api, Client};
use serde_json::json;

use super::{ClaimOrder, FINALIZER, patch_status, version};
use crate::live::act::PodName;
use crate::live::act::request::{parameters, trouble, within};
use crate::live::change::Outcome;

/// Marks the claim for everybody who deals with claims.
const MARK: &str = "resource.kubernetes.io/extended-resource-claim";

/// Makes the claim, or finds the one of an earlier attempt, and tells the pod of it.
pub(super) async fn make(
    client: &Client,
    claims: &Api<api::ResourceClaim>,
    pod: &PodName,
    order: &ClaimOrder,
    requests: &[api::DeviceRequest],
) -> Result<api::ResourceClaim, Outcome> {
    let claim = match within(claims.get_opt(&order.name)).await? {
        Some(claim) => claim,
        None => {
            let new = claim(pod, order, requests);
            within(claims.create(&PostParams::default(), &new)).await?
        }
    };
    let owners = claim.metadata.owner_references.iter().flatten();
    if !owners.into_iter().any(|owner| owner.uid == *pod.uid) {
        return Err(trouble(format!(
            "claim {} belongs to another pod",
            order.name
        )));
    }
    tell_pod(client, pod, order, requests).await?;
    Ok(claim)
}

/// Takes a claim away that was made for a pod which was not bound after all, with its devices.
pub(in crate::live::act) async fn unmake(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<(), Outcome> {
    let claims: Api<api::ResourceClaim> = Api::namespaced(client.clone(), namespace);
    let Some(claim) = within(claims.get_opt(name)).await? else {
        return Ok(());
    };
    let release = json!({
        "metadata": version(&claim),
        "status": { "allocation": null, "reservedFor": null },
    });
    let claim = patch_status(&claims, &claim, release).await?;
    let mut metadata = version(&claim);
    metadata["finalizers"] = json!(null);
    let unprotect = Patch::Merge(json!({ "metadata": metadata }));
    within(claims.patch(name, &parameters(), &unprotect)).await?;
    within(claims.delete(name, &DeleteParams::default())).await?;
    Ok(())
}

fn claim(pod: &PodName, order: &ClaimOrder, requests: &[api::DeviceRequest]) -> api::ResourceClaim {
    let mark = (MARK.to_owned(), "true".to_owned());
    api::ResourceClaim {
        metadata: ObjectMeta {
            name: Some(order.name.to_string()),
            namespace: Some(pod.namespace.to_string()),
            annotations: Some(BTreeMap::from([mark])),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            owner_references: Some(vec![OwnerReference {
                api_version: "v1".to_owned(),
                kind: "Pod".to_owned(),
                name: pod.name.to_string(),
                uid: pod.uid.to_string(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            ..ObjectMeta::default()
        },
        spec: Some(api::ResourceClaimSpec {
            devices: Some(api::DeviceClaim {
                requests: Some(requests.to_vec()),
                ..api::DeviceClaim::default()
            }),
        }),
        status: None,
    }
}

/// Writes into the pod's status which request is for which container's resource.
async fn tell_pod(
    client: &Client,
    pod: &PodName,
    order: &ClaimOrder,
    requests: &[api::DeviceRequest],
) -> Result<(), Outcome> {
    let pods: Api<core::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let Some(found) = within(pods.get_opt(&pod.name)).await? else {
        return Err(Outcome::Overtaken);
    };
    let spec = found.spec.unwrap_or_default();
    let containers: Vec<&core::Container> = spec
        .init_containers
        .iter()
        .flatten()
        .chain(&spec.containers)
        .collect();
    let mut mappings = Vec::new();
    for request in requests {
        let place = place(&request.name).and_then(|(container, resource)| {
            let container = containers.get(container)?;
            let asked = container.resources.as_ref()?.requests.as_ref()?;
            Some((container.name.clone(), asked.keys().nth(resource)?.clone()))
        });
        let Some((container, resource)) = place else {
            return Err(trouble(format!(
                "request {} is for no container",
                request.name
            )));
        };
        mappings.push(json!({
            "containerName": container,
            "resourceName": resource,
            "requestName": request.name,
        }));
    }
    let patch = Patch::Merge(json!({
        "metadata": { "uid": pod.uid.as_str() },
        "status": { "extendedResourceClaimStatus": {
            "resourceClaimName": order.name.as_str(),
            "requestMappings": mappings,
        } },
    }));
    within(pods.patch_status(&pod.name, &parameters(), &patch)).await?;
    Ok(())
}

/// The container and the resource that a request is for, by their places.
fn place(request: &str) -> Option<(usize, usize)> {
    let rest = request.strip_prefix("container-")?;
    let (container, resource) = rest.split_once("-request-")?;
    Some((container.parse().ok()?, resource.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_container_and_resource() {
        assert_eq!(place("container-2-request-10"), Some((2, 10)));
        for wrong in ["container-x-request-1", "gpu", "container-1"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
