//! Quotas, limit ranges and priority classes.

use crate::dump::Record;
use crate::dump::lenient::{Number, Pairs, Truth, object, record};
use crate::dump::text::Text;

object! {
    /// A resource quota.
    pub struct ResourceQuota {
        /// What is wanted.
        pub spec: QuotaSpec,
        /// What is used.
        pub status: QuotaStatus,
    }
}

object! {
    /// A limit range.
    pub struct LimitRange {
        /// What is wanted.
        pub spec: LimitRangeSpec,
    }
}

object! {
    /// A priority class.
    pub struct PriorityClass {
        /// Its value.
        pub value: Number,
        /// True for the one that pods without a class get.
        pub global_default: Truth,
        /// `Never` or `PreemptLowerPriority`.
        pub preemption_policy: Text,
    }
}

record! {
    /// `spec` of a quota. Amounts stay as written: a wrong spelling is a finding.
    pub struct QuotaSpec {
        /// Limits by key.
        pub hard: Pairs<Text>,
        /// Scopes.
        pub scopes: Vec<Text>,
    }

    /// `status` of a quota.
    pub struct QuotaStatus {
        /// Limits that are in force.
        pub hard: Pairs<Text>,
        /// What is used.
        pub used: Pairs<Text>,
    }

    /// `spec` of a limit range.
    pub struct LimitRangeSpec {
        /// The limits.
        pub limits: Vec<LimitItem>,
    }

    /// One limit.
    pub struct LimitItem {
        /// `Container`, `Pod`, `PersistentVolumeClaim`.
        #[serde(rename = "type")]
        pub kind: Text,
        /// Default limits.
        pub default: Pairs<Text>,
        /// Default requests.
        pub default_request: Pairs<Text>,
    }
}

impl Record for ResourceQuota {}
impl Record for LimitRange {}
impl Record for PriorityClass {}
