//! Leases: who leads, and for how long without renewal.

use berth_core::time::Time;

use crate::dump::Record;
use crate::dump::lenient::{Number, Stamp, object, record};
use crate::dump::text::Text;

object! {
    /// A lease.
    pub struct Lease {
        /// Who holds it.
        pub spec: LeaseSpec,
    }
}

record! {
    /// `spec` of a lease.
    pub struct LeaseSpec {
        /// Holder.
        pub holder_identity: Text,
        /// Seconds that it lasts without renewal.
        pub lease_duration_seconds: Number,
        /// When it was renewed.
        pub renew_time: Option<Stamp>,
        /// How often it changed hands.
        pub lease_transitions: Number,
    }
}

impl Record for Lease {
    fn newest(&self) -> Option<Time> {
        self.spec.renew_time.map(|stamp| stamp.0)
    }
}
