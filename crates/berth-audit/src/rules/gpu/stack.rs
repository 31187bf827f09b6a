//! What several GPU rules need: who serves a node's GPUs, and names of GPU resources.
//!
//! Not here: rules.

use std::collections::BTreeMap;

use crate::dump::kind::node::Node;
use crate::dump::kind::pod::{Container, Pod};
use crate::dump::text::Text;
use crate::rule::prelude::*;

/// A program that offers the GPUs of a node to the kubelet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rules) enum Plugin {
    /// NVIDIA's device plugin.
    Nvidia,
    /// HAMi's device plugin.
    Hami,
    /// Volcano's vGPU device plugin.
    Volcano,
}

/// A pod that offers GPUs, and its container that does.
#[derive(Debug, Clone, Copy)]
pub(in crate::rules) struct Server<'a> {
    pub(in crate::rules) plugin: Plugin,
    pub(in crate::rules) pod: &'a Pod,
    pub(in crate::rules) container: &'a Container,
}

impl Plugin {
    /// Its name for people.
    pub(in crate::rules) const fn title(self) -> &'static str {
        match self {
            Self::Nvidia => "NVIDIA's device plugin",
            Self::Hami => "HAMi's device plugin",
            Self::Volcano => "Volcano's vGPU device plugin",
        }
    }

    /// The plugin that a container runs. The images hold further programs (feature discovery, the MPS
    /// daemon, HAMi's scheduler), so the container's name or command decides.
    fn of(container: &Container) -> Option<Self> {
        let image = container.image.as_str();
        if image.contains("volcano-vgpu-device-plugin") {
            return Some(Self::Volcano);
        }
        let name = image.rsplit('/').next().unwrap_or_default();
        if name.starts_with("hami") {
            let is_plugin = container.name == "device-plugin"
                || container
                    .command
                    .iter()
                    .any(|word| word.ends_with("nvidia-device-plugin"));
            return is_plugin.then_some(Self::Hami);
        }
        let is_nvidia = image.contains("k8s-device-plugin")
            && container.name.starts_with("nvidia-device-plugin");
        is_nvidia.then_some(Self::Nvidia)
    }
}

impl Server<'_> {
    /// The workload that the pod belongs to, or the pod itself.
    pub(in crate::rules) fn owner(&self) -> Subject {
        owner(self.pod)
    }
}

/// The workload that a pod belongs to, or the pod itself.
pub(in crate::rules) fn owner(pod: &Pod) -> Subject {
    match pod.meta().owners.first() {
        Some(owner) => Subject::new(&owner.kind, &pod.meta().namespace, &owner.name),
        None => pod.meta().into(),
    }
}

/// Device plugins by node, those that run and are not about to end.
pub(in crate::rules) fn servers<'a>(cx: &Cx<'a>) -> BTreeMap<&'a str, Vec<Server<'a>>> {
    let mut by_node = BTreeMap::<_, Vec<_>>::new();
    for pod in &cx.dump.objects.pods {
        if pod.status.phase != "Running" || pod.meta().deleted.is_some() {
            continue;
        }
        for container in &pod.spec.containers {
            if let Some(plugin) = Plugin::of(container) {
                by_node
                    .entry(pod.spec.node_name.as_str())
                    .or_default()
                    .push(Server {
                        plugin,
                        pod,
                        container,
                    });
            }
        }
    }
    by_node
}

/// Replicas of each card by the label of feature discovery; 1 where cards are not shared.
pub(in crate::rules) fn replicas(node: &Node) -> i64 {
    label_number(node, "nvidia.com/gpu.replicas").unwrap_or(1)
}

/// A label that holds a number.
pub(in crate::rules) fn label_number(node: &Node, key: &str) -> Option<i64> {
    node.meta().label(key).parse().ok()
}

/// `major.minor.patch` of an image's tag `v0.17.1-ubi9`; `None` for digests and branches.
pub(in crate::rules) fn version(image: &str) -> Option<(u32, u32, u32)> {
    let image = image.split('@').next().unwrap_or_default();
    let tag = image.rsplit('/').next()?.split_once(':')?.1;
    let tag = tag.strip_prefix('v').unwrap_or(tag);
    let number = tag.split(['-', '+']).next()?;
    let mut parts = number.split('.').map(|part| part.parse().ok());
    let (major, minor) = (parts.next()??, parts.next()??);
    Some((major, minor, parts.next().flatten().unwrap_or(0)))
}

/// Whether a resource is a way to hold a GPU or a part of one, as nodes offer it.
pub(in crate::rules) fn is_gpu(resource: &str) -> bool {
    let Some((domain, name)) = resource.split_once('/') else {
        return false;
    };
    match domain {
        "nvidia.com" => {
            name == "gpu"
                || name == "gpu.shared"
                || name.starts_with("mig-")
                || name.starts_with("GRID_")
                || name.starts_with("NVIDIA_")
        }
        "amd.com" | "hami.io" => name == "gpu",
        "volcano.sh" => name == "vgpu-number",
        _ => false,
    }
}

/// GPU resources that a pod asks for, with the units.
pub(in crate::rules) fn gpu_requests(pod: &Pod) -> BTreeMap<&str, i64> {
    let names = pod.spec.all_containers().flat_map(|container| {
        let resources = &container.resources;
        resources.requests.iter().chain(resources.limits.iter())
    });
    names
        .map(|(name, _): (&Text, _)| name.as_str())
        .filter(|name| is_gpu(name))
        .map(|name| (name, pod.spec.request(name).units()))
        .filter(|(_, n_units)| *n_units > 0)
        .collect()
}

/// True for a pod that waits for a node.
pub(in crate::rules) fn is_waiting(pod: &Pod) -> bool {
    pod.spec.node_name.is_empty()
        && (pod.status.phase == "Pending" || pod.status.phase.is_empty())
        && pod.meta().deleted.is_none()
}

/// Units of a resource that pods on a node hold.
pub(in crate::rules) fn held_on(cx: &Cx<'_>, node: &str, resource: &str) -> i64 {
    cx.pods_on(node)
        .iter()
        .map(|pod| pod.spec.request(resource).units())
        .fold(0, i64::saturating_add)
}
