//! What the filters know of volumes: claims, volumes, classes, drivers.
//!
//! Not here: volumes of in-tree plugins that were moved to CSI drivers (KEP-625) as volumes of
//! those drivers; kube-scheduler translates them one by one, and no cluster of 1.31 or later can
//! make new ones.

use super::Text;
use super::exact::Exact;
use super::label::{Labels, Requirement, Selector};
use super::node_selector::NodeSelector;

/// A namespaced name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimKey {
    pub namespace: Text,
    pub name: Text,
}

impl std::fmt::Display for ClaimKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Whether a mount may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mount {
    ReadOnly,
    ReadWrite,
}

/// A disk that is named in the pod itself, of a kind that several pods can't share freely.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Disk {
    Gce {
        name: Text,
        mount: Mount,
    },
    AwsEbs {
        volume: Text,
    },
    Iscsi {
        iqn: Text,
        mount: Mount,
    },
    Rbd {
        monitors: Box<[Text]>,
        pool: Text,
        image: Text,
        mount: Mount,
    },
}

/// A volume of a pod that a filter cares about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PodVolume {
    /// A claim that the pod names.
    Claim { name: Text },
    /// A claim made for this pod alone; it must be owned by it.
    Ephemeral { claim_name: Text },
    /// A disk.
    Disk(Disk),
}

/// How a volume may be mounted, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AccessModes {
    pub read_write_once: bool,
    pub read_only_many: bool,
    pub read_write_many: bool,
    pub read_write_once_pod: bool,
}

impl AccessModes {
    /// Whether every mode of `wanted` is among them.
    #[must_use]
    pub fn include(self, wanted: Self) -> bool {
        (self.read_write_once || !wanted.read_write_once)
            && (self.read_only_many || !wanted.read_only_many)
            && (self.read_write_many || !wanted.read_write_many)
            && (self.read_write_once_pod || !wanted.read_write_once_pod)
    }
}

/// Whether a volume is a file system or a raw device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VolumeMode {
    #[default]
    Filesystem,
    Block,
}

/// How far a claim has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ClaimPhase {
    /// Pending or bound.
    #[default]
    Alive,
    /// Its volume has gone.
    Lost,
    /// It is being deleted.
    Terminating,
}

/// A persistent volume claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClaimFacts {
    pub key: ClaimKey,
    pub uid: Text,
    pub phase: ClaimPhase,
    /// The storage class; empty for none.
    pub class: Text,
    /// The volume; empty for none.
    pub volume: Text,
    /// Whether binding is complete (annotation `pv.kubernetes.io/bind-completed`).
    pub is_bound: bool,
    /// The node for which a volume is being made (annotation `selected-node`).
    pub selected_node: Option<Text>,
    /// The UID of the controller that owns it.
    pub owner: Option<Text>,
    pub access: AccessModes,
    pub mode: VolumeMode,
    /// Bytes asked for.
    pub size: Option<Exact>,
    pub selector: Option<Selector>,
    /// The volume attributes class; empty for none.
    pub attributes_class: Text,
}

/// The claim that a volume is promised to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VolumeOwner {
    pub key: ClaimKey,
    /// Empty where the promise is by name alone.
    pub uid: Text,
}

/// A volume in a CSI driver.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CsiSource {
    pub driver: Text,
    pub handle: Text,
}

/// A persistent volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VolumeFacts {
    pub name: Text,
    pub labels: Labels,
    pub class: Text,
    pub owner: Option<VolumeOwner>,
    /// Bytes.
    pub size: Exact,
    pub access: AccessModes,
    pub mode: VolumeMode,
    pub attributes_class: Text,
    pub is_terminating: bool,
    /// Whether its phase is `Available`.
    pub is_available: bool,
    pub node_affinity: Option<NodeSelector>,
    pub csi: Option<CsiSource>,
}

impl VolumeFacts {
    /// Whether it is promised to `claim`, or bound to it.
    #[must_use]
    pub fn is_for(&self, claim: &ClaimFacts) -> bool {
        self.owner.as_ref().is_some_and(|owner| {
            owner.key == claim.key && (owner.uid.is_empty() || owner.uid == claim.uid)
        })
    }
}

/// When volumes of a class are bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BindingMode {
    Immediate,
    /// Once the scheduler has chosen a node.
    WaitForFirstConsumer,
}

/// A storage class.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StorageClass {
    pub name: Text,
    pub provisioner: Text,
    pub binding: BindingMode,
    /// Where volumes can be made, as alternatives; empty for everywhere. An alternative without
    /// requirements matches no node.
    pub topologies: Box<[Box<[Requirement]>]>,
}

/// A CSI driver (its `CSIDriver`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CsiDriver {
    pub name: Text,
    /// Whether it publishes how much room there is (`storageCapacity`).
    pub tracks_capacity: bool,
    /// Whether nodes without it take no pod that needs it (`preventPodSchedulingIfMissing`).
    pub must_be_on_node: bool,
}

/// Room for new volumes of a class (a `CSIStorageCapacity`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StorageRoom {
    pub class: Text,
    /// Nodes from which it can be reached; `None` for none.
    pub nodes: Option<Selector>,
    /// The largest volume, in bytes; `None` where it is not known, which counts as no room.
    pub volume_max: Option<i64>,
}

/// A volume that is attached to a node, or about to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attachment {
    pub driver: Text,
    pub volume: Text,
}

/// What has been decided for a claim that waits for a node, and has yet to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VolumeDecision {
    /// The node of the pod that uses it first.
    pub node: Text,
    /// The volume that it gets; `None` where one is to be made.
    pub volume: Option<Text>,
}
