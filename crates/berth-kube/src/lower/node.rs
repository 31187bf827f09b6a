//! `Node` and `CSINode`.

use berth_core::filter::facts::node::{Cordon, NodeDriver, NodeDrivers, NodeFacts};
use k8s_openapi::api::{core::v1 as api, storage::v1 as storage};

use super::label::labels;
use super::requests::{amounts, rounded};
use super::taint::taint;
use super::{LowerError, amount, list, name, text};

/// What the filters know of a node.
///
/// # Errors
/// If it has no name or a quantity can't be read.
pub fn node(from: &api::Node) -> Result<NodeFacts, LowerError> {
    let api::Node {
        metadata,
        spec,
        status,
    } = from;
    let mut facts = NodeFacts {
        name: name(metadata)?,
        labels: labels(metadata.labels.as_ref()),
        ..NodeFacts::default()
    };
    if let Some(spec) = spec {
        take_spec(spec, &mut facts);
    }
    if let Some(status) = status {
        take_status(status, &mut facts)?;
    }
    Ok(facts)
}

fn take_spec(from: &api::NodeSpec, facts: &mut NodeFacts) {
    let api::NodeSpec {
        config_source: _,
        external_id: _,
        pod_cidr: _,
        pod_cidrs: _,
        pod_preemption_policy: _,
        provider_id: _,
        taints,
        unschedulable,
    } = from;
    facts.taints = taints.iter().flatten().filter_map(taint).collect();
    facts.cordon = match unschedulable {
        Some(true) => Cordon::Cordoned,
        Some(false) | None => Cordon::Open,
    };
}

fn take_status(from: &api::NodeStatus, facts: &mut NodeFacts) -> Result<(), LowerError> {
    let api::NodeStatus {
        addresses: _,
        allocatable,
        capacity: _,
        conditions: _,
        config: _,
        daemon_endpoints: _,
        declared_features,
        features: _,
        images: _,
        node_info: _,
        phase: _,
        runtime_handlers: _,
        volumes_attached: _,
        volumes_in_use: _,
    } = from;
    let path = "status.allocatable";
    if let Some(allocatable) = allocatable {
        facts.allocatable = rounded(&amounts(path, Some(allocatable))?);
        if let Some(pods) = allocatable.get("pods") {
            facts.pod_slots = amount(&format!("{path}.pods"), pods)?.units();
        }
    }
    let mut features: Vec<_> = list(declared_features.as_ref())
        .iter()
        .map(|one| text(one))
        .collect();
    features.sort();
    facts.declared_features = features.into_boxed_slice();
    Ok(())
}

/// The CSI drivers of a node.
#[must_use]
pub fn node_drivers(from: &storage::CSINode) -> NodeDrivers {
    let storage::CSINode {
        metadata: _,
        spec,
        status: _,
    } = from;
    let storage::CSINodeSpec { drivers } = spec;
    let lower = |driver: &storage::CSINodeDriver| {
        let storage::CSINodeDriver {
            allocatable,
            name,
            node_id: _,
            topology_keys: _,
        } = driver;
        let count = allocatable.as_ref().and_then(|one| one.count);
        NodeDriver {
            name: text(name),
            volumes_max: count.map(i64::from),
        }
    };
    NodeDrivers {
        drivers: drivers.iter().map(lower).collect(),
    }
}
