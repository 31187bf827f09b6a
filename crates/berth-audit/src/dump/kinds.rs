//! The list of kinds that are read: a record type, its wire name, and how it is stored.
//!
//! Adding a kind is one file in `kind/` and one line here. A kind that is not listed is counted as
//! unread and nothing of it is kept; that is how Secrets are treated.

use serde::de::DeserializeOwned;

use super::kind::*;
use super::place::Place;
use super::{Dump, Object, Record, Table};

/// What the reader knows of a kind.
#[derive(Debug)]
pub struct KindSpec {
    /// The kind.
    pub kind: Kind,
    /// API group; empty for the core group. Any version is read.
    pub group: &'static str,
    /// Name as objects write it.
    pub name: &'static str,
    variant: &'static str,
    /// Plural as paths and custom resource definitions write it.
    pub plural: &'static str,
    pub(crate) json: fn(&mut Dump, &[u8], Place) -> Result<usize, Refused>,
    pub(crate) settle: fn(&mut super::kinds::Objects),
    pub(crate) count: fn(&Objects) -> usize,
    pub(crate) meta: for<'a> fn(&'a Objects, &str, &str) -> Option<&'a super::meta::Meta>,
    /// Whether objects were read and none has a namespace.
    pub(crate) is_of_cluster: fn(&Objects) -> bool,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $field:ident: $record:ty => $variant:ident $group:literal $name:literal $plural:literal;)*) => {
        /// A kind that rules can read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $variant,)*
        }

        /// Tables by kind.
        #[derive(Debug, Default)]
        pub struct Objects {
            $($(#[$doc])* pub $field: Table<$record>,)*
        }

        /// Every kind that is read, in the order of [`Kind`].
        pub const KINDS: &[KindSpec] = &[$(KindSpec {
            kind: Kind::$variant,
            group: $group,
            name: $name,
            variant: stringify!($variant),
            plural: $plural,
            json: |dump, bytes, place| {
                let (record, n_bytes) = from_json::<$record>(bytes)?;
                keep(dump, record, place, Kind::$variant, |objects| &mut objects.$field)?;
                Ok(n_bytes)
            },
            settle: |objects| objects.$field.settle(),
            count: |objects| objects.$field.len(),
            meta: |objects, namespace, name| objects.$field.get(namespace, name).map(|row| row.meta()),
            is_of_cluster: |objects| {
                let mut rows = objects.$field.iter().peekable();
                rows.peek().is_some() && rows.all(|row| row.meta().namespace.is_empty())
            },
        },)*];
    };
}

kinds! {
    /// Nodes.
    nodes: node::Node => Node "" "Node" "nodes";
    /// Namespaces.
    namespaces: namespace::Namespace => Namespace "" "Namespace" "namespaces";
    /// Pods.
    pods: pod::Pod => Pod "" "Pod" "pods";
    /// Events of the core group.
    events: event::Event => Event "" "Event" "events";
    /// Services.
    services: service::Service => Service "" "Service" "services";
    /// ConfigMaps that rules read; the values of others are not kept.
    config_maps: config_map::ConfigMap => ConfigMap "" "ConfigMap" "configmaps";
    /// DaemonSets.
    daemon_sets: workload::DaemonSet => DaemonSet "apps" "DaemonSet" "daemonsets";
    /// Deployments.
    deployments: workload::Deployment => Deployment "apps" "Deployment" "deployments";
    /// StatefulSets.
    stateful_sets: workload::StatefulSet => StatefulSet "apps" "StatefulSet" "statefulsets";
    /// Jobs.
    jobs: workload::Job => Job "batch" "Job" "jobs";
    /// CronJobs.
    cron_jobs: workload::CronJob => CronJob "batch" "CronJob" "cronjobs";
    /// Pod disruption budgets.
    disruption_budgets: workload::DisruptionBudget => PodDisruptionBudget "policy" "PodDisruptionBudget" "poddisruptionbudgets";
    /// Resource quotas.
    resource_quotas: quota::ResourceQuota => ResourceQuota "" "ResourceQuota" "resourcequotas";
    /// Limit ranges.
    limit_ranges: quota::LimitRange => LimitRange "" "LimitRange" "limitranges";
    /// Priority classes.
    priority_classes: quota::PriorityClass => PriorityClass "scheduling.k8s.io" "PriorityClass" "priorityclasses";
    /// Leases.
    leases: lease::Lease => Lease "coordination.k8s.io" "Lease" "leases";
    /// Runtime classes.
    runtime_classes: node::RuntimeClass => RuntimeClass "node.k8s.io" "RuntimeClass" "runtimeclasses";
    /// Persistent volumes.
    volumes: storage::PersistentVolume => PersistentVolume "" "PersistentVolume" "persistentvolumes";
    /// Persistent volume claims.
    claims: storage::PersistentVolumeClaim => PersistentVolumeClaim "" "PersistentVolumeClaim" "persistentvolumeclaims";
    /// Storage classes.
    storage_classes: storage::StorageClass => StorageClass "storage.k8s.io" "StorageClass" "storageclasses";
    /// Attachments of volumes to nodes.
    volume_attachments: storage::VolumeAttachment => VolumeAttachment "storage.k8s.io" "VolumeAttachment" "volumeattachments";
    /// Validating webhooks.
    validating_webhooks: webhook::WebhookConfiguration => ValidatingWebhookConfiguration "admissionregistration.k8s.io" "ValidatingWebhookConfiguration" "validatingwebhookconfigurations";
    /// Mutating webhooks.
    mutating_webhooks: webhook::WebhookConfiguration => MutatingWebhookConfiguration "admissionregistration.k8s.io" "MutatingWebhookConfiguration" "mutatingwebhookconfigurations";
    /// Cluster roles.
    cluster_roles: rbac::ClusterRole => ClusterRole "rbac.authorization.k8s.io" "ClusterRole" "clusterroles";
    /// Bindings of cluster roles.
    cluster_role_bindings: rbac::ClusterRoleBinding => ClusterRoleBinding "rbac.authorization.k8s.io" "ClusterRoleBinding" "clusterrolebindings";
    /// Custom resource definitions.
    resource_definitions: definition::ResourceDefinition => CustomResourceDefinition "apiextensions.k8s.io" "CustomResourceDefinition" "customresourcedefinitions";
    /// DRA claims.
    resource_claims: dra::ResourceClaim => ResourceClaim "resource.k8s.io" "ResourceClaim" "resourceclaims";
    /// DRA devices.
    resource_slices: dra::ResourceSlice => ResourceSlice "resource.k8s.io" "ResourceSlice" "resourceslices";
    /// Calico address pools.
    ip_pools: calico::IpPool => IpPool "crd.projectcalico.org" "IPPool" "ippools";
    /// Calico address blocks.
    ipam_blocks: calico::IpamBlock => IpamBlock "crd.projectcalico.org" "IPAMBlock" "ipamblocks";
    /// Calico claims of nodes on blocks.
    block_affinities: calico::BlockAffinity => BlockAffinity "crd.projectcalico.org" "BlockAffinity" "blockaffinities";
    /// Calico handles of allocations.
    ipam_handles: calico::IpamHandle => IpamHandle "crd.projectcalico.org" "IPAMHandle" "ipamhandles";
    /// Calico IPAM settings.
    ipam_configs: calico::IpamConfig => IpamConfig "crd.projectcalico.org" "IPAMConfig" "ipamconfigs";
    /// Calico Felix settings.
    felix_configurations: calico::FelixConfiguration => FelixConfiguration "crd.projectcalico.org" "FelixConfiguration" "felixconfigurations";
    /// Longhorn volumes.
    longhorn_volumes: longhorn::Volume => LonghornVolume "longhorn.io" "Volume" "volumes";
    /// Longhorn replicas.
    longhorn_replicas: longhorn::Replica => LonghornReplica "longhorn.io" "Replica" "replicas";
    /// Longhorn nodes.
    longhorn_nodes: longhorn::Node => LonghornNode "longhorn.io" "Node" "nodes";
    /// Longhorn settings.
    longhorn_settings: longhorn::Setting => LonghornSetting "longhorn.io" "Setting" "settings";
    /// Ceph clusters of Rook.
    ceph_clusters: ceph::CephCluster => CephCluster "ceph.rook.io" "CephCluster" "cephclusters";
    /// Ceph block pools of Rook.
    ceph_block_pools: ceph::CephBlockPool => CephBlockPool "ceph.rook.io" "CephBlockPool" "cephblockpools";
    /// Kueue cluster queues.
    cluster_queues: kueue::ClusterQueue => ClusterQueue "kueue.x-k8s.io" "ClusterQueue" "clusterqueues";
    /// Kueue local queues.
    local_queues: kueue::LocalQueue => LocalQueue "kueue.x-k8s.io" "LocalQueue" "localqueues";
    /// Kueue resource flavours.
    resource_flavors: kueue::ResourceFlavor => ResourceFlavor "kueue.x-k8s.io" "ResourceFlavor" "resourceflavors";
    /// Volcano queues.
    volcano_queues: volcano::Queue => VolcanoQueue "scheduling.volcano.sh" "Queue" "queues";
    /// Volcano pod groups.
    volcano_pod_groups: volcano::PodGroup => VolcanoPodGroup "scheduling.volcano.sh" "PodGroup" "podgroups";
    /// KubeVirt virtual machines.
    virtual_machines: kubevirt::VirtualMachine => VirtualMachine "kubevirt.io" "VirtualMachine" "virtualmachines";
    /// KubeVirt running instances.
    vm_instances: kubevirt::VirtualMachineInstance => VirtualMachineInstance "kubevirt.io" "VirtualMachineInstance" "virtualmachineinstances";
    /// KubeVirt installations.
    kubevirts: kubevirt::KubeVirt => KubeVirt "kubevirt.io" "KubeVirt" "kubevirts";
    /// GPU operator policies.
    cluster_policies: gpu_operator::ClusterPolicy => ClusterPolicy "nvidia.com" "ClusterPolicy" "clusterpolicies";
    /// Kubeflow profiles.
    profiles: kubeflow::Profile => Profile "kubeflow.org" "Profile" "profiles";
    /// Kubeflow notebooks.
    notebooks: kubeflow::Notebook => Notebook "kubeflow.org" "Notebook" "notebooks";
}

impl Kind {
    /// What the reader knows of it.
    #[must_use]
    pub fn spec(self) -> &'static KindSpec {
        &KINDS[self as usize]
    }

    /// Its name in findings: as objects write it, or with the project in front where two have one name.
    #[must_use]
    pub fn title(self) -> &'static str {
        let spec = self.spec();
        match spec.group {
            "longhorn.io" | "scheduling.volcano.sh" => spec.variant,
            _ => spec.name,
        }
    }

    /// The kind that an object with this `apiVersion` and `kind` is of.
    #[must_use]
    pub fn of(api_version: &str, name: &str) -> Option<Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        // Old clusters serve workloads in groups that are gone today, and Calico has two groups.
        let group = match (group, name) {
            ("extensions", "DaemonSet" | "Deployment") => "apps",
            ("projectcalico.org", _) => "crd.projectcalico.org",
            (group, _) => group,
        };
        let matches = |spec: &&KindSpec| spec.name == name && spec.group == group;
        KINDS.iter().find(matches).map(|spec| spec.kind)
    }

    /// The kind of the items of a list `PodList` that do not name their own.
    #[must_use]
    pub fn of_list(api_version: &str, list: &str) -> Option<Self> {
        Self::of(api_version, list.strip_suffix("List")?)
    }
}

/// The annotation `key` of an object by its kind as findings write it.
pub(crate) fn annotation<'a>(
    dump: &'a Dump,
    kind: &str,
    namespace: &str,
    name: &str,
    key: &str,
) -> Option<&'a str> {
    let spec = KINDS.iter().find(|spec| spec.kind.title() == kind)?;
    (spec.meta)(&dump.objects, namespace, name)?.annotation(key)
}

/// Why an object was not kept.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The bytes end before the object does.
    Unfinished,
    /// It is not what its kind says.
    Wrong(String),
}

/// The object at the start of `bytes`, and where it ends.
fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, usize), Refused> {
    let mut stream = serde_json::Deserializer::from_slice(bytes).into_iter::<T>();
    match stream.next() {
        Some(Ok(record)) => Ok((record, stream.byte_offset())),
        Some(Err(error)) if !error.is_eof() => Err(Refused::Wrong(error.to_string())),
        _ => Err(Refused::Unfinished),
    }
}

fn keep<T: Record>(
    dump: &mut Dump,
    mut record: T,
    place: Place,
    kind: Kind,
    table: fn(&mut Objects) -> &mut Table<T>,
) -> Result<(), Refused> {
    if record.meta().name.is_empty() {
        return Err(Refused::Wrong("the object has no name".to_owned()));
    }
    record.redact();
    let newest = record
        .newest()
        .max(record.meta().created.map(|created| created.0));
    let meta = record.meta_mut();
    meta.place = place;
    meta.kind = kind.title();
    dump.saw(newest);
    table(&mut dump.objects).push(record);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_kinds_is_in_the_order_of_its_enum_and_says_each_once() {
        for (index, spec) in KINDS.iter().enumerate() {
            assert_eq!(spec.kind as usize, index);
            assert_eq!(
                Kind::of(&format!("{}/v1", spec.group), spec.name),
                Some(spec.kind)
            );
        }
    }

    #[test]
    fn secrets_are_of_no_kind() {
        assert_eq!(Kind::of("v1", "Secret"), None);
    }
}
