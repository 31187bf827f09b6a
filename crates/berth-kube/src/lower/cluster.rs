//! A whole cluster out of lists of objects.
//!
//! Finished pods are left out, as kube-scheduler's watch leaves them out; so are pods on nodes that
//! are not listed.

use std::sync::Arc;

use berth_core::filter::cluster::Cluster;
use berth_core::time::Time;
use k8s_openapi::api::{core::v1 as api, resource::v1 as resource, storage::v1 as storage};

use super::label::labels;
use super::{
    Evaluator, LowerError, attachment, claim, class_resources, class_selectors, device_claim,
    driver, name, node, node_drivers, pod, room, slice, storage_class, text, volume,
};

/// Lists of objects, as they come from the API.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    pub namespaces: Vec<api::Namespace>,
    pub nodes: Vec<api::Node>,
    pub pods: Vec<api::Pod>,
    pub claims: Vec<api::PersistentVolumeClaim>,
    pub volumes: Vec<api::PersistentVolume>,
    pub storage_classes: Vec<storage::StorageClass>,
    pub csi_drivers: Vec<storage::CSIDriver>,
    pub csi_nodes: Vec<storage::CSINode>,
    pub csi_storage_capacities: Vec<storage::CSIStorageCapacity>,
    pub volume_attachments: Vec<storage::VolumeAttachment>,
    pub resource_claims: Vec<resource::ResourceClaim>,
    pub resource_slices: Vec<resource::ResourceSlice>,
    pub device_classes: Vec<resource::DeviceClass>,
    pub device_taint_rules: Vec<resource::DeviceTaintRule>,
    /// The instant at which the lists were read.
    pub now: Time,
}

/// The cluster that the objects describe.
///
/// # Errors
/// If one of them can't be lowered.
pub fn cluster(from: &Objects) -> Result<Cluster, LowerError> {
    let mut cluster = Cluster::default();
    let namespaces = Arc::make_mut(&mut cluster.namespaces);
    for namespace in &from.namespaces {
        let name = name(&namespace.metadata)?;
        let labels = labels(namespace.metadata.labels.as_ref());
        namespaces.insert(name, labels);
    }
    for one in &from.nodes {
        cluster.set_node(Arc::new(node(one)?));
    }
    for one in &from.csi_nodes {
        let name = name(&one.metadata)?;
        cluster.set_drivers(&name, Some(Arc::new(node_drivers(one))));
    }
    take_storage(from, &mut cluster)?;
    take_devices(from, &mut cluster)?;
    cluster.now = from.now;
    for one in from.pods.iter().filter(|one| !is_finished(one)) {
        place(&mut cluster, one)?;
    }
    Ok(cluster)
}

fn take_storage(from: &Objects, cluster: &mut Cluster) -> Result<(), LowerError> {
    let storage = Arc::make_mut(&mut cluster.storage);
    for one in &from.claims {
        let facts = claim(one)?;
        storage.claims.insert(facts.key.clone(), facts);
    }
    for one in &from.volumes {
        let facts = volume(one)?;
        storage.volumes.insert(facts.name.clone(), facts);
    }
    for one in &from.storage_classes {
        let class = storage_class(one)?;
        storage.classes.insert(class.name.clone(), class);
    }
    for one in &from.csi_drivers {
        let driver = driver(one)?;
        storage.drivers.insert(driver.name.clone(), driver);
    }
    for one in &from.csi_storage_capacities {
        storage.rooms.push(room(one)?);
    }
    for (node, attachment) in from.volume_attachments.iter().filter_map(attachment) {
        storage
            .attachments
            .entry(node)
            .or_default()
            .push(attachment);
    }
    Ok(())
}

fn take_devices(from: &Objects, cluster: &mut Cluster) -> Result<(), LowerError> {
    let devices = Arc::make_mut(&mut cluster.devices);
    for one in &from.resource_slices {
        if let Some(slice) = slice(one, &from.device_taint_rules)? {
            devices.set_slice(slice);
        }
    }
    for one in &from.device_classes {
        let name = one.metadata.name.as_deref().unwrap_or_default();
        devices.classes.insert(text(name), class_selectors(one));
    }
    devices.resources = class_resources(&from.device_classes);
    for one in &from.resource_claims {
        devices.set_claim(device_claim(one)?);
    }
    let mut evaluator = Evaluator::default();
    for one in &from.resource_slices {
        for expression in super::expression::in_use(devices) {
            evaluator.evaluate(&expression, one, &mut devices.expressions);
        }
    }
    Ok(())
}

/// Puts a pod where it runs, or where preemption has promised it a place.
fn place(cluster: &mut Cluster, from: &api::Pod) -> Result<(), LowerError> {
    let facts = Arc::new(pod(from)?);
    let status = from.status.as_ref();
    let nominated = status.and_then(|status| status.nominated_node_name.as_deref());
    if let Some(node) = facts.node_name.clone() {
        cluster.add_pod(&node, facts);
    } else if let Some(node) = nominated {
        cluster.nominate(node, facts);
    }
    Ok(())
}

fn is_finished(pod: &api::Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}
