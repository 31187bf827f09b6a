//! The API objects of a fake node, as a kubelet and a device driver would write them.
//!
//! Deliberately absent: talking to a server.

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::shape::FakeNode;

/// Name of the GPU's extended resource.
pub(crate) const GPU_RESOURCE: &str = "nvidia.com/gpu";
/// Name of the driver and of the device class that the slices are published under.
pub(crate) const GPU_DRIVER: &str = "gpu.nvidia.com";
/// Label that marks a node with no machine behind it.
const FAKE_LABEL: &str = "testbed.berth.dev/fake";
/// What `kubectl get nodes` shows; the testbed's API server has the same version.
const KUBELET_VERSION: &str = "v1.37.2";

/// How GPUs are offered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Offer {
    ExtendedResource,
    ResourceSlices,
}

pub(crate) fn node(node: &FakeNode<'_>, offer: Offer, now: Timestamp) -> Value {
    let resources = resources(node, offer);
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind,
            "status": status,
            "reason": reason,
            "message": "this node has no machine behind it",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": labels(node)},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "addresses": [{"type": "Hostname", "address": node.name}],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": node.name,
                "containerRuntimeVersion": "fake://0",
                "kernelVersion": "fake",
                "kubeProxyVersion": "",
                "kubeletVersion": KUBELET_VERSION,
                "machineID": node.name,
                "operatingSystem": "linux",
                "osImage": "fake",
                "systemUUID": node.name,
            },
        },
    })
}

pub(crate) fn lease(node: &str, seconds: u64, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node},
        "spec": {
            "holderIdentity": node,
            "leaseDurationSeconds": seconds,
            "renewTime": micro(now),
        },
    })
}

/// The part of a lease that a renewal changes.
pub(crate) fn renewal(now: Timestamp) -> Value {
    json!({"spec": {"renewTime": micro(now)}})
}

/// One slice holds all GPUs of a node.
pub(crate) fn slice(node: &FakeNode<'_>) -> Value {
    let devices: Vec<Value> = (0..node.shape.gpus)
        .map(|index| device(node, index))
        .collect();
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": format!("{}-{GPU_DRIVER}", node.name)},
        "spec": {
            "driver": GPU_DRIVER,
            "nodeName": node.name,
            "pool": {"name": node.name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    })
}

/// The class that claims name; it also stands for the extended resource, so both spellings work.
pub(crate) fn device_class() -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": GPU_DRIVER},
        "spec": {
            "selectors": [{"cel": {"expression": format!("device.driver == '{GPU_DRIVER}'")}}],
            "extendedResourceName": GPU_RESOURCE,
        },
    })
}

/// Attributes carry the names that NVIDIA's driver gives them, so that its selectors work here.
fn device(node: &FakeNode<'_>, index: u32) -> Value {
    let numa = if index < node.shape.gpus.div_ceil(2) {
        0
    } else {
        1
    };
    json!({
        "name": format!("gpu-{index}"),
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": format!("GPU-{}-{index}", node.name)},
            "productName": {"string": node.shape.gpu},
            "index": {"int": index},
            "resource.kubernetes.io/numaNode": {"int": numa},
        },
        "capacity": {"memory": {"value": node.shape.gpu_memory}},
    })
}

fn labels(node: &FakeNode<'_>) -> Value {
    let mut labels = Map::new();
    let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), value.into());
    set("kubernetes.io/hostname", &node.name);
    set("kubernetes.io/os", "linux");
    set("kubernetes.io/arch", "amd64");
    set("node.kubernetes.io/instance-type", &node.shape.name);
    set("topology.kubernetes.io/region", "testbed");
    set("topology.kubernetes.io/zone", &node.zone);
    set(FAKE_LABEL, "true");
    if node.shape.gpus > 0 {
        set("nvidia.com/gpu.present", "true");
        set("nvidia.com/gpu.count", &node.shape.gpus.to_string());
        set("nvidia.com/gpu.product", &node.shape.gpu);
    }
    for (key, value) in &node.shape.labels {
        set(key, value);
    }
    labels.into()
}

fn resources(node: &FakeNode<'_>, offer: Offer) -> Value {
    let shape = node.shape;
    let mut resources = json!({
        "cpu": shape.cpu,
        "memory": shape.memory,
        "ephemeral-storage": shape.ephemeral_storage,
        "pods": shape.pods.to_string(),
    });
    if offer == Offer::ExtendedResource && shape.gpus > 0 {
        resources[GPU_RESOURCE] = shape.gpus.to_string().into();
    }
    resources
}

/// Times of leases have exactly six digits behind the second.
fn micro(now: Timestamp) -> String {
    format!("{now:.6}")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::Node;
    use k8s_openapi::api::resource::v1::{DeviceClass, ResourceSlice};

    use super::*;
    use crate::shape;

    fn with_node<T>(use_it: impl FnOnce(&FakeNode<'_>) -> T) -> T {
        let shapes = shape::uniform(8);
        let nodes = shape::nodes(&shapes, 1).unwrap();
        use_it(&nodes[0])
    }

    #[test]
    fn objects_are_what_the_api_knows() {
        with_node(|fake| {
            let now = Timestamp::UNIX_EPOCH;
            let node: Node = from(node(fake, Offer::ExtendedResource, now));
            let allocatable = node.status.unwrap().allocatable.unwrap();
            assert_eq!(allocatable[GPU_RESOURCE].0, "8");
            let slice: ResourceSlice = from(slice(fake));
            assert_eq!(slice.spec.devices.unwrap().len(), 8);
            let lease: Lease = from(lease("n", 40, now));
            assert_eq!(lease.spec.unwrap().lease_duration_seconds, Some(40));
            let class: DeviceClass = from(device_class());
            assert_eq!(class.metadata.name.as_deref(), Some(GPU_DRIVER));
        });
    }

    #[test]
    fn gpus_are_offered_once() {
        with_node(|fake| {
            let node = node(fake, Offer::ResourceSlices, Timestamp::UNIX_EPOCH);
            assert!(node["status"]["allocatable"][GPU_RESOURCE].is_null());
        });
    }

    #[test]
    fn renewal_has_microseconds() {
        let renewal = renewal(Timestamp::UNIX_EPOCH);
        assert_eq!(renewal["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
    }

    fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }
}
