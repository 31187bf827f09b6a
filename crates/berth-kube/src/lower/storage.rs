//! Claims, volumes, storage classes, drivers, room and attachments.

use berth_core::filter::facts::Text;
use berth_core::filter::facts::exact::Exact;
use berth_core::filter::facts::label::{Requirement, Test};
use berth_core::filter::facts::storage::{
    AccessModes, Attachment, BindingMode, ClaimFacts, ClaimKey, ClaimPhase, CsiDriver, CsiSource,
    StorageClass, StorageRoom, VolumeFacts, VolumeMode, VolumeOwner,
};
use k8s_openapi::api::{core::v1 as api, storage::v1 as storage};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::label::{is_qualified_name, is_value, labels, selector};
use super::node_selector::node_selector;
use super::{LowerError, amount, list, missing, name, optional, text, texts, unknown};

/// The annotation that older objects have for their class.
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";
const BOUND_ANNOTATION: &str = "pv.kubernetes.io/bind-completed";
const NODE_ANNOTATION: &str = "volume.kubernetes.io/selected-node";

fn annotation<'a>(metadata: &'a ObjectMeta, key: &str) -> Option<&'a String> {
    metadata.annotations.as_ref()?.get(key)
}

/// A persistent volume claim.
///
/// # Errors
/// If it has no name, or a field can't be read.
pub fn claim(from: &api::PersistentVolumeClaim) -> Result<ClaimFacts, LowerError> {
    let api::PersistentVolumeClaim {
        metadata,
        spec,
        status,
    } = from;
    let Some(api::PersistentVolumeClaimSpec {
        access_modes,
        data_source: _,
        data_source_ref: _,
        resources,
        selector: chosen,
        storage_class_name,
        volume_attributes_class_name,
        volume_mode,
        volume_name,
    }) = spec
    else {
        return Err(missing("spec"));
    };
    let phase = status.as_ref().and_then(|status| status.phase.as_deref());
    let size = resources
        .as_ref()
        .and_then(|all| all.requests.as_ref()?.get("storage"));
    let path = "spec.resources.requests.storage";
    let owners = metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    Ok(ClaimFacts {
        key: ClaimKey {
            namespace: optional(metadata.namespace.as_ref()),
            name: name(metadata)?,
        },
        uid: optional(metadata.uid.as_ref()),
        phase: if phase == Some("Lost") {
            ClaimPhase::Lost
        } else if metadata.deletion_timestamp.is_some() {
            ClaimPhase::Terminating
        } else {
            ClaimPhase::Alive
        },
        class: optional(annotation(metadata, CLASS_ANNOTATION).or(storage_class_name.as_ref())),
        volume: optional(volume_name.as_ref()),
        is_bound: annotation(metadata, BOUND_ANNOTATION).is_some(),
        selected_node: annotation(metadata, NODE_ANNOTATION).map(|node| text(node)),
        owner: controllers.next().map(|owner| text(&owner.uid)),
        access: access(access_modes.as_ref())?,
        mode: mode(volume_mode.as_ref())?,
        size: size.map(|size| amount(path, size)).transpose()?,
        selector: match chosen {
            None => None,
            Some(chosen) => Some(selector("spec.selector", Some(chosen))?),
        },
        attributes_class: optional(volume_attributes_class_name.as_ref()),
    })
}

/// A persistent volume.
///
/// # Errors
/// If it has no name, or a field can't be read.
pub fn volume(from: &api::PersistentVolume) -> Result<VolumeFacts, LowerError> {
    let api::PersistentVolume {
        metadata,
        spec,
        status,
    } = from;
    let spec = spec.as_ref().ok_or_else(|| missing("spec"))?;
    let size = spec.capacity.as_ref().and_then(|all| all.get("storage"));
    let class = annotation(metadata, CLASS_ANNOTATION).or(spec.storage_class_name.as_ref());
    let phase = status.as_ref().and_then(|status| status.phase.as_deref());
    let required = spec
        .node_affinity
        .as_ref()
        .and_then(|one| one.required.as_ref());
    Ok(VolumeFacts {
        name: name(metadata)?,
        labels: labels(metadata.labels.as_ref()),
        class: optional(class),
        owner: spec.claim_ref.as_ref().map(|claim| VolumeOwner {
            key: ClaimKey {
                namespace: optional(claim.namespace.as_ref()),
                name: optional(claim.name.as_ref()),
            },
            uid: optional(claim.uid.as_ref()),
        }),
        size: match size {
            None => Exact::ZERO,
            Some(size) => amount("spec.capacity.storage", size)?,
        },
        access: access(spec.access_modes.as_ref())?,
        mode: mode(spec.volume_mode.as_ref())?,
        attributes_class: optional(spec.volume_attributes_class_name.as_ref()),
        is_terminating: metadata.deletion_timestamp.is_some(),
        is_available: phase == Some("Available"),
        node_affinity: required.map(node_selector),
        csi: spec.csi.as_ref().map(|csi| CsiSource {
            driver: text(&csi.driver),
            handle: text(&csi.volume_handle),
        }),
    })
}

fn access(from: Option<&Vec<String>>) -> Result<AccessModes, LowerError> {
    let mut modes = AccessModes::default();
    for mode in list(from) {
        match mode.as_str() {
            "ReadWriteOnce" => modes.read_write_once = true,
            "ReadOnlyMany" => modes.read_only_many = true,
            "ReadWriteMany" => modes.read_write_many = true,
            "ReadWriteOncePod" => modes.read_write_once_pod = true,
            other => return Err(unknown("spec.accessModes", other, "an access mode")),
        }
    }
    Ok(modes)
}

fn mode(from: Option<&String>) -> Result<VolumeMode, LowerError> {
    match from.map(String::as_str) {
        None | Some("Filesystem") => Ok(VolumeMode::Filesystem),
        Some("Block") => Ok(VolumeMode::Block),
        Some(other) => Err(unknown("spec.volumeMode", other, "Filesystem or Block")),
    }
}

/// A storage class.
///
/// # Errors
/// If it has no name, or its binding mode is unknown.
pub fn storage_class(from: &storage::StorageClass) -> Result<StorageClass, LowerError> {
    let storage::StorageClass {
        allow_volume_expansion: _,
        allowed_topologies,
        metadata,
        mount_options: _,
        parameters: _,
        provisioner,
        reclaim_policy: _,
        volume_binding_mode,
    } = from;
    Ok(StorageClass {
        name: name(metadata)?,
        provisioner: text(provisioner),
        binding: match volume_binding_mode.as_deref() {
            None | Some("Immediate") => BindingMode::Immediate,
            Some("WaitForFirstConsumer") => BindingMode::WaitForFirstConsumer,
            Some(other) => {
                let expected = "Immediate or WaitForFirstConsumer";
                return Err(unknown("volumeBindingMode", other, expected));
            }
        },
        topologies: list(allowed_topologies.as_ref())
            .iter()
            .map(topology)
            .collect(),
    })
}

/// The requirements of one alternative; none where it can't be parsed, which matches no node.
fn topology(from: &api::TopologySelectorTerm) -> Box<[Requirement]> {
    let requirement = |one: &api::TopologySelectorLabelRequirement| {
        let values = texts(Some(&one.values));
        let is_valid = is_qualified_name(&one.key)
            && !values.is_empty()
            && values.iter().all(|value| is_value(value));
        is_valid.then(|| Requirement {
            key: text(&one.key),
            test: Test::In(values),
        })
    };
    let all = list(from.match_label_expressions.as_ref()).iter();
    let requirements: Option<Box<[Requirement]>> = all.map(requirement).collect();
    requirements.unwrap_or_default()
}

/// A CSI driver.
///
/// # Errors
/// If it has no name.
pub fn driver(from: &storage::CSIDriver) -> Result<CsiDriver, LowerError> {
    let storage::CSIDriver { metadata, spec } = from;
    let storage::CSIDriverSpec {
        attach_required: _,
        fs_group_policy: _,
        node_allocatable_update_period_seconds: _,
        pod_info_on_mount: _,
        prevent_pod_scheduling_if_missing,
        requires_republish: _,
        se_linux_mount: _,
        service_account_token_in_secrets: _,
        storage_capacity,
        token_requests: _,
        volume_lifecycle_modes: _,
    } = spec;
    Ok(CsiDriver {
        name: name(metadata)?,
        tracks_capacity: *storage_capacity == Some(true),
        must_be_on_node: *prevent_pod_scheduling_if_missing == Some(true),
    })
}

/// Room for new volumes.
///
/// # Errors
/// If a quantity or selector can't be read.
pub fn room(from: &storage::CSIStorageCapacity) -> Result<StorageRoom, LowerError> {
    let storage::CSIStorageCapacity {
        capacity,
        maximum_volume_size,
        metadata: _,
        node_topology,
        storage_class_name,
    } = from;
    let max = maximum_volume_size.as_ref().or(capacity.as_ref());
    let max = max
        .map(|max| amount("maximumVolumeSize", max))
        .transpose()?;
    Ok(StorageRoom {
        class: text(storage_class_name),
        nodes: match node_topology {
            None => None,
            Some(nodes) => Some(selector("nodeTopology", Some(nodes))?),
        },
        volume_max: max.map(Exact::units),
    })
}

/// An attachment and the node that it is on; `None` for a volume that no object stands for.
#[must_use]
pub fn attachment(from: &storage::VolumeAttachment) -> Option<(Text, Attachment)> {
    let storage::VolumeAttachmentSpec {
        attacher,
        node_name,
        source,
    } = &from.spec;
    let volume = source.persistent_volume_name.as_ref()?;
    let attachment = Attachment {
        driver: text(attacher),
        volume: text(volume),
    };
    Some((text(node_name), attachment))
}
