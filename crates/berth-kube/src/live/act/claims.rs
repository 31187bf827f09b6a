//! Claims of devices: what was decided is written into their status, before the pod is bound.
//!
//! The claim's status is the one truth about who has which device, and its resource version the lock:
//! of two writers one succeeds. The finalizer comes first, so that a claim with devices can't vanish.
//! Invariant: a pod is bound only if each of its claims has devices, is reserved for it, and has met
//! the conditions of its devices (KEP-5007).

pub(super) mod extended;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{AllocatedDevice, Sharing};
use k8s_openapi::api::core::v1::NodeSelector;
use k8s_openapi::api::resource::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::Patch;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::super::change::Outcome;
use super::request::{parameters, trouble, within};
use super::{Fence, PodName};

/// What keeps a claim with devices from vanishing.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// Pods that one claim can be reserved for.
const RESERVATIONS_MAX: usize = 256;

/// What is to become of a claim of the pod that is bound.
#[derive(Debug, Clone)]
pub struct ClaimOrder {
    pub name: Text,
    pub uid: Text,
    /// What was decided; `None` where the claim has its devices already.
    pub give: Option<Give>,
    /// Requests of a claim that has yet to be made, for the pod's extended resources.
    pub make: Option<Vec<api::DeviceRequest>>,
}

/// Devices for a claim.
#[derive(Debug, Clone)]
pub struct Give {
    pub devices: Vec<GivenDevice>,
    /// The nodes that can use them.
    pub nodes: Option<NodeSelector>,
    /// The configuration of each class, by its name.
    pub classes: Vec<(Text, Vec<api::DeviceClassConfiguration>)>,
}

/// A device for a request.
#[derive(Debug, Clone)]
pub struct GivenDevice {
    pub device: AllocatedDevice,
    /// Whether it is only looked after.
    pub is_admin: bool,
    pub binding_conditions: Option<Vec<String>>,
    pub binding_failure_conditions: Option<Vec<String>>,
}

/// Writes every claim of a pod, in the pod's order.
pub(super) async fn write(
    client: &Client,
    pod: &PodName,
    orders: &[ClaimOrder],
    fence: &Fence,
) -> Result<(), Outcome> {
    let claims: Api<api::ResourceClaim> = Api::namespaced(client.clone(), &pod.namespace);
    for order in orders {
        if fence.is_closed() {
            return Err(trouble("the right to write was lost".to_owned()));
        }
        let claim = match (&order.make, &order.give) {
            (Some(requests), _) => extended::make(client, &claims, pod, order, requests).await?,
            (None, Some(_)) => protect(&claims, order).await?,
            (None, None) => find(&claims, order).await?,
        };
        let claim = match &claim.status {
            Some(status) if status.allocation.is_some() => reserve(&claims, pod, claim).await?,
            Some(_) | None => give(&claims, pod, order, claim).await?,
        };
        if let Some(waits_for) = unmet(&claim) {
            return Err(trouble(format!("devices wait for {waits_for}")));
        }
    }
    Ok(())
}

async fn find(
    claims: &Api<api::ResourceClaim>,
    order: &ClaimOrder,
) -> Result<api::ResourceClaim, Outcome> {
    let found = within(claims.get_opt(&order.name)).await?;
    match found {
        Some(claim) if claim.metadata.uid.as_deref() == Some(&*order.uid) => Ok(claim),
        Some(_) | None => Err(trouble(format!("claim {} has gone", order.name))),
    }
}

/// Adds the pod to those that a claim with devices is reserved for.
async fn reserve(
    claims: &Api<api::ResourceClaim>,
    pod: &PodName,
    claim: api::ResourceClaim,
) -> Result<api::ResourceClaim, Outcome> {
    let status = claim.status.as_ref();
    let reserved = status.and_then(|status| status.reserved_for.as_ref());
    let reserved = reserved.map_or(&[][..], Vec::as_slice);
    if reserved.iter().any(|one| one.uid == *pod.uid) {
        return Ok(claim);
    }
    if reserved.len() >= RESERVATIONS_MAX {
        return Err(trouble(
            "its claim is reserved for as many pods as it can be".to_owned(),
        ));
    }
    let mut all: Vec<Value> = reserved.iter().map(|one| json!(one)).collect();
    all.push(consumer(pod));
    let patch = json!({
        "metadata": version(&claim),
        "status": { "reservedFor": all },
    });
    patch_status(claims, &claim, patch).await
}

/// Gives a claim that can't vanish any more its devices.
async fn give(
    claims: &Api<api::ResourceClaim>,
    pod: &PodName,
    order: &ClaimOrder,
    claim: api::ResourceClaim,
) -> Result<api::ResourceClaim, Outcome> {
    let Some(give) = &order.give else {
        return Err(trouble(format!(
            "claim {} has lost its devices",
            order.name
        )));
    };
    let allocation = allocation(give, &claim)?;
    let patch = json!({
        "metadata": version(&claim),
        "status": { "allocation": allocation, "reservedFor": [consumer(pod)] },
    });
    patch_status(claims, &claim, patch).await
}

/// Keeps a claim from vanishing, and reads it. The server adds to the finalizers that it has, so that
/// nobody has to look first.
async fn protect(
    claims: &Api<api::ResourceClaim>,
    order: &ClaimOrder,
) -> Result<api::ResourceClaim, Outcome> {
    let patch = Patch::Strategic(json!({
        "metadata": { "uid": order.uid.as_str(), "finalizers": [FINALIZER] },
    }));
    within(claims.patch(&order.name, &parameters(), &patch)).await
}

async fn patch_status(
    claims: &Api<api::ResourceClaim>,
    claim: &api::ResourceClaim,
    patch: Value,
) -> Result<api::ResourceClaim, Outcome> {
    let (parameters, name) = (parameters(), name_of(claim));
    within(claims.patch_status(name, &parameters, &Patch::Merge(patch))).await
}

fn allocation(give: &Give, claim: &api::ResourceClaim) -> Result<Value, Outcome> {
    let uid = claim.metadata.uid.as_deref().unwrap_or_default();
    let mut results = Vec::new();
    for (index, one) in give.devices.iter().enumerate() {
        results.push(result(one, claim, share_id(uid, index)));
    }
    let requests: Vec<&Text> = give.devices.iter().map(|one| &one.device.request).collect();
    let allocation = api::AllocationResult {
        allocation_timestamp: None,
        devices: Some(api::DeviceAllocationResult {
            config: Some(configuration(give, claim, &requests)),
            results: Some(results),
        }),
        node_selector: give.nodes.clone(),
    };
    let mut value = serde_json::to_value(&allocation)
        .map_err(|why| trouble(format!("an allocation can't be written: {why}")))?;
    let has_conditions = give
        .devices
        .iter()
        .any(|one| one.binding_conditions.is_some());
    if has_conditions {
        let now = k8s_openapi::jiff::Timestamp::now();
        value["allocationTimestamp"] = json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    }
    Ok(value)
}

fn result(
    from: &GivenDevice,
    claim: &api::ResourceClaim,
    share_id: String,
) -> api::DeviceRequestAllocationResult {
    let AllocatedDevice {
        request,
        key,
        sharing,
        capacity,
    } = &from.device;
    let is_shared = *sharing == Sharing::Several && !from.is_admin;
    let consumed = capacity.iter().map(|(name, amount)| {
        let nano = amount.nano();
        let text = if nano % 1_000_000_000 == 0 {
            (nano / 1_000_000_000).to_string()
        } else {
            format!("{nano}n")
        };
        (name.to_string(), Quantity(text))
    });
    api::DeviceRequestAllocationResult {
        admin_access: from.is_admin.then_some(true),
        binding_conditions: from.binding_conditions.clone(),
        binding_failure_conditions: from.binding_failure_conditions.clone(),
        consumed_capacity: (is_shared && !capacity.is_empty()).then(|| consumed.collect()),
        device: key.device.to_string(),
        driver: key.driver.to_string(),
        pool: key.pool.to_string(),
        request: request.to_string(),
        share_id: is_shared.then_some(share_id),
        tolerations: tolerations(claim, request),
        ..api::DeviceRequestAllocationResult::default()
    }
}

/// What the request tolerates, or its alternative.
fn tolerations(claim: &api::ResourceClaim, request: &str) -> Option<Vec<api::DeviceToleration>> {
    let (name, alternative) = match request.split_once('/') {
        Some((name, alternative)) => (name, Some(alternative)),
        None => (request, None),
    };
    let requests = claim.spec.as_ref()?.devices.as_ref()?.requests.as_ref()?;
    let request = requests.iter().find(|one| one.name == name)?;
    match alternative {
        None => request.exactly.as_ref()?.tolerations.clone(),
        Some(alternative) => {
            let all = request.first_available.as_ref()?;
            let one = all.iter().find(|one| one.name == alternative)?;
            one.tolerations.clone()
        }
    }
}

/// Configuration of the classes first, then of the claim: what comes later counts more.
fn configuration(
    give: &Give,
    claim: &api::ResourceClaim,
    requests: &[&Text],
) -> Vec<api::DeviceAllocationConfiguration> {
    let mut all = Vec::new();
    for (request, configs) in &give.classes {
        for config in configs {
            all.push(api::DeviceAllocationConfiguration {
                opaque: config.opaque.clone(),
                requests: Some(vec![request.to_string()]),
                source: "FromClass".to_owned(),
            });
        }
    }
    let of_claim = claim.spec.as_ref().and_then(|spec| spec.devices.as_ref());
    let of_claim = of_claim.and_then(|devices| devices.config.as_ref());
    for config in of_claim.into_iter().flatten() {
        let named = config.requests.as_ref().filter(|named| !named.is_empty());
        let concerns = |named: &Vec<String>| {
            named.iter().any(|name| {
                let is_of = |request: &&Text| {
                    request.as_str() == name
                        || request
                            .split_once('/')
                            .is_some_and(|(parent, _)| parent == name)
                };
                requests.iter().any(is_of)
            })
        };
        if named.is_none_or(concerns) {
            all.push(api::DeviceAllocationConfiguration {
                opaque: config.opaque.clone(),
                requests: config.requests.clone(),
                source: "FromClaim".to_owned(),
            });
        }
    }
    all
}

/// A UUID for a share of a device: unique as the claim's is, and the same at every attempt.
fn share_id(claim_uid: &str, index: usize) -> String {
    let keep = claim_uid.len().saturating_sub(12);
    let (head, tail) = claim_uid.split_at_checked(keep).unwrap_or((claim_uid, ""));
    let tail = u64::from_str_radix(tail, 16).unwrap_or(0);
    let tail = tail.wrapping_add(index as u64 + 1) & 0xffff_ffff_ffff;
    format!("{head}{tail:012x}")
}

/// A condition of a device that has yet to come true (KEP-5007).
fn unmet(claim: &api::ResourceClaim) -> Option<String> {
    let status = claim.status.as_ref()?;
    let results = status
        .allocation
        .as_ref()?
        .devices
        .as_ref()?
        .results
        .as_ref()?;
    for one in results {
        let reports = status.devices.iter().flatten();
        let report = reports.into_iter().find(|report| {
            report.driver == one.driver
                && report.pool == one.pool
                && report.device == one.device
                && report.share_id == one.share_id
        });
        let is_true = |name: &&String| {
            let conditions = report.and_then(|report| report.conditions.as_ref());
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|one| one.type_ == **name && one.status == "True")
        };
        let wanted = one.binding_conditions.iter().flatten();
        if let Some(missing) = wanted.into_iter().find(|name| !is_true(name)) {
            return Some(missing.clone());
        }
    }
    None
}

fn consumer(pod: &PodName) -> Value {
    json!({ "resource": "pods", "name": pod.name.as_str(), "uid": pod.uid.as_str() })
}

fn version(claim: &api::ResourceClaim) -> Value {
    json!({
        "uid": claim.metadata.uid,
        "resourceVersion": claim.metadata.resource_version,
    })
}

fn name_of(claim: &api::ResourceClaim) -> &str {
    claim.metadata.name.as_deref().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_one_claim_have_ids_of_their_own_and_keep_them() {
        let uid = "3f2b6f0e-7a1c-4c1e-9a51-ffffffffffff";
        let (one, two) = (share_id(uid, 0), share_id(uid, 1));
        assert_ne!(one, two);
        assert_eq!(one, share_id(uid, 0));
        assert_eq!(one.len(), uid.len());
        assert_eq!(one, "3f2b6f0e-7a1c-4c1e-9a51-000000000000");
    }
}
