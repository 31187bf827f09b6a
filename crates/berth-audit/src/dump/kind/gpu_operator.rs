//! The GPU operator's policy.

use crate::dump::Record;
use crate::dump::lenient::{Truth, object, record};
use crate::dump::text::Text;

object! {
    /// A cluster policy.
    pub struct ClusterPolicy {
        /// What is wanted.
        pub spec: ClusterPolicySpec,
        /// What there is.
        pub status: ClusterPolicyStatus,
    }
}

record! {
    /// `spec` of a policy.
    pub struct ClusterPolicySpec {
        /// The operator.
        pub operator: OperatorSpec,
        /// Driver.
        pub driver: Component,
        /// Container toolkit.
        pub toolkit: Component,
        /// Device plugin.
        pub device_plugin: Component,
        /// Exporter.
        pub dcgm_exporter: Component,
        /// MIG manager.
        pub mig_manager: Component,
        /// MIG.
        pub mig: MigSpec,
        /// Workloads that need no containers.
        pub sandbox_workloads: Component,
        /// Container device interface.
        pub cdi: CdiSpec,
    }

    /// The operator's own settings.
    pub struct OperatorSpec {
        /// Default container runtime.
        pub default_runtime: Text,
        /// Runtime class.
        pub runtime_class: Text,
    }

    /// A component.
    pub struct Component {
        /// Whether it is installed; absent for yes.
        pub enabled: Option<Truth>,
        /// Version.
        pub version: Text,
        /// Image.
        pub image: Text,
        /// Environment.
        pub env: Vec<super::pod::EnvVar>,
        /// ConfigMap with its settings.
        pub config: ComponentConfig,
    }

    /// A ConfigMap with settings.
    pub struct ComponentConfig {
        /// Name.
        pub name: Text,
        /// Key that is used where a node names none.
        pub default: Text,
    }

    /// MIG.
    pub struct MigSpec {
        /// `single` or `mixed`.
        pub strategy: Text,
    }

    /// Container device interface.
    pub struct CdiSpec {
        /// In use.
        pub enabled: Option<Truth>,
        /// In use by default.
        pub default: Option<Truth>,
    }

    /// `status` of a policy.
    pub struct ClusterPolicyStatus {
        /// `ready`, `notReady`.
        pub state: Text,
    }
}

impl Record for ClusterPolicy {}
