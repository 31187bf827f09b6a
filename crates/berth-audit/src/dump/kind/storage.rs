//! Persistent volumes, claims, classes and attachments.

use super::pod::NodeTerms;
use crate::dump::Record;
use crate::dump::lenient::{Pairs, Truth, object, record};
use crate::dump::quantity::Quantity;
use crate::dump::text::Text;

object! {
    /// A persistent volume.
    pub struct PersistentVolume {
        /// What it is.
        pub spec: VolumeSpec,
        /// Its phase.
        pub status: Phase,
    }
}

object! {
    /// A claim on a persistent volume.
    pub struct PersistentVolumeClaim {
        /// What is wanted.
        pub spec: ClaimSpec,
        /// Its phase.
        pub status: Phase,
    }
}

object! {
    /// A storage class.
    pub struct StorageClass {
        /// Who makes the volumes.
        pub provisioner: Text,
        /// Its parameters.
        pub parameters: Pairs<Text>,
        /// `Delete` or `Retain`.
        pub reclaim_policy: Text,
        /// `Immediate` or `WaitForFirstConsumer`.
        pub volume_binding_mode: Text,
        /// Whether volumes may grow.
        pub allow_volume_expansion: Truth,
        /// Where volumes may be made; empty for everywhere.
        pub allowed_topologies: Vec<TopologyTerm>,
    }
}

object! {
    /// An attachment of a volume to a node.
    pub struct VolumeAttachment {
        /// What is wanted.
        pub spec: AttachmentSpec,
        /// Whether it is attached.
        pub status: AttachmentStatus,
    }
}

record! {
    /// Labels that must all hold where a volume is made.
    pub struct TopologyTerm {
        /// The labels.
        pub match_label_expressions: Vec<TopologyLabel>,
    }

    /// A label of a node and the values that it may have.
    pub struct TopologyLabel {
        /// The label.
        pub key: Text,
        /// The values.
        pub values: Vec<Text>,
    }

    /// `spec` of a volume.
    pub struct VolumeSpec {
        /// Size.
        pub capacity: Pairs<Quantity>,
        /// Access modes.
        pub access_modes: Vec<Text>,
        /// Class.
        pub storage_class_name: Text,
        /// `Delete` or `Retain`.
        pub persistent_volume_reclaim_policy: Text,
        /// Claim that it is bound to.
        pub claim_ref: ObjectName,
        /// Nodes that reach it; absent where all do.
        pub node_affinity: Option<VolumeNodeAffinity>,
        /// A path of the host.
        pub host_path: Option<VolumePath>,
        /// A local disk.
        pub local: Option<VolumePath>,
        /// A CSI volume.
        pub csi: Option<CsiVolume>,
        /// An NFS share.
        pub nfs: Option<NfsVolume>,
    }

    /// Nodes that reach a volume.
    pub struct VolumeNodeAffinity {
        /// The terms.
        pub required: NodeTerms,
    }

    /// A path.
    pub struct VolumePath {
        /// The path.
        pub path: Text,
    }

    /// A CSI volume.
    pub struct CsiVolume {
        /// Driver.
        pub driver: Text,
        /// Identity at the driver.
        pub volume_handle: Text,
    }

    /// An NFS share.
    pub struct NfsVolume {
        /// Server.
        pub server: Text,
        /// Path.
        pub path: Text,
    }

    /// Name of another object.
    pub struct ObjectName {
        /// Namespace.
        pub namespace: Text,
        /// Name.
        pub name: Text,
    }

    /// A phase.
    pub struct Phase {
        /// `Pending`, `Bound`, `Released`, `Failed`, ...
        pub phase: Text,
    }

    /// `spec` of a claim.
    pub struct ClaimSpec {
        /// Access modes.
        pub access_modes: Vec<Text>,
        /// Class; absent takes the default one.
        pub storage_class_name: Option<Text>,
        /// Volume that it is bound to.
        pub volume_name: Text,
        /// Size.
        pub resources: super::pod::Resources,
    }

    /// `spec` of an attachment.
    pub struct AttachmentSpec {
        /// Driver.
        pub attacher: Text,
        /// Node.
        pub node_name: Text,
        /// Volume.
        pub source: AttachmentSource,
    }

    /// What is attached.
    pub struct AttachmentSource {
        /// The volume.
        pub persistent_volume_name: Text,
    }

    /// `status` of an attachment.
    pub struct AttachmentStatus {
        /// Attached.
        pub attached: Truth,
    }
}

impl Record for PersistentVolume {}
impl Record for PersistentVolumeClaim {}
impl Record for StorageClass {}
impl Record for VolumeAttachment {}
