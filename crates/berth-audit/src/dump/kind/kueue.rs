//! Kueue's queues and flavours.

use crate::dump::Record;
use crate::dump::lenient::{Number, Pairs, object, record};
use crate::dump::meta::{Condition, Selector};
use crate::dump::quantity::Quantity;
use crate::dump::text::Text;

object! {
    /// A cluster queue.
    pub struct ClusterQueue {
        /// What is wanted.
        pub spec: ClusterQueueSpec,
        /// What there is.
        pub status: ClusterQueueStatus,
    }
}

object! {
    /// A local queue.
    pub struct LocalQueue {
        /// What is wanted.
        pub spec: LocalQueueSpec,
    }
}

object! {
    /// A resource flavour.
    pub struct ResourceFlavor {
        /// What it is.
        pub spec: ResourceFlavorSpec,
    }
}

record! {
    /// `spec` of a cluster queue.
    pub struct ClusterQueueSpec {
        /// Cohort, as v1beta1 writes it.
        pub cohort: Text,
        /// Cohort, as v1beta2 writes it.
        pub cohort_name: Text,
        /// `StrictFIFO` or `BestEffortFIFO`.
        pub queueing_strategy: Text,
        /// Namespaces whose workloads it takes; absent takes none.
        pub namespace_selector: Option<Selector>,
        /// Quotas.
        pub resource_groups: Vec<ResourceGroup>,
        /// Preemption.
        pub preemption: Preemption,
        /// `None`, `Hold` or `HoldAndDrain`.
        pub stop_policy: Text,
    }

    /// Resources with their flavours.
    pub struct ResourceGroup {
        /// Resources.
        pub covered_resources: Vec<Text>,
        /// Flavours.
        pub flavors: Vec<FlavorQuotas>,
    }

    /// Quotas of a flavour.
    pub struct FlavorQuotas {
        /// Flavour.
        pub name: Text,
        /// Quotas.
        pub resources: Vec<FlavorQuota>,
    }

    /// Quota of one resource.
    pub struct FlavorQuota {
        /// Resource.
        pub name: Text,
        /// Its own.
        pub nominal_quota: Quantity,
        /// What it may borrow; absent for all.
        pub borrowing_limit: Option<Quantity>,
        /// What it lends; absent for all.
        pub lending_limit: Option<Quantity>,
    }

    /// Preemption of a cluster queue.
    pub struct Preemption {
        /// `Never`, `Any`, `LowerPriority`.
        pub reclaim_within_cohort: Text,
        /// `Never`, `LowerPriority`, `LowerOrNewerEqualPriority`.
        pub within_cluster_queue: Text,
    }

    /// `status` of a cluster queue.
    pub struct ClusterQueueStatus {
        /// Workloads that wait.
        pub pending_workloads: Number,
        /// Workloads that run or may.
        pub admitted_workloads: Number,
        /// Conditions.
        pub conditions: Vec<Condition>,
    }

    /// `spec` of a local queue.
    pub struct LocalQueueSpec {
        /// Cluster queue.
        pub cluster_queue: Text,
    }

    /// `spec` of a flavour.
    pub struct ResourceFlavorSpec {
        /// Labels of its nodes.
        pub node_labels: Pairs<Text>,
    }
}

impl Record for ClusterQueue {}
impl Record for LocalQueue {}
impl Record for ResourceFlavor {}
