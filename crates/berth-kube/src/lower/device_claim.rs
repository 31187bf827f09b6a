//! `ResourceClaim`, and what pods say of claims and extended resources.

use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{
    Access, AllocatedDevice, Allocation, Ask, Choice, Constraint, ContainerAsk, DeviceClaim,
    DeviceKey, Likeness, PodClaim, Readiness, Request, Says, Sharing, Wanted,
};
use berth_core::filter::facts::exact::Exact;
use berth_core::filter::facts::storage::ClaimKey;
use berth_core::time::Time;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;

use super::device::expressions;
use super::node_selector::node_selector;
use super::requests::{amounts, is_sidecar};
use super::taint::device_toleration;
use super::{LowerError, Quantities, amount, list, missing, name, optional, text, texts, unknown};

/// The annotation of claims that stand for a pod's extended resources.
const EXTENDED_ANNOTATION: &str = "resource.kubernetes.io/extended-resource-claim";

/// How long devices may take to become ready (the plugin's argument `bindingTimeout`), in
/// milliseconds.
const BINDING_TIMEOUT_MS: i64 = 600_000;

/// A claim of devices.
///
/// # Errors
/// If it has no name, or a field can't be read.
pub fn device_claim(from: &api::ResourceClaim) -> Result<DeviceClaim, LowerError> {
    let api::ResourceClaim {
        metadata,
        spec,
        status,
    } = from;
    let devices = spec.as_ref().and_then(|spec| spec.devices.as_ref());
    let requests = devices.map_or(&[][..], |one| list(one.requests.as_ref()));
    let constraints = devices.map_or(&[][..], |one| list(one.constraints.as_ref()));
    let owners = metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    let annotation = metadata
        .annotations
        .as_ref()
        .and_then(|all| all.get(EXTENDED_ANNOTATION));
    Ok(DeviceClaim {
        key: ClaimKey {
            namespace: optional(metadata.namespace.as_ref()),
            name: name(metadata)?,
        },
        uid: optional(metadata.uid.as_ref()),
        is_terminating: metadata.deletion_timestamp.is_some(),
        owner: controllers.next().map(|owner| text(&owner.uid)),
        is_for_extended: annotation.is_some_and(|value| value == "true"),
        requests: requests.iter().map(request).collect::<Result<_, _>>()?,
        constraints: constraints
            .iter()
            .map(constraint)
            .collect::<Result<_, _>>()?,
        allocation: status.as_ref().map(allocation).transpose()?.flatten(),
    })
}

fn request(from: &api::DeviceRequest) -> Result<Request, LowerError> {
    let api::DeviceRequest {
        exactly,
        first_available,
        name,
    } = from;
    let alternatives = list(first_available.as_ref());
    let choice = if let Some(exactly) = exactly {
        Choice::Exactly(exact_ask(exactly)?)
    } else if alternatives.is_empty() {
        Choice::Unknown
    } else {
        let alternatives = alternatives.iter().map(alternative);
        Choice::FirstAvailable(alternatives.collect::<Result<_, _>>()?)
    };
    Ok(Request {
        name: text(name),
        choice,
    })
}

fn exact_ask(from: &api::ExactDeviceRequest) -> Result<Ask, LowerError> {
    let api::ExactDeviceRequest {
        admin_access,
        allocation_mode,
        capacity,
        count,
        derived_attributes: _,
        device_class_name,
        selectors,
        tolerations,
    } = from;
    Ok(Ask {
        class: text(device_class_name),
        wanted: wanted(allocation_mode.as_ref(), *count)?,
        access: match admin_access {
            Some(true) => Access::Admin,
            Some(false) | None => Access::Use,
        },
        selectors: expressions(list(selectors.as_ref())),
        tolerations: list(tolerations.as_ref())
            .iter()
            .filter_map(device_toleration)
            .collect(),
        capacity: exact_list(capacity.as_ref().and_then(|one| one.requests.as_ref()))?,
    })
}

fn alternative(from: &api::DeviceSubRequest) -> Result<(Text, Ask), LowerError> {
    let api::DeviceSubRequest {
        allocation_mode,
        capacity,
        count,
        derived_attributes: _,
        device_class_name,
        name,
        selectors,
        tolerations,
    } = from;
    let ask = Ask {
        class: text(device_class_name),
        wanted: wanted(allocation_mode.as_ref(), *count)?,
        access: Access::Use,
        selectors: expressions(list(selectors.as_ref())),
        tolerations: list(tolerations.as_ref())
            .iter()
            .filter_map(device_toleration)
            .collect(),
        capacity: exact_list(capacity.as_ref().and_then(|one| one.requests.as_ref()))?,
    };
    Ok((text(name), ask))
}

fn wanted(mode: Option<&String>, count: Option<i64>) -> Result<Wanted, LowerError> {
    match mode.map(String::as_str) {
        None | Some("" | "ExactCount") => Ok(Wanted::Count(count.unwrap_or(1))),
        Some("All") => Ok(Wanted::All),
        Some(other) => {
            let path = "spec.devices.requests[].allocationMode";
            Err(unknown(path, other, "ExactCount or All"))
        }
    }
}

fn exact_list(from: Option<&Quantities>) -> Result<Box<[(Text, Exact)]>, LowerError> {
    let lower = |(name, quantity): (&String, _)| Ok((text(name), amount("capacity", quantity)?));
    from.into_iter().flatten().map(lower).collect()
}

fn constraint(from: &api::DeviceConstraint) -> Result<Constraint, LowerError> {
    let api::DeviceConstraint {
        distinct_attribute,
        match_attribute,
        requests,
    } = from;
    let (likeness, attribute) = match (match_attribute, distinct_attribute) {
        (Some(name), _) => (Likeness::Same, name),
        (None, Some(name)) => (Likeness::Distinct, name),
        (None, None) => return Err(missing("spec.devices.constraints[].matchAttribute")),
    };
    Ok(Constraint {
        requests: texts(requests.as_ref()),
        likeness,
        attribute: text(attribute),
    })
}

fn allocation(from: &api::ResourceClaimStatus) -> Result<Option<Allocation>, LowerError> {
    let Some(given) = &from.allocation else {
        return Ok(None);
    };
    let results = given.devices.as_ref();
    let results = results.map_or(&[][..], |one| list(one.results.as_ref()));
    let for_use = results.iter().filter(|one| one.admin_access != Some(true));
    Ok(Some(Allocation {
        says: Says::TheClaim,
        looked_after: Box::default(),
        devices: for_use.map(allocated).collect::<Result<_, _>>()?,
        nodes: given.node_selector.as_ref().map(node_selector),
        readiness: readiness(from, given, results),
    }))
}

fn allocated(from: &api::DeviceRequestAllocationResult) -> Result<AllocatedDevice, LowerError> {
    Ok(AllocatedDevice {
        request: text(&from.request),
        key: DeviceKey {
            driver: text(&from.driver),
            pool: text(&from.pool),
            device: text(&from.device),
        },
        sharing: if from.share_id.is_some() {
            Sharing::Several
        } else {
            Sharing::One
        },
        capacity: exact_list(from.consumed_capacity.as_ref())?,
    })
}

/// Whether every device with conditions has met them (KEP-5007).
fn readiness(
    status: &api::ResourceClaimStatus,
    given: &api::AllocationResult,
    results: &[api::DeviceRequestAllocationResult],
) -> Readiness {
    let mut with_deadline = results
        .iter()
        .filter(|one| one.binding_conditions.is_some());
    let allocated_at = given.allocation_timestamp.as_ref();
    let until = with_deadline
        .next()
        .and(allocated_at)
        .map(|at| Time(at.0.as_millisecond().saturating_add(BINDING_TIMEOUT_MS)));
    for one in results {
        let conditions = list(one.binding_conditions.as_ref());
        if conditions.is_empty() {
            continue;
        }
        let mut reports = status.devices.iter().flatten();
        let report = reports.find(|report| {
            report.driver == one.driver
                && report.pool == one.pool
                && report.device == one.device
                && report.share_id == one.share_id
        });
        let Some(report) = report else {
            return Readiness::Waiting(until);
        };
        let is_true = |name: &String| {
            let mut all = report.conditions.iter().flatten();
            all.any(|one| one.type_ == *name && one.status == "True")
        };
        if list(one.binding_failure_conditions.as_ref())
            .iter()
            .any(is_true)
        {
            return Readiness::Failed;
        }
        if !conditions.iter().all(is_true) {
            return Readiness::Waiting(until);
        }
    }
    Readiness::Ready
}

/// The claims that a pod names. One that turned out not to be needed is left out.
pub(super) fn pod_claims(
    spec: &core::PodSpec,
    status: Option<&core::PodStatus>,
) -> Box<[PodClaim]> {
    let statuses = status.and_then(|status| status.resource_claim_statuses.as_ref());
    let claim = |one: &core::PodResourceClaim| {
        let core::PodResourceClaim {
            name,
            resource_claim_name,
            resource_claim_template_name: _,
        } = one;
        if let Some(claim) = resource_claim_name {
            return Some(PodClaim::Named(text(claim)));
        }
        match list(statuses).iter().find(|status| status.name == *name) {
            None => Some(PodClaim::Pending(text(name))),
            Some(status) => {
                let made = status.resource_claim_name.as_ref()?;
                Some(PodClaim::Made(text(made)))
            }
        }
    };
    list(spec.resource_claims.as_ref())
        .iter()
        .filter_map(claim)
        .collect()
}

/// What each container asks for of extended resources.
pub(super) fn container_asks(spec: &core::PodSpec) -> Result<Box<[ContainerAsk]>, LowerError> {
    let init = list(spec.init_containers.as_ref());
    let all = init.iter().chain(&spec.containers).enumerate();
    let ask = |(index, container): (usize, &core::Container)| {
        let requests = container
            .resources
            .as_ref()
            .and_then(|all| all.requests.as_ref());
        let requests = amounts("spec.containers[].resources.requests", requests)?;
        let places = requests.iter().enumerate();
        let extended = places.filter(|(_, (name, _))| name.contains('/'));
        let resources: Box<[(Text, i64, usize)]> = extended
            .filter(|(_, (_, amount))| Exact::from_units(amount.units()) == **amount)
            .map(|(place, (name, amount))| (text(name), amount.units(), place))
            .collect();
        Ok((!resources.is_empty()).then(|| ContainerAsk {
            index,
            is_short_lived: index < init.len() && !is_sidecar(container),
            resources,
        }))
    };
    all.map(ask).filter_map(Result::transpose).collect()
}
