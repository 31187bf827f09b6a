//! Which pods hold GPUs, and which belong to the cluster itself.
//!
//! Not here: devices of DRA claims, whose number stands in other objects.

use std::collections::BTreeSet;

use crate::dump::kind::pod::PodSpec;
use crate::dump::meta::Meta;

/// Domains under which GPUs and their parts are resources.
const DOMAINS: [&str; 5] = [
    "nvidia.com/",
    "amd.com/gpu",
    "gpu.intel.com/",
    "habana.ai/",
    "huawei.com/Ascend",
];

/// Resources in these domains that are amounts of a card and no cards.
const PARTS: [&str; 3] = [
    "nvidia.com/gpumem",
    "nvidia.com/gpucores",
    "nvidia.com/priority",
];

/// True for resources that are GPUs, MIG devices, vGPUs or shares of one.
pub(in crate::rules) fn is_gpu(resource: &str) -> bool {
    DOMAINS.iter().any(|domain| resource.starts_with(domain))
        && !PARTS.iter().any(|part| resource.starts_with(part))
}

/// GPUs, or parts of GPUs, that a pod holds.
pub(in crate::rules) fn held(spec: &PodSpec) -> i64 {
    let names: BTreeSet<&str> = spec
        .all_containers()
        .flat_map(|container| {
            let resources = &container.resources;
            resources.requests.iter().chain(resources.limits.iter())
        })
        .map(|(name, _)| name.as_str())
        .filter(|name| is_gpu(name))
        .collect();
    let amounts = names.iter().map(|name| spec.request(name).units());
    amounts.fold(0, i64::saturating_add)
}

/// True for pods that belong to the cluster: of a DaemonSet or the kubelet, or in a namespace of the
/// system by its name.
pub(in crate::rules) fn is_of_system(pod: &Meta) -> bool {
    const PREFIXES: [&str; 10] = [
        "kube-",
        "openshift-",
        "gpu-operator",
        "nvidia-",
        "cattle-",
        "calico-",
        "longhorn",
        "rook-",
        "kubevirt",
        "tigera-",
    ];
    let namespace = pod.namespace.as_str();
    let mut owners = pod.owners.iter();
    namespace.ends_with("-system")
        || PREFIXES.iter().any(|prefix| namespace.starts_with(prefix))
        || owners.any(|owner| owner.kind == "DaemonSet" || owner.kind == "Node")
}
