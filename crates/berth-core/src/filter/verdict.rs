//! What a filter says of a node, or of a pod for all nodes at once.
//!
//! Invariant: there are three answers, as in kube-scheduler: it fits, it is refused, or the question
//! could not be answered. Not here: what a person reads; texts are made of these where they are shown.

use std::fmt::{self, Display, Formatter};

use super::facts::Text;
use super::facts::pod::HostPort;
use super::facts::storage::ClaimKey;
use super::facts::taint::Taint;

/// What would have to change before the node can take the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remedy {
    /// Pods that leave the node may be enough; kube-scheduler's `Unschedulable`.
    PodsLeave,
    /// No pod's leaving helps; kube-scheduler's `UnschedulableAndUnresolvable`.
    SomethingElse,
}

/// A resource of which there is not enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    pub resource: Text,
    /// In thousandths for CPU, whole units for everything else.
    pub requested: i64,
    pub used: i64,
    pub capacity: i64,
}

/// Why a node is refused, or all nodes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The pod is for another node.
    NodeName,
    /// The node is cordoned.
    Cordoned,
    /// A taint that the pod doesn't tolerate.
    Taint(Taint),
    /// Node selector or required node affinity.
    NodeAffinity,
    /// The pod's node affinity names nodes, and no node can be all of them.
    NamesConflict,
    /// Filters that name nodes leave this one, or every one, out.
    NotNamed,
    /// A host port is taken.
    PortTaken(HostPort),
    /// Resources are short, pod slots among them.
    Short(Vec<Shortage>),
    /// A disk is mounted here in a way that excludes the pod's.
    DiskInUse,
    /// A claim for one pod at a time is in use.
    ClaimInUse,
    /// The driver can attach no more volumes.
    VolumeLimit {
        driver: Text,
        volumes_max: i64,
        attached: usize,
        wanted: usize,
    },
    /// The driver of a volume is not on the node.
    DriverMissing { driver: Text },
    /// A claim does not exist.
    ClaimMissing(ClaimKey),
    /// A claim has lost its volume.
    ClaimLost(ClaimKey),
    /// A claim is being deleted.
    ClaimTerminating(ClaimKey),
    /// A claim that should belong to this pod does not.
    ClaimOfAnother(ClaimKey),
    /// A claim has no volume, and its class makes it before the pod is placed.
    ClaimUnbound(ClaimKey),
    /// A claim has neither a volume nor a class.
    ClaimWithoutClass(ClaimKey),
    /// A class that a claim names does not exist.
    ClassMissing { class: Text },
    /// A volume that a claim names does not exist.
    VolumeMissing { volume: Text },
    /// The node can't reach a bound volume.
    VolumeElsewhere { volume: Text },
    /// No volume for a claim can be found or made for this node.
    NoVolume(ClaimKey),
    /// There is no room for a new volume of a claim.
    NoStorage(ClaimKey),
    /// A volume is in another zone or region.
    Zone { key: Text },
    /// The node lacks the label over which the pod's kind is to spread.
    SpreadLabelMissing { key: Text },
    /// Too many of the pod's kind would be in one domain.
    Spread { key: Text, skew: i64, skew_max: i32 },
    /// Nobody whom the pod must be near is in the node's domain.
    Affinity,
    /// Somebody from whom the pod must be apart is in the node's domain.
    AntiAffinity,
    /// Somebody in the node's domain must be apart from the pod.
    AntiAffinityOfOthers,
    /// Devices for the pod's claims can't be had together.
    NoDevices,
    /// Devices can't be had, and a pool of them contradicts itself.
    PoolInvalid,
    /// Devices that a claim has are for other nodes, or don't become ready.
    DevicesElsewhere,
    /// A claim for extended resources is left over from an earlier attempt.
    ClaimLeftOver,
    /// The node lacks a declared feature that the pod needs.
    FeatureMissing { feature: Text },
}

impl Display for Reason {
    /// What keeps the pod out, as it is said of a node, in the manner of kube-scheduler.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::NodeName => f.write_str("the pod is for another node"),
            Self::Cordoned => f.write_str("the node is unschedulable"),
            Self::Taint(taint) => write!(f, "untolerated taint {taint}"),
            Self::NodeAffinity => f.write_str("node affinity or selector doesn't match"),
            Self::NamesConflict => f.write_str("node affinity names nodes that can't be one"),
            Self::NotNamed => f.write_str("the node is not among those that the pod can use"),
            Self::PortTaken(port) => write!(f, "host port {} is taken", port.port),
            Self::Short(shortages) => {
                for (at, short) in shortages.iter().enumerate() {
                    let comma = if at == 0 { "" } else { ", " };
                    write!(f, "{comma}too few {}", short.resource)?;
                }
                Ok(())
            }
            Self::DiskInUse => f.write_str("a disk is in use here"),
            Self::ClaimInUse => f.write_str("a volume claim for one pod at a time is in use"),
            Self::VolumeLimit { driver, .. } => write!(f, "no more volumes of {driver} fit"),
            Self::DriverMissing { driver } => write!(f, "CSI driver {driver} is missing"),
            Self::ClaimMissing(key) => write!(f, "claim {key} doesn't exist"),
            Self::ClaimLost(key) => write!(f, "claim {key} has lost its volume"),
            Self::ClaimTerminating(key) => write!(f, "claim {key} is being deleted"),
            Self::ClaimOfAnother(key) => write!(f, "claim {key} is another pod's"),
            Self::ClaimUnbound(key) => write!(f, "claim {key} has no volume yet"),
            Self::ClaimWithoutClass(key) => write!(f, "claim {key} names no class"),
            Self::ClassMissing { class } => write!(f, "class {class} doesn't exist"),
            Self::VolumeMissing { volume } => write!(f, "volume {volume} doesn't exist"),
            Self::VolumeElsewhere { volume } => write!(f, "volume {volume} can't be reached"),
            Self::NoVolume(key) => write!(f, "no volume for claim {key} can be had"),
            Self::NoStorage(key) => write!(f, "no storage is left for claim {key}"),
            Self::Zone { key } => write!(f, "a volume is in another {key}"),
            Self::SpreadLabelMissing { key } => write!(f, "label {key} is missing for spreading"),
            Self::Spread { key, .. } => write!(f, "too many like it in one {key}"),
            Self::Affinity => f.write_str("pod affinity doesn't match"),
            Self::AntiAffinity => f.write_str("pod anti-affinity keeps it away"),
            Self::AntiAffinityOfOthers => f.write_str("anti-affinity of others keeps it away"),
            Self::NoDevices => f.write_str("devices for its claims can't be had"),
            Self::PoolInvalid => f.write_str("a pool of devices contradicts itself"),
            Self::DevicesElsewhere => f.write_str("its devices are for other nodes"),
            Self::ClaimLeftOver => f.write_str("a device claim of an earlier attempt is left over"),
            Self::FeatureMissing { feature } => write!(f, "feature {feature} is missing"),
        }
    }
}

/// A refusal by one filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub reason: Reason,
    pub remedy: Remedy,
}

impl Refusal {
    /// A refusal that goes away when pods leave the node.
    #[must_use]
    pub fn until_pods_leave(reason: Reason) -> Self {
        let remedy = Remedy::PodsLeave;
        Self { reason, remedy }
    }

    /// A refusal that no pod's leaving can end.
    #[must_use]
    pub fn whatever_leaves(reason: Reason) -> Self {
        let remedy = Remedy::SomethingElse;
        Self { reason, remedy }
    }
}

/// Why a question could not be answered; kube-scheduler's `Error`.
///
/// kube-scheduler then places the pod nowhere in that cycle and tries again later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// A running pod uses a claim that was made for another pod.
    ClaimOfAnother(ClaimKey),
    /// A volume names a claim by an empty name.
    ClaimWithoutName,
    /// A request of devices is of a kind that came after 1.37, or names no class.
    UnknownRequest,
    /// An expression can't be evaluated for a device.
    Expression(Text),
    /// An amount can't be represented in a device's arithmetic.
    CapacityUnrepresentable,
    /// A claim asks for more devices than a claim can have.
    TooManyDevices,
    /// All devices are asked for while a pool of them is incomplete or contradicts itself.
    PoolUnsettled,
    /// All devices are asked for, and a constraint of the claim forbids that.
    ConstraintOverAll,
    /// The search for devices was given up.
    SearchTooLong,
}

/// What one filter says of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Fits,
    Refused(Refusal),
    Failed(Failure),
}

impl Verdict {
    /// Refuses until pods leave.
    pub(super) fn until_pods_leave(reason: Reason) -> Self {
        Self::Refused(Refusal::until_pods_leave(reason))
    }

    /// Refuses whatever pods leave.
    pub(super) fn whatever_leaves(reason: Reason) -> Self {
        Self::Refused(Refusal::whatever_leaves(reason))
    }
}
