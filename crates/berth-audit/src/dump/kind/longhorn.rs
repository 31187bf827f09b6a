//! Longhorn's volumes, replicas, nodes and settings.
//!
//! Fields: longhorn-manager `k8s/pkg/apis/longhorn/v1beta2`.

use crate::dump::Record;
use crate::dump::lenient::{Number, Pairs, Truth, object, record};
use crate::dump::meta::Condition;
use crate::dump::text::Text;

object! {
    /// A volume.
    pub struct Volume {
        /// What is wanted.
        pub spec: VolumeSpec,
        /// What there is.
        pub status: VolumeStatus,
    }
}

object! {
    /// A replica of a volume.
    pub struct Replica {
        /// What is wanted.
        pub spec: ReplicaSpec,
        /// What there is.
        pub status: ReplicaStatus,
    }
}

object! {
    /// A node with its disks.
    pub struct Node {
        /// What is wanted.
        pub spec: NodeSpec,
        /// What there is.
        pub status: NodeStatus,
    }
}

object! {
    /// A setting: its name is the object's.
    pub struct Setting {
        /// Its value, always a string.
        pub value: Text,
    }
}

record! {
    /// `spec` of a volume.
    pub struct VolumeSpec {
        /// Replicas wanted.
        pub number_of_replicas: Number,
        /// `disabled`, `best-effort`, `strict-local`.
        pub data_locality: Text,
        /// `v1` or `v2`.
        pub data_engine: Text,
        /// Whether replicas may share a node: `ignored`, `enabled`, `disabled`.
        pub replica_soft_anti_affinity: Text,
        /// Node of the engine.
        #[serde(rename = "nodeID")]
        pub node_id: Text,
        /// Node that it moves to.
        #[serde(rename = "migrationNodeID")]
        pub migration_node_id: Text,
        /// `rwo` or `rwx`.
        pub access_mode: Text,
        /// Bytes.
        pub size: Number,
    }

    /// `status` of a volume.
    pub struct VolumeStatus {
        /// `creating`, `attached`, `detached`, `attaching`, `detaching`, `deleting`.
        pub state: Text,
        /// `healthy`, `degraded`, `faulted`, `unknown`.
        pub robustness: Text,
        /// When it was last degraded.
        pub last_degraded_at: Text,
        /// Bytes in use.
        pub actual_size: Number,
        /// Conditions.
        pub conditions: Vec<Condition>,
    }

    /// `spec` of a replica.
    pub struct ReplicaSpec {
        /// Volume.
        pub volume_name: Text,
        /// Node.
        #[serde(rename = "nodeID")]
        pub node_id: Text,
        /// Disk.
        #[serde(rename = "diskID")]
        pub disk_id: Text,
        /// When it was healthy; empty for never.
        pub healthy_at: Text,
        /// When it failed; empty for never.
        pub failed_at: Text,
        /// Node that it must stay on.
        pub hard_node_affinity: Text,
        /// How often it was rebuilt in vain.
        pub rebuild_retry_count: Number,
    }

    /// `status` of a replica.
    pub struct ReplicaStatus {
        /// `running`, `stopped`, `error`.
        pub current_state: Text,
        /// Conditions.
        pub conditions: Vec<Condition>,
    }

    /// `spec` of a node.
    pub struct NodeSpec {
        /// Whether replicas may be placed.
        pub allow_scheduling: Truth,
        /// Thousandths of a core for the instance manager; 0 takes the setting.
        #[serde(rename = "instanceManagerCPURequest")]
        pub instance_manager_cpu_request: Number,
        /// Disks.
        pub disks: Pairs<Disk>,
    }

    /// A disk as wanted.
    pub struct Disk {
        /// Whether replicas may be placed.
        pub allow_scheduling: Truth,
        /// Bytes set aside for others.
        pub storage_reserved: Number,
        /// Path.
        pub path: Text,
    }

    /// `status` of a node.
    pub struct NodeStatus {
        /// Conditions.
        pub conditions: Vec<Condition>,
        /// Disks.
        pub disk_status: Pairs<DiskStatus>,
    }

    /// A disk as it is.
    pub struct DiskStatus {
        /// Bytes in all.
        pub storage_maximum: Number,
        /// Bytes free.
        pub storage_available: Number,
        /// Bytes promised to replicas.
        pub storage_scheduled: Number,
    }
}

impl Record for Volume {}
impl Record for Replica {}
impl Record for Node {}
impl Record for Setting {}
