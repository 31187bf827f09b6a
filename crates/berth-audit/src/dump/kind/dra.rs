//! Dynamic resource allocation: claims and slices.

use crate::dump::Record;
use crate::dump::lenient::{Number, object, record};
use crate::dump::text::Text;

object! {
    /// A claim on devices.
    pub struct ResourceClaim {
        /// What was given.
        pub status: ClaimStatus,
    }
}

object! {
    /// Devices of a driver on a node.
    pub struct ResourceSlice {
        /// The devices.
        pub spec: SliceSpec,
    }
}

record! {
    /// `status` of a claim.
    pub struct ClaimStatus {
        /// What was given.
        pub allocation: Option<Allocation>,
        /// Who may use it.
        pub reserved_for: Vec<Consumer>,
    }

    /// What was given.
    pub struct Allocation {
        /// The devices.
        pub devices: AllocatedDevices,
    }

    /// Devices that were given.
    pub struct AllocatedDevices {
        /// One entry a device.
        pub results: Vec<AllocatedDevice>,
    }

    /// A device that was given.
    pub struct AllocatedDevice {
        /// Driver.
        pub driver: Text,
        /// Pool.
        pub pool: Text,
        /// Device.
        pub device: Text,
    }

    /// Who may use a claim.
    pub struct Consumer {
        /// Resource, such as `pods`.
        pub resource: Text,
        /// Name.
        pub name: Text,
        /// Identity.
        pub uid: Text,
    }

    /// `spec` of a slice.
    pub struct SliceSpec {
        /// Driver.
        pub driver: Text,
        /// Node.
        pub node_name: Text,
        /// Pool.
        pub pool: Pool,
        /// Devices.
        pub devices: Vec<super::pod::Named>,
    }

    /// A pool of devices.
    pub struct Pool {
        /// Name.
        pub name: Text,
        /// Generation.
        pub generation: Number,
        /// Slices of the pool.
        pub resource_slice_count: Number,
    }
}

impl Record for ResourceClaim {}
impl Record for ResourceSlice {}
