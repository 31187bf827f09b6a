//! What watches and the actuator tell the index: values, one object each.

use berth_api::grant::PodGrant;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::DeviceClaim;
use berth_core::filter::facts::label::Labels;
use berth_core::filter::facts::node::NodeDrivers;
use berth_core::filter::facts::storage::{
    Attachment, ClaimFacts, CsiDriver, StorageClass, StorageRoom, VolumeFacts,
};
use k8s_openapi::api::resource::v1 as resource;

use crate::lower::{GroupDialect, NodeRecord, PodRecord, QueueRecord};

/// The kinds of objects that are watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Namespace,
    Node,
    CsiNode,
    PersistentVolumeClaim,
    PersistentVolume,
    StorageClass,
    CsiDriver,
    CsiStorageCapacity,
    VolumeAttachment,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    DeviceTaintRule,
    Queue,
    GpuGrant,
    PodGroup(GroupDialect),
    Pod,
}

impl Kind {
    /// Every kind; pods come last, since all others say what they need.
    pub const ALL: [Self; 20] = [
        Self::Namespace,
        Self::Node,
        Self::CsiNode,
        Self::PersistentVolumeClaim,
        Self::PersistentVolume,
        Self::StorageClass,
        Self::CsiDriver,
        Self::CsiStorageCapacity,
        Self::VolumeAttachment,
        Self::ResourceClaim,
        Self::ResourceSlice,
        Self::DeviceClass,
        Self::DeviceTaintRule,
        Self::Queue,
        Self::GpuGrant,
        Self::PodGroup(GroupDialect::Core),
        Self::PodGroup(GroupDialect::Plugins),
        Self::PodGroup(GroupDialect::Volcano),
        Self::PodGroup(GroupDialect::Kai),
        Self::Pod,
    ];
}

/// How large a gang has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GangRecord {
    pub members_min: u32,
}

/// An object as the index keeps it.
#[derive(Debug)]
pub enum Object {
    Namespace(Labels),
    Node(Box<NodeRecord>),
    CsiNode(NodeDrivers),
    PersistentVolumeClaim(Box<ClaimFacts>),
    PersistentVolume(Box<VolumeFacts>),
    StorageClass(Box<StorageClass>),
    CsiDriver(CsiDriver),
    CsiStorageCapacity(Box<StorageRoom>),
    VolumeAttachment(Option<(Text, Attachment)>),
    ResourceClaim(Box<DeviceClaim>),
    ResourceSlice(Box<resource::ResourceSlice>),
    DeviceClass(Box<resource::DeviceClass>),
    DeviceTaintRule(Box<resource::DeviceTaintRule>),
    Queue(QueueRecord),
    GpuGrant(Vec<PodGrant>),
    PodGroup(GangRecord),
    Pod(Box<PodRecord>),
}

/// What became of an order to the actuator.
#[derive(Debug)]
pub enum Outcome {
    /// The pod is bound.
    Bound,
    /// It was not bound, and may be tried again.
    Refused {
        /// Why, in the API server's words.
        why: String,
        /// Whether somebody said no, rather than that something went wrong.
        by: Refuser,
    },
    /// The pod has gone, or is another one by now; its watch says the rest.
    Overtaken,
}

/// Who refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refuser {
    /// A webhook or policy: `BindRejected`.
    Admission,
    /// Nobody; the API server could not do it.
    Trouble,
}

/// A change.
#[derive(Debug)]
pub enum Change {
    /// An object is new or different. Keys are `namespace/name`, or `name`; those of pod groups are
    /// [gangs'](crate::lower::GangMark::key).
    Set(Text, Object),
    /// An object has gone.
    Gone(Kind, Text),
    /// An object can't be read.
    Unreadable(Kind, Text, String),
    /// All objects of a kind have been told.
    Synced(Kind),
    /// What became of binding the pod with this key and UID.
    Bind {
        key: Text,
        uid: Text,
        outcome: Outcome,
    },
}
