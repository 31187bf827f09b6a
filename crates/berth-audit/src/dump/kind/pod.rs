//! Pods, and the templates that workloads make them from.
//!
//! Invariant: of environment variables only those named in [`KEPT_ENV`] are kept.

use berth_core::time::Time;

use crate::dump::Record;
use crate::dump::lenient::{List, Number, Pairs, Present, Stamp, Truth, object, record};
use crate::dump::meta::Meta;
use crate::dump::quantity::Quantity;
use crate::dump::text::Text;

object! {
    /// A pod.
    pub struct Pod {
        /// What is wanted of it.
        pub spec: PodSpec,
        /// What became of it.
        pub status: PodStatus,
    }
}

record! {
    /// The template of a workload's pods.
    pub struct PodTemplate {
        /// Labels and annotations of the pods.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// What is wanted of the pods.
        pub spec: PodSpec,
    }

    /// `spec` of a pod.
    pub struct PodSpec {
        /// Node, once bound.
        pub node_name: Text,
        /// Scheduler.
        pub scheduler_name: Text,
        /// Priority.
        pub priority: Option<Number>,
        /// Priority class.
        pub priority_class_name: Text,
        /// `Never` or `PreemptLowerPriority`.
        pub preemption_policy: Text,
        /// Runtime class.
        pub runtime_class_name: Text,
        /// Service account.
        pub service_account_name: Text,
        /// Shares the host's network.
        pub host_network: Truth,
        /// `Always`, `OnFailure`, `Never`.
        pub restart_policy: Text,
        /// Labels that the node must have.
        pub node_selector: Pairs<Text>,
        /// Affinity of nodes and pods.
        pub affinity: Affinity,
        /// Tolerations.
        pub tolerations: List<Toleration>,
        /// Containers.
        pub containers: List<Container>,
        /// Containers that run before.
        pub init_containers: List<Container>,
        /// Volumes.
        pub volumes: List<Volume>,
        /// Resources on top of the containers'.
        pub overhead: Pairs<Quantity>,
    }

    /// Affinity; of pod affinity only that there is some.
    pub struct Affinity {
        /// Affinity to nodes.
        pub node_affinity: NodeAffinity,
        /// Affinity to pods.
        pub pod_affinity: Present,
        /// Anti-affinity to pods.
        pub pod_anti_affinity: Present,
    }

    /// Affinity to nodes.
    pub struct NodeAffinity {
        /// What must hold.
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        pub required: NodeTerms,
    }

    /// Terms of which one must hold.
    pub struct NodeTerms {
        /// The terms.
        pub node_selector_terms: List<NodeTerm>,
    }

    /// Requirements that must all hold.
    pub struct NodeTerm {
        /// On labels.
        pub match_expressions: List<crate::dump::meta::Requirement>,
        /// On fields, which is `metadata.name` only.
        pub match_fields: List<crate::dump::meta::Requirement>,
    }

    /// A toleration.
    pub struct Toleration {
        /// Key; empty tolerates every key.
        pub key: Text,
        /// `Exists` or `Equal`.
        pub operator: Text,
        /// Value.
        pub value: Text,
        /// Effect; empty tolerates every effect.
        pub effect: Text,
    }

    /// A container.
    pub struct Container {
        /// Name.
        pub name: Text,
        /// Image.
        pub image: Text,
        /// Command.
        pub command: List<Text>,
        /// Arguments.
        pub args: List<Text>,
        /// Requests and limits.
        pub resources: Resources,
        /// Environment, of the names in [`KEPT_ENV`].
        pub env: List<EnvVar>,
        /// Security context.
        pub security_context: SecurityContext,
        /// `Always` for a sidecar among init containers.
        pub restart_policy: Text,
    }

    /// Requests and limits.
    pub struct Resources {
        /// What is set aside.
        pub requests: Pairs<Quantity>,
        /// What may be used.
        pub limits: Pairs<Quantity>,
        /// Names of DRA claims.
        pub claims: List<Named>,
    }

    /// An environment variable.
    pub struct EnvVar {
        /// Name.
        pub name: Text,
        /// Value, empty where it comes from elsewhere.
        pub value: Text,
    }

    /// Rights of a container.
    pub struct SecurityContext {
        /// All rights of the host.
        pub privileged: Truth,
    }

    /// Something with a name.
    pub struct Named {
        /// The name.
        pub name: Text,
    }

    /// A volume of a pod.
    pub struct Volume {
        /// Name inside the pod.
        pub name: Text,
        /// A path of the host.
        pub host_path: HostPath,
        /// A claim.
        pub persistent_volume_claim: ClaimRef,
        /// A ConfigMap.
        pub config_map: Named,
        /// An empty folder.
        pub empty_dir: EmptyDir,
    }

    /// An empty folder of a pod.
    pub struct EmptyDir {
        /// `Memory` for a file system in memory.
        pub medium: Text,
    }

    /// A path of the host.
    pub struct HostPath {
        /// The path; empty where the volume is another.
        pub path: Text,
    }

    /// A reference to a claim.
    pub struct ClaimRef {
        /// Its name; empty where the volume is another.
        pub claim_name: Text,
    }

    /// `status` of a pod.
    pub struct PodStatus {
        /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`.
        pub phase: Text,
        /// One word why.
        pub reason: Text,
        /// A sentence why.
        pub message: Text,
        /// Address.
        #[serde(rename = "podIP")]
        pub pod_ip: Text,
        /// Addresses, one a family.
        #[serde(rename = "podIPs")]
        pub pod_ips: List<PodIp>,
        /// When the kubelet took it.
        pub start_time: Option<Stamp>,
        /// Quality of service.
        pub qos_class: Text,
        /// State of the containers.
        pub container_statuses: List<ContainerStatus>,
        /// State of the init containers.
        pub init_container_statuses: List<ContainerStatus>,
    }

    /// An address.
    pub struct PodIp {
        /// The address.
        pub ip: Text,
    }

    /// State of a container.
    pub struct ContainerStatus {
        /// Name.
        pub name: Text,
        /// Ready to serve.
        pub ready: Truth,
        /// How often it was started again.
        pub restart_count: Number,
        /// What it does now.
        pub state: ContainerState,
        /// How it ended before.
        pub last_state: ContainerState,
    }

    /// One state of a container.
    pub struct ContainerState {
        /// It waits.
        pub waiting: Option<Box<Why>>,
        /// It runs.
        pub running: Present,
        /// It has ended.
        pub terminated: Option<Box<Why>>,
    }

    /// Why a container waits or ended.
    pub struct Why {
        /// One word.
        pub reason: Text,
        /// A sentence.
        pub message: Text,
        /// Exit code.
        pub exit_code: Number,
    }
}

/// Variables that rules read begin with one of these; all others are dropped, since passwords stand in
/// the environment of pods in clear.
pub const KEPT_ENV: [&str; 25] = [
    "NVIDIA_",
    "CUDA_",
    "GPU_",
    "CALICO_",
    "FELIX_",
    "IP_AUTODETECTION",
    "IP6_AUTODETECTION",
    "CLUSTER_TYPE",
    "DP_",
    "DCGM_",
    "MIG_",
    "DEVICE_",
    "FAIL_ON_INIT_ERROR",
    "KUBERNETES_VIRTUAL_GPUS",
    "CONTAINERD_",
    "KUBELET_ROOT_DIR",
    "ROOK_CSI_KUBELET_DIR_PATH",
    "ENABLE_CULLING",
    "CULL_IDLE_TIME",
    "IDLENESS_CHECK_PERIOD",
    "IDLE_TIME",
    "CULLING_CHECK_PERIOD",
    "DEFAULT_IDLE_TIME",
    "vip_",
    "svc_",
];

impl Pod {
    /// True for a pod that has ended and holds nothing any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.status.phase == "Succeeded" || self.status.phase == "Failed"
    }

    /// Its addresses as written; the single one where the list is missing.
    pub fn addresses(&self) -> impl Iterator<Item = &Text> {
        let single = self
            .status
            .pod_ips
            .is_empty()
            .then_some(&self.status.pod_ip);
        let listed = self.status.pod_ips.iter().map(|address| &address.ip);
        listed.chain(single).filter(|address| !address.is_empty())
    }
}

impl PodSpec {
    /// Containers and init containers.
    pub fn all_containers(&self) -> impl Iterator<Item = &Container> {
        self.containers.iter().chain(&self.init_containers)
    }

    /// Units of a resource that the pod asks for, as the scheduler counts: the sum of the containers
    /// and sidecars, or the largest init container where that is more.
    #[must_use]
    pub fn request(&self, resource: &str) -> Quantity {
        let of = |container: &Container| container.wants(resource).milli();
        let mut sidecars = 0_i64;
        let mut peak = 0_i64;
        for container in &self.init_containers {
            if container.restart_policy == "Always" {
                sidecars = sidecars.saturating_add(of(container));
                peak = peak.max(sidecars);
            } else {
                peak = peak.max(sidecars.saturating_add(of(container)));
            }
        }
        let sum = self
            .containers
            .iter()
            .map(of)
            .fold(sidecars, i64::saturating_add);
        Quantity::from_milli(sum.max(peak))
    }
}

impl Container {
    /// Request of a resource, or its limit, which defaults the request.
    #[must_use]
    pub fn wants(&self, resource: &str) -> Quantity {
        let resources = &self.resources;
        resources
            .requests
            .get(resource)
            .or_else(|| resources.limits.get(resource))
            .copied()
            .unwrap_or_default()
    }

    /// The value of an environment variable that is kept, see [`KEPT_ENV`].
    #[must_use]
    pub fn env(&self, name: &str) -> Option<&str> {
        self.env
            .iter()
            .find(|variable| variable.name == name)
            .map(|variable| variable.value.as_str())
    }

    fn redact(&mut self) {
        self.env
            .retain(|variable| KEPT_ENV.iter().any(|kept| variable.name.starts_with(*kept)));
        for argument in self.args.iter_mut().chain(&mut self.command) {
            if is_secret_like(argument) {
                *argument = argument
                    .split_once('=')
                    .map_or("(redacted)", |(name, _)| name)
                    .into();
            }
        }
    }
}

/// Arguments that carry a password or token by the look of their name.
fn is_secret_like(argument: &str) -> bool {
    let Some((name, _)) = argument.split_once('=') else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    [
        "password",
        "passwd",
        "secret",
        "token",
        "credential",
        "apikey",
        "api-key",
    ]
    .iter()
    .any(|word| name.contains(word))
}

impl PodSpec {
    /// Drops what must not be kept.
    pub(crate) fn redact(&mut self) {
        self.containers
            .iter_mut()
            .chain(&mut self.init_containers)
            .for_each(Container::redact);
    }
}

impl Record for Pod {
    fn redact(&mut self) {
        self.spec.redact();
        // Tokens and other volumes of which nothing is read are on every pod.
        self.spec.volumes.retain(|volume| {
            let name = volume.name.clone();
            *volume
                != Volume {
                    name,
                    ..Volume::default()
                }
        });
    }

    fn newest(&self) -> Option<Time> {
        self.status.start_time.map(|stamp| stamp.0)
    }
}

impl PodTemplate {
    /// Drops what must not be kept.
    pub(crate) fn redact(&mut self) {
        self.spec.redact();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_pods_stay_small() {
        // A large cluster has hundreds of thousands of them.
        assert!(size_of::<Pod>() <= 450, "{}", size_of::<Pod>());
        assert!(size_of::<Container>() <= 160, "{}", size_of::<Container>());
        assert!(
            size_of::<ContainerStatus>() <= 80,
            "{}",
            size_of::<ContainerStatus>()
        );
    }
}
