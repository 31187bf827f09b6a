//! Services.

use crate::dump::Record;
use crate::dump::lenient::{object, record};
use crate::dump::text::Text;

object! {
    /// A service.
    pub struct Service {
        /// What is wanted.
        pub spec: ServiceSpec,
    }
}

record! {
    /// `spec` of a service.
    pub struct ServiceSpec {
        /// `ClusterIP`, `NodePort`, `LoadBalancer`, `ExternalName`.
        #[serde(rename = "type")]
        pub kind: Text,
        /// Address; `None` for a headless one.
        #[serde(rename = "clusterIP")]
        pub cluster_ip: Text,
        /// Addresses, one a family.
        #[serde(rename = "clusterIPs")]
        pub cluster_ips: Vec<Text>,
    }
}

impl Record for Service {}
