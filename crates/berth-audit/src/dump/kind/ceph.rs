//! Ceph clusters and pools as Rook describes them.

use crate::dump::Record;
use crate::dump::lenient::{Number, Pairs, Truth, object, record};
use crate::dump::text::Text;

object! {
    /// A Ceph cluster.
    pub struct CephCluster {
        /// What there is.
        pub status: CephClusterStatus,
    }
}

object! {
    /// A block pool.
    pub struct CephBlockPool {
        /// What is wanted.
        pub spec: CephBlockPoolSpec,
    }
}

record! {
    /// `status` of a cluster.
    pub struct CephClusterStatus {
        /// Phase.
        pub phase: Text,
        /// What Ceph says.
        pub ceph: CephStatus,
    }

    /// What Ceph says.
    pub struct CephStatus {
        /// `HEALTH_OK`, `HEALTH_WARN`, `HEALTH_ERR`.
        pub health: Text,
        /// Checks that are raised, by code.
        pub details: Pairs<CephDetail>,
        /// Capacity.
        pub capacity: CephCapacity,
    }

    /// A raised check.
    pub struct CephDetail {
        /// `HEALTH_WARN` or `HEALTH_ERR`.
        pub severity: Text,
        /// A sentence.
        pub message: Text,
    }

    /// Capacity in bytes.
    pub struct CephCapacity {
        /// In all.
        pub bytes_total: Number,
        /// Used.
        pub bytes_used: Number,
    }

    /// `spec` of a pool.
    pub struct CephBlockPoolSpec {
        /// `host`, `osd`, `rack`.
        pub failure_domain: Text,
        /// Replication.
        pub replicated: Replicated,
    }

    /// Replication of a pool.
    pub struct Replicated {
        /// Copies.
        pub size: Number,
        /// Whether a single copy is refused.
        pub require_safe_replica_size: Option<Truth>,
    }
}

impl Record for CephCluster {}
impl Record for CephBlockPool {}
