//! KubeVirt's machines, instances and installations.

use crate::dump::Record;
use crate::dump::lenient::{Present, Truth, object, record};
use crate::dump::meta::Condition;
use crate::dump::text::Text;

object! {
    /// A virtual machine.
    pub struct VirtualMachine {
        /// What is wanted.
        pub spec: VirtualMachineSpec,
    }
}

object! {
    /// A running instance.
    pub struct VirtualMachineInstance {
        /// What is wanted.
        pub spec: InstanceSpec,
        /// What there is.
        pub status: InstanceStatus,
    }
}

object! {
    /// An installation.
    pub struct KubeVirt {
        /// Its settings.
        pub spec: KubeVirtSpec,
    }
}

record! {
    /// `spec` of a machine.
    pub struct VirtualMachineSpec {
        /// `Always`, `Halted`, `Manual`, `RerunOnFailure`.
        pub run_strategy: Text,
        /// Older form of the same.
        pub running: Option<Truth>,
        /// Its instance.
        pub template: InstanceTemplate,
    }

    /// Template of an instance.
    pub struct InstanceTemplate {
        /// What is wanted.
        pub spec: InstanceSpec,
    }

    /// `spec` of an instance.
    pub struct InstanceSpec {
        /// Hardware.
        pub domain: Domain,
        /// `LiveMigrate`, `LiveMigrateIfPossible`, `None`, `External`.
        pub eviction_strategy: Text,
        /// Volumes.
        pub volumes: Vec<MachineVolume>,
        /// Networks.
        pub networks: Vec<Present>,
        /// Labels that the node must have.
        pub node_selector: crate::dump::lenient::Pairs<Text>,
        /// Seconds that it may take to end.
        pub termination_grace_period_seconds: Option<crate::dump::lenient::Number>,
    }

    /// Hardware.
    pub struct Domain {
        /// Processor.
        pub cpu: MachineCpu,
        /// Memory.
        pub memory: MachineMemory,
        /// Requests and limits of its pod.
        pub resources: super::pod::Resources,
        /// Devices.
        pub devices: Devices,
    }

    /// Processor.
    pub struct MachineCpu {
        /// Model: `host-model`, `host-passthrough` or a name.
        pub model: Text,
        /// Features.
        pub features: Vec<CpuFeature>,
        /// Whether cores are its own.
        pub dedicated_cpu_placement: Truth,
        /// NUMA as the host's.
        pub numa: Present,
        /// Cores a socket.
        pub cores: crate::dump::lenient::Number,
        /// Sockets.
        pub sockets: crate::dump::lenient::Number,
        /// Threads a core.
        pub threads: crate::dump::lenient::Number,
    }

    /// A feature of the processor.
    pub struct CpuFeature {
        /// Name.
        pub name: Text,
        /// `require`, `force`, `optional`, `disable`, `forbid`.
        pub policy: Text,
    }

    /// Memory.
    pub struct MachineMemory {
        /// What the guest sees.
        pub guest: Option<crate::dump::quantity::Quantity>,
        /// Huge pages.
        pub hugepages: HugePages,
    }

    /// Huge pages.
    pub struct HugePages {
        /// Size of a page.
        pub page_size: Text,
    }

    /// Devices.
    pub struct Devices {
        /// GPUs.
        pub gpus: Vec<MachineDevice>,
        /// Other devices of the host.
        pub host_devices: Vec<MachineDevice>,
    }

    /// A device of the host.
    pub struct MachineDevice {
        /// Name.
        pub name: Text,
        /// Resource.
        pub device_name: Text,
    }

    /// A volume.
    pub struct MachineVolume {
        /// Name.
        pub name: Text,
        /// A claim.
        pub persistent_volume_claim: super::pod::ClaimRef,
        /// A data volume.
        pub data_volume: super::pod::Named,
        /// A container image.
        pub container_disk: Present,
        /// An empty disk that is lost.
        pub ephemeral: Present,
    }

    /// `status` of an instance.
    pub struct InstanceStatus {
        /// Phase.
        pub phase: Text,
        /// Node.
        pub node_name: Text,
        /// Conditions, `LiveMigratable` among them.
        pub conditions: Vec<Condition>,
        /// `BlockMigration` or `LiveMigration`.
        pub migration_method: Text,
        /// Node that it is to leave; set by an eviction.
        pub evacuation_node_name: Text,
    }

    /// `spec` of an installation.
    pub struct KubeVirtSpec {
        /// Its settings.
        pub configuration: KubeVirtConfiguration,
        /// How it is updated.
        pub workload_update_strategy: Present,
    }

    /// Settings.
    pub struct KubeVirtConfiguration {
        /// Default model of the processor.
        pub cpu_model: Text,
        /// Default eviction strategy.
        pub eviction_strategy: Text,
        /// Gates.
        pub developer_configuration: DeveloperConfiguration,
        /// Devices that may be passed through.
        pub permitted_host_devices: PermittedHostDevices,
    }

    /// Gates.
    pub struct DeveloperConfiguration {
        /// Names.
        pub feature_gates: Vec<Text>,
    }

    /// Devices that may be passed through.
    pub struct PermittedHostDevices {
        /// PCI devices.
        pub pci_host_devices: Vec<PermittedDevice>,
        /// Mediated devices.
        pub mediated_devices: Vec<PermittedDevice>,
    }

    /// A device that may be passed through.
    pub struct PermittedDevice {
        /// Vendor and device.
        pub pci_vendor_selector: Text,
        /// Name of a mediated type.
        pub mdev_name_selector: Text,
        /// Resource.
        pub resource_name: Text,
        /// Whether another device plugin serves it.
        pub external_resource_provider: Truth,
    }
}

impl InstanceSpec {
    /// Resources of the devices that are served by device plugins, one a device.
    pub fn device_names(&self) -> impl Iterator<Item = &Text> {
        let devices = &self.domain.devices;
        devices
            .gpus
            .iter()
            .chain(&devices.host_devices)
            .map(|device| &device.device_name)
            .filter(|name| !name.is_empty())
    }

    /// Claims on persistent volumes; a data volume's claim has its name.
    pub fn claim_names(&self) -> impl Iterator<Item = &Text> {
        self.volumes
            .iter()
            .flat_map(|volume| {
                [
                    &volume.persistent_volume_claim.claim_name,
                    &volume.data_volume.name,
                ]
            })
            .filter(|name| !name.is_empty())
    }
}

impl VirtualMachineInstance {
    /// True while the guest runs.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.status.phase == "Running"
    }

    /// True where KubeVirt says that it can be migrated; false where it says nothing.
    #[must_use]
    pub fn is_migratable(&self) -> bool {
        self.live_migratable() == Some("True")
    }

    /// True where KubeVirt says that it can't be migrated; false where it says nothing.
    #[must_use]
    pub fn is_pinned(&self) -> bool {
        self.live_migratable() == Some("False")
    }

    fn live_migratable(&self) -> Option<&str> {
        let mut conditions = self.status.conditions.iter();
        let found = conditions.find(|condition| condition.kind == "LiveMigratable")?;
        Some(found.status.as_str())
    }
}

impl Record for VirtualMachine {}
impl Record for VirtualMachineInstance {}
impl Record for KubeVirt {}
