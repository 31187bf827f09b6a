//! The volumes of a pod that a filter cares about.

use berth_core::filter::facts::storage::{Disk, Mount, PodVolume};
use k8s_openapi::api::core::v1 as api;

use super::{optional, text, texts};

/// The pool of a Ceph image that names none.
const RBD_POOL: &str = "rbd";

/// A volume of the pod called `pod`; `None` where no filter cares.
pub(super) fn pod_volume(pod: &str, from: &api::Volume) -> Option<PodVolume> {
    let api::Volume {
        aws_elastic_block_store,
        azure_disk: _,
        azure_file: _,
        cephfs: _,
        cinder: _,
        config_map: _,
        csi: _,
        downward_api: _,
        empty_dir: _,
        ephemeral,
        fc: _,
        flex_volume: _,
        flocker: _,
        gce_persistent_disk,
        git_repo: _,
        glusterfs: _,
        host_path: _,
        image: _,
        iscsi,
        name,
        nfs: _,
        persistent_volume_claim,
        photon_persistent_disk: _,
        portworx_volume: _,
        projected: _,
        quobyte: _,
        rbd,
        scale_io: _,
        secret: _,
        storageos: _,
        vsphere_volume: _,
    } = from;
    if let Some(claim) = persistent_volume_claim {
        let name = text(&claim.claim_name);
        return Some(PodVolume::Claim { name });
    }
    if ephemeral.is_some() {
        let claim_name = text(&format!("{pod}-{name}"));
        return Some(PodVolume::Ephemeral { claim_name });
    }
    let disk = if let Some(disk) = gce_persistent_disk {
        Disk::Gce {
            name: text(&disk.pd_name),
            mount: mount(disk.read_only),
        }
    } else if let Some(disk) = aws_elastic_block_store {
        Disk::AwsEbs {
            volume: text(&disk.volume_id),
        }
    } else if let Some(disk) = iscsi {
        Disk::Iscsi {
            iqn: text(&disk.iqn),
            mount: mount(disk.read_only),
        }
    } else {
        rbd_disk(rbd.as_ref()?)
    };
    Some(PodVolume::Disk(disk))
}

fn rbd_disk(from: &api::RBDVolumeSource) -> Disk {
    let pool = optional(from.pool.as_ref());
    Disk::Rbd {
        monitors: texts(Some(&from.monitors)),
        pool: if pool.is_empty() {
            text(RBD_POOL)
        } else {
            pool
        },
        image: text(&from.image),
        mount: mount(from.read_only),
    }
}

fn mount(read_only: Option<bool>) -> Mount {
    match read_only {
        Some(true) => Mount::ReadOnly,
        Some(false) | None => Mount::ReadWrite,
    }
}
