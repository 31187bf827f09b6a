//! Nodes and runtime classes.

use berth_core::time::Time;

use crate::dump::lenient::{Pairs, Stamp, Truth, object, record};
use crate::dump::meta::Condition;
use crate::dump::quantity::Quantity;
use crate::dump::text::Text;
use crate::dump::{Object as _, Record};

object! {
    /// A node.
    pub struct Node {
        /// What is wanted of it.
        pub spec: NodeSpec,
        /// What it reports.
        pub status: NodeStatus,
    }
}

object! {
    /// A runtime class: a handler name for containerd.
    pub struct RuntimeClass {
        /// The handler.
        pub handler: Text,
    }
}

record! {
    /// `spec` of a node.
    pub struct NodeSpec {
        /// Pod ranges.
        #[serde(rename = "podCIDRs")]
        pub pod_cidrs: Vec<Text>,
        /// True where nothing new may be scheduled.
        pub unschedulable: Truth,
        /// Taints.
        pub taints: Vec<Taint>,
        /// Identity at a cloud or hypervisor.
        #[serde(rename = "providerID")]
        pub provider_id: Text,
    }

    /// A taint.
    pub struct Taint {
        /// Key.
        pub key: Text,
        /// Value.
        pub value: Text,
        /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
        pub effect: Text,
    }

    /// `status` of a node.
    pub struct NodeStatus {
        /// Resources in all.
        pub capacity: Pairs<Quantity>,
        /// Resources for pods.
        pub allocatable: Pairs<Quantity>,
        /// Addresses.
        pub addresses: Vec<Address>,
        /// Conditions.
        pub conditions: Vec<NodeCondition>,
        /// Versions.
        pub node_info: NodeInfo,
    }

    /// An address of a node.
    pub struct Address {
        /// `InternalIP`, `Hostname`, ...
        #[serde(rename = "type")]
        pub kind: Text,
        /// The address.
        pub address: Text,
    }

    /// A condition of a node.
    pub struct NodeCondition {
        /// What it is about.
        #[serde(rename = "type")]
        pub kind: Text,
        /// `True`, `False` or `Unknown`.
        pub status: Text,
        /// One word why.
        pub reason: Text,
        /// A sentence why.
        pub message: Text,
        /// When it was last confirmed.
        pub last_heartbeat_time: Option<Stamp>,
        /// When the status changed last.
        pub last_transition_time: Option<Stamp>,
    }

    /// Versions of a node.
    pub struct NodeInfo {
        /// Kernel.
        pub kernel_version: Text,
        /// Distribution.
        pub os_image: Text,
        /// containerd or another.
        pub container_runtime_version: Text,
        /// Kubelet.
        pub kubelet_version: Text,
        /// `amd64`, `arm64`.
        pub architecture: Text,
        /// Identity of the machine, equal on badly cloned ones.
        #[serde(rename = "machineID")]
        pub machine_id: Text,
        /// Identity of the boot.
        #[serde(rename = "bootID")]
        pub boot_id: Text,
    }
}

impl Node {
    /// Whole units of a resource for pods; 0 where it has none.
    #[must_use]
    pub fn allocatable(&self, resource: &str) -> i64 {
        self.status
            .allocatable
            .get(resource)
            .map_or(0, |quantity| quantity.units())
    }

    /// The status of a condition, or an empty text.
    #[must_use]
    pub fn condition(&self, kind: &str) -> &str {
        let found = self
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == kind);
        found.map_or("", |condition| condition.status.as_str())
    }

    /// True for a node that runs the control plane, as kubeadm, MicroK8s and old releases mark it.
    #[must_use]
    pub fn is_control_plane(&self) -> bool {
        const MARKS: [&str; 3] = [
            "node-role.kubernetes.io/control-plane",
            "node-role.kubernetes.io/master",
            "node.kubernetes.io/microk8s-controlplane",
        ];
        MARKS
            .iter()
            .any(|mark| self.meta().labels.get(mark).is_some())
    }
}

impl Record for Node {
    fn newest(&self) -> Option<Time> {
        self.status
            .conditions
            .iter()
            .filter_map(|condition| condition.last_heartbeat_time)
            .map(|stamp| stamp.0)
            .max()
    }
}

impl Record for RuntimeClass {}

/// The condition in the common form.
impl From<&NodeCondition> for Condition {
    fn from(condition: &NodeCondition) -> Self {
        Self {
            kind: condition.kind.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            last_transition_time: condition.last_transition_time,
        }
    }
}
