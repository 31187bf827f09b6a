//! What a pod asks for: containers, init containers, native sidecars, pod-level resources, overhead.
//!
//! Formulas: KEP-753 (sidecars), KEP-2837 (pod-level resources), KEP-688 (overhead), KEP-1287 and
//! KEP-5419 (in-place resize). Sums are exact and rounded once, as in `component-helpers/resource`.

use std::collections::BTreeMap;

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::filter::facts::exact::Exact;
use berth_core::filter::facts::resources::{Resources, Scalars};
use k8s_openapi::api::core::v1 as api;

use super::label::is_qualified_name;
use super::{LowerError, Quantities, amount, text};

/// Exact amounts by name of resource.
pub(super) type Amounts = BTreeMap<String, Exact>;

/// Reads a list of quantities.
pub(super) fn amounts(path: &str, from: Option<&Quantities>) -> Result<Amounts, LowerError> {
    let pairs = from.into_iter().flatten();
    pairs
        .map(|(name, quantity)| Ok((name.clone(), amount(&format!("{path}.{name}"), quantity)?)))
        .collect()
}

/// The amounts that a scheduler counts, rounded as kube-scheduler rounds them.
pub(super) fn rounded(from: &Amounts) -> Resources {
    let get = |name: &str| from.get(name).copied().unwrap_or_default();
    let scalars = from.iter().filter(|(name, _)| is_scalar(name));
    Resources {
        cpu: MilliCpu(get("cpu").milli()),
        memory: Bytes(get("memory").units()),
        ephemeral_storage: Bytes(get("ephemeral-storage").units()),
        scalars: Scalars::new(scalars.map(|(name, amount)| (text(name), amount.units()))),
    }
}

/// Whether the resource is counted by its name: an extended one, huge pages, attachable volumes.
fn is_scalar(name: &str) -> bool {
    let is_prefixed_native = name.contains("kubernetes.io/");
    let is_extended = name.contains('/')
        && !is_prefixed_native
        && !name.starts_with("requests.")
        && is_qualified_name(&format!("requests.{name}"));
    is_extended
        || is_prefixed_native
        || name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
}

/// What a pod asks for to be placed.
pub(super) fn requests(spec: &api::PodSpec) -> Result<Amounts, LowerError> {
    let of_spec = |container: &api::Container| spec_requests(container);
    let mut sum = aggregate(spec, of_spec)?;
    apply_pod_level(spec, &mut sum, &pod_level(spec)?);
    add(&mut sum, &overhead(spec)?);
    Ok(sum)
}

/// What a running pod counts for, where its status says that this may differ from its spec.
pub(super) fn held(
    spec: &api::PodSpec,
    status: &api::PodStatus,
) -> Result<Option<Amounts>, LowerError> {
    let lists = [&status.container_statuses, &status.init_container_statuses];
    let mut statuses = lists.into_iter().flatten().flatten();
    let reports = statuses.any(|one| one.resources.is_some() || one.allocated_resources.is_some());
    if !reports && status.resources.is_none() && !is_resize_infeasible(status) {
        return Ok(None);
    }
    let asked = aggregate(spec, spec_requests)?;
    let (allocated, actuated) = reported(spec, status)?;
    let mut sum = if is_resize_infeasible(status) {
        Amounts::new()
    } else {
        asked
    };
    raise(&mut sum, &actuated);
    raise(&mut sum, &allocated);
    let mut of_pod = pod_level(spec)?;
    if let Some(resources) = &status.resources {
        if is_resize_infeasible(status) {
            of_pod.clear();
        }
        raise(
            &mut of_pod,
            &amounts("status.resources.requests", resources.requests.as_ref())?,
        );
        let allocated = status.allocated_resources.as_ref();
        raise(
            &mut of_pod,
            &amounts("status.allocatedResources", allocated)?,
        );
    }
    apply_pod_level(spec, &mut sum, &of_pod);
    add(&mut sum, &overhead(spec)?);
    Ok(Some(sum))
}

/// What the kubelet has set aside, and what it has put in force.
fn reported(
    spec: &api::PodSpec,
    status: &api::PodStatus,
) -> Result<(Amounts, Amounts), LowerError> {
    let requests = status
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    if let (Some(allocated), Some(requests)) = (&status.allocated_resources, requests) {
        return Ok((
            amounts("status.allocatedResources", Some(allocated))?,
            amounts("status.resources.requests", Some(requests))?,
        ));
    }
    let infeasible = is_resize_infeasible(status);
    let fallback = |container: &api::Container| {
        if infeasible {
            Ok(Amounts::new())
        } else {
            spec_requests(container)
        }
    };
    let allocated_of = |container: &api::Container| {
        let found = status_of(status, &container.name);
        let list = found.and_then(|one| one.allocated_resources.as_ref());
        list.map(|list| amounts("status.containerStatuses[].allocatedResources", Some(list)))
    };
    let actuated_of = |container: &api::Container| {
        let found = status_of(status, &container.name)?;
        let list = found.resources.as_ref()?.requests.as_ref()?;
        Some(amounts(
            "status.containerStatuses[].resources.requests",
            Some(list),
        ))
    };
    let allocated = aggregate(spec, |container| {
        allocated_of(container).unwrap_or_else(|| fallback(container))
    })?;
    let actuated = aggregate(spec, |container| {
        actuated_of(container)
            .or_else(|| allocated_of(container))
            .unwrap_or_else(|| fallback(container))
    })?;
    Ok((allocated, actuated))
}

fn status_of<'a>(status: &'a api::PodStatus, name: &str) -> Option<&'a api::ContainerStatus> {
    let lists = [&status.container_statuses, &status.init_container_statuses];
    let mut all = lists.into_iter().flatten().flatten();
    all.find(|one| one.name == name)
}

fn is_resize_infeasible(status: &api::PodStatus) -> bool {
    let mut conditions = status.conditions.iter().flatten();
    let pending = conditions.find(|one| one.type_ == "PodResizePending");
    pending.is_some_and(|one| one.reason.as_deref() == Some("Infeasible"))
}

fn spec_requests(container: &api::Container) -> Result<Amounts, LowerError> {
    let requests = container
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    amounts(
        &format!("spec.containers[{}].resources.requests", container.name),
        requests,
    )
}

/// Whether an init container keeps running beside the containers (a native sidecar).
pub(super) fn is_sidecar(container: &api::Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// The most that the pod needs at one time: an init container runs beside the sidecars before it.
fn aggregate(
    spec: &api::PodSpec,
    amounts_of: impl Fn(&api::Container) -> Result<Amounts, LowerError>,
) -> Result<Amounts, LowerError> {
    let mut sum = Amounts::new();
    for container in &spec.containers {
        add(&mut sum, &amounts_of(container)?);
    }
    let (mut sidecars, mut most) = (Amounts::new(), Amounts::new());
    for container in spec.init_containers.iter().flatten() {
        let mut amounts = amounts_of(container)?;
        if is_sidecar(container) {
            add(&mut sum, &amounts);
            add(&mut sidecars, &amounts);
            raise(&mut most, &sidecars);
        } else {
            add(&mut amounts, &sidecars);
            raise(&mut most, &amounts);
        }
    }
    raise(&mut sum, &most);
    Ok(sum)
}

fn pod_level(spec: &api::PodSpec) -> Result<Amounts, LowerError> {
    let requests = spec
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    amounts("spec.resources.requests", requests)
}

/// Pod-level requests take the place of the containers' for the resources that may have them.
fn apply_pod_level(spec: &api::PodSpec, sum: &mut Amounts, of_pod: &Amounts) {
    let requests = spec
        .resources
        .as_ref()
        .and_then(|all| all.requests.as_ref());
    let is_set = requests
        .into_iter()
        .flatten()
        .any(|(name, _)| has_pod_level(name));
    if !is_set {
        return;
    }
    for (name, amount) in of_pod.iter().filter(|(name, _)| has_pod_level(name)) {
        sum.insert(name.clone(), *amount);
    }
}

fn has_pod_level(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

fn overhead(spec: &api::PodSpec) -> Result<Amounts, LowerError> {
    amounts("spec.overhead", spec.overhead.as_ref())
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_default();
        *sum = *sum + *amount;
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let most = most.entry(name.clone()).or_insert(*amount);
        *most = (*most).max(*amount);
    }
}
