//! Volcano's queues and pod groups.

use crate::dump::Record;
use crate::dump::lenient::{Number, Pairs, Truth, object, record};
use crate::dump::quantity::Quantity;
use crate::dump::text::Text;

object! {
    /// A queue.
    pub struct Queue {
        /// What is wanted.
        pub spec: QueueSpec,
        /// What there is.
        pub status: QueueStatus,
    }
}

object! {
    /// A pod group.
    pub struct PodGroup {
        /// What is wanted.
        pub spec: PodGroupSpec,
        /// Its phase.
        pub status: super::storage::Phase,
    }
}

record! {
    /// `spec` of a queue.
    pub struct QueueSpec {
        /// Weight.
        pub weight: Number,
        /// What it may hold at most.
        pub capability: Pairs<Quantity>,
        /// What is its own.
        pub deserved: Pairs<Quantity>,
        /// What is kept for it.
        pub guarantee: Guarantee,
        /// Whether others may take back.
        pub reclaimable: Option<Truth>,
        /// Parent.
        pub parent: Text,
    }

    /// What is kept for a queue.
    pub struct Guarantee {
        /// Amounts.
        pub resource: Pairs<Quantity>,
    }

    /// `status` of a queue.
    pub struct QueueStatus {
        /// `Open`, `Closed`, ...
        pub state: Text,
        /// What is held.
        pub allocated: Pairs<Quantity>,
    }

    /// `spec` of a pod group.
    pub struct PodGroupSpec {
        /// Pods that must start together.
        pub min_member: Number,
        /// Queue.
        pub queue: Text,
        /// Priority class.
        pub priority_class_name: Text,
        /// Resources that must be free.
        pub min_resources: Pairs<Quantity>,
    }
}

impl Record for Queue {}
impl Record for PodGroup {}
