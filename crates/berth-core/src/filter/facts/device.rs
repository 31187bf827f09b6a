//! What the filters know of devices (DRA, `resource.k8s.io/v1`): slices, classes, claims.
//!
//! Invariant: a selector's expression is a name here; what it says of each device stands in
//! [`Expressions`], since the language (CEL) is evaluated outside of the core. Devices with
//! compatibility groups are left out by whoever lowers them: that feature is off in 1.37, and
//! kube-scheduler doesn't see their slices either. Not here: drivers' configuration.

use std::collections::BTreeMap;

use super::Text;
use super::exact::Exact;
use super::node_selector::NodeSelector;
use super::storage::ClaimKey;
use super::taint::{Taint, Toleration};
use crate::time::Time;

/// A device, by the names that are unique in a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceKey {
    pub driver: Text,
    pub pool: Text,
    pub device: Text,
}

/// The value of a device's attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Attribute {
    Text(Text),
    Number(i64),
    Flag(bool),
    Version(Text),
    /// A list, or a kind that came after 1.37: it is there, and equal to nothing.
    Other,
}

/// Requests of capacity that are allowed, as a range (KEP-5075).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapacityRange {
    pub min: Exact,
    pub max: Option<Exact>,
    pub step: Option<Exact>,
}

/// Requests of capacity that are allowed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AllowedCapacity {
    Any,
    Range(CapacityRange),
    /// One of these, ascending.
    Values(Box<[Exact]>),
}

/// How requests of capacity are rounded and filled in (KEP-5075).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CapacityPolicy {
    /// What a request takes that names no amount.
    pub default: Option<Exact>,
    pub allowed: AllowedCapacity,
}

/// An amount that a device has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Capacity {
    pub value: Exact,
    pub policy: Option<CapacityPolicy>,
}

/// Amounts of the counters of one set.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CounterSet {
    pub name: Text,
    pub counters: Box<[(Text, Exact)]>,
}

/// The nodes that can use devices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum DeviceNodes {
    /// Every node.
    Every,
    Named(Text),
    Selected(NodeSelector),
    /// Each device says so by itself.
    ByDevice,
    /// Nobody has said.
    Unknown,
}

/// Whether several claims can have a device at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sharing {
    One,
    Several,
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Device {
    pub name: Text,
    /// By name, sorted; names of the driver's own domain are written without it.
    pub attributes: Box<[(Text, Attribute)]>,
    /// By name, sorted.
    pub capacity: Box<[(Text, Capacity)]>,
    /// Its own taints and those of taint rules.
    pub taints: Box<[Taint]>,
    /// Counters that it takes when it is allocated (KEP-4815).
    pub takes: Box<[CounterSet]>,
    pub sharing: Sharing,
    /// Its own nodes, where its slice leaves that to the devices.
    pub nodes: DeviceNodes,
    /// Whether it must report itself ready before pods are bound (KEP-5007).
    pub has_conditions: bool,
}

/// A part of a pool of devices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceSlice {
    pub name: Text,
    pub driver: Text,
    pub pool: Text,
    /// Older generations of a pool don't count.
    pub generation: i64,
    /// How many slices the pool has.
    pub slices_in_pool: i64,
    pub nodes: DeviceNodes,
    pub devices: Box<[Device]>,
    /// Counters of the whole pool that devices take from.
    pub counters: Box<[CounterSet]>,
}

/// What an expression says of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truth {
    Yes,
    No,
    /// It can't be evaluated for this device.
    Error,
}

/// What expressions say, by expression, then by slice and device. An expression or device that is
/// not listed counts as an error.
#[derive(Debug, Clone, Default)]
pub struct Expressions(BTreeMap<Text, BTreeMap<(Text, Text), Truth>>);

impl Expressions {
    /// Notes what `expression` says of `device` in `slice`.
    pub fn set(&mut self, expression: &Text, slice: &Text, device: &Text, truth: Truth) {
        let devices = self.0.entry(expression.clone()).or_default();
        devices.insert((slice.clone(), device.clone()), truth);
    }

    /// Keeps only the expressions that pass.
    pub fn retain(&mut self, mut passes: impl FnMut(&Text) -> bool) {
        self.0.retain(|expression, _| passes(expression));
    }

    /// What `expression` says of `device` in `slice`.
    #[must_use]
    pub fn get(&self, expression: &Text, slice: &Text, device: &Text) -> Truth {
        let devices = self.0.get(expression);
        let key = (slice.clone(), device.clone());
        let truth = devices.and_then(|devices| devices.get(&key));
        truth.copied().unwrap_or(Truth::Error)
    }
}

/// How many devices are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wanted {
    Count(i64),
    /// Every device that matches, and at least one.
    All,
}

/// Whether a request is for use or for looking after devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    Use,
    /// It may have devices that others use (KEP-5018).
    Admin,
}

/// Devices that are asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ask {
    pub class: Text,
    pub wanted: Wanted,
    pub access: Access,
    /// Expressions that must all hold.
    pub selectors: Box<[Text]>,
    pub tolerations: Box<[Toleration]>,
    /// Amounts of capacity, by name, sorted.
    pub capacity: Box<[(Text, Exact)]>,
}

/// A request of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    pub name: Text,
    pub choice: Choice,
}

/// What a request can be satisfied with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Choice {
    Exactly(Ask),
    /// The first of these that can be had (KEP-4816), by name.
    FirstAvailable(Box<[(Text, Ask)]>),
    /// Something that came after 1.37.
    Unknown,
}

/// Whether devices are to be alike or different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Likeness {
    Same,
    Distinct,
}

/// A rule over the devices of several requests.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Constraint {
    /// Requests, or `request/alternative`; empty for all.
    pub requests: Box<[Text]>,
    pub likeness: Likeness,
    /// The attribute, with its domain.
    pub attribute: Text,
}

/// A device that a claim has been given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AllocatedDevice {
    /// The request that it is for, or `request/alternative`.
    pub request: Text,
    pub key: DeviceKey,
    pub sharing: Sharing,
    /// Capacity that is taken of a shared device.
    pub capacity: Box<[(Text, Exact)]>,
}

/// Whether the devices of an allocated claim are ready (KEP-5007).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Readiness {
    Ready,
    /// Not yet, until this instant, if there is one.
    Waiting(Option<Time>),
    Failed,
}

/// Who says that a claim has its devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Says {
    /// The claim itself.
    TheClaim,
    /// A decision that has yet to be carried out.
    Decision,
}

/// What a claim has been given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Allocation {
    pub says: Says,
    /// Devices, without those for admin access.
    pub devices: Box<[AllocatedDevice]>,
    /// Devices for admin access, which others may have as well; known of decisions alone.
    pub looked_after: Box<[AllocatedDevice]>,
    /// The nodes that can use them; `None` for all.
    pub nodes: Option<NodeSelector>,
    pub readiness: Readiness,
}

/// A claim of devices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DeviceClaim {
    pub key: ClaimKey,
    pub uid: Text,
    pub is_terminating: bool,
    /// The UID of the controller that owns it.
    pub owner: Option<Text>,
    /// Whether it stands for a pod's extended resources (KEP-5004).
    pub is_for_extended: bool,
    pub requests: Box<[Request]>,
    pub constraints: Box<[Constraint]>,
    pub allocation: Option<Allocation>,
}

/// A claim as a pod names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PodClaim {
    /// By its name.
    Named(Text),
    /// Made for this pod; it must be owned by it.
    Made(Text),
    /// To be made, and not there yet.
    Pending(Text),
}

/// A container that asks for extended resources, as far as devices may stand for them (KEP-5004).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ContainerAsk {
    /// Its place among all containers, init containers first.
    pub index: usize,
    /// Whether it ends before the pod's other containers run.
    pub is_short_lived: bool,
    /// Pieces by resource, with the resource's place among the container's requests.
    pub resources: Box<[(Text, i64, usize)]>,
}
