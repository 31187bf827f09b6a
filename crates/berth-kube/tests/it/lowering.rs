//! What becomes of objects on their way to the core.

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::filter::facts::resources::Resources;
use berth_kube::lower;
use k8s_openapi::api::core::v1 as api;
use serde_json::{Value, json};

fn pod(spec: &Value) -> api::Pod {
    let pod = json!({"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": spec});
    serde_json::from_value(pod).expect("a pod of the right shape")
}

fn requests(spec: &Value) -> Resources {
    let facts = lower::pod(&pod(spec)).expect("a pod that the API lets in");
    facts.template.requests.clone()
}

fn container(name: &str, cpu: &str) -> Value {
    json!({"name": name, "resources": {"requests": {"cpu": cpu}}})
}

fn sidecar(name: &str, cpu: &str) -> Value {
    let mut container = container(name, cpu);
    container["restartPolicy"] = json!("Always");
    container
}

#[test]
fn requests_cover_the_widest_moment_of_a_pod() {
    let check = |spec: Value, milli: i64| {
        assert_eq!(requests(&spec).cpu, MilliCpu(milli), "{spec}");
    };
    let one = || json!([container("c", "1")]);
    check(
        json!({"containers": [container("c", "1"), container("d", "500m")]}),
        1500,
    );
    check(
        json!({"containers": one(), "initContainers": [container("i", "3")]}),
        3000,
    );
    check(
        json!({"containers": one(), "initContainers": [sidecar("s", "2")]}),
        3000,
    );
    // An init container runs beside the sidecars before it, not after it.
    let before = json!([sidecar("s", "2"), container("i", "2")]);
    check(json!({"containers": one(), "initContainers": before}), 4000);
    let after = json!([container("i", "2"), sidecar("s", "2")]);
    check(json!({"containers": one(), "initContainers": after}), 3000);
    check(
        json!({"containers": one(), "overhead": {"cpu": "250m"}}),
        1250,
    );
    // Pod-level requests take the place of the containers', and overhead comes on top.
    let of_pod = json!({"requests": {"cpu": "500m"}});
    check(
        json!({"containers": one(), "resources": of_pod, "overhead": {"cpu": "1"}}),
        1500,
    );
    // Two thirds of a thousandth are rounded after they are added.
    check(
        json!({"containers": [container("c", "400u"), container("d", "400u")]}),
        1,
    );
}

#[test]
fn only_resources_that_a_scheduler_counts_are_kept() {
    let list = json!({
        "memory": "1Gi", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi", "odd": "1",
        "requests.x/y": "1", "pods": "1", "example.com/a b": "1",
    });
    let spec = json!({"containers": [{"name": "c", "resources": {"requests": list}}]});
    let requests = requests(&spec);
    assert_eq!(requests.memory, Bytes::from_gib(1));
    let names: Vec<&str> = requests
        .scalars
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["hugepages-2Mi", "nvidia.com/gpu"]);
}

#[test]
fn a_malformed_object_is_refused_with_the_path_of_the_field() {
    let check = |spec: Value, path: &str| {
        let error = lower::pod(&pod(&spec)).unwrap_err().to_string();
        assert!(error.contains(path), "{error}");
    };
    let bad = container("c", "12 apples");
    check(
        json!({"containers": [bad]}),
        "spec.containers[c].resources.requests.cpu: `12 apples`",
    );
    check(
        json!({"containers": [], "overhead": {"memory": "1KiB"}}),
        "spec.overhead.memory",
    );
    let port = json!([{"containerPort": 1, "hostPort": 1, "protocol": "QUIC"}]);
    let path = "spec.containers[].ports[].protocol: `QUIC` is unknown";
    check(json!({"containers": [{"name": "c", "ports": port}]}), path);
    let term = json!([{"topologyKey": "k", "labelSelector": {"matchLabels": {"bad key": "v"}}}]);
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": term});
    let affinity = json!({"podAffinity": required});
    check(
        json!({"containers": [], "affinity": affinity}),
        "spec.affinity.podAffinity.labelSelector",
    );
    let node: api::Node = serde_json::from_value(json!({"metadata": {}})).unwrap();
    assert_eq!(
        lower::node(&node).unwrap_err().to_string(),
        "metadata.name is missing"
    );
}

#[test]
fn amounts_beyond_every_machine_saturate() {
    let spec = json!({"containers": [
        {"name": "c", "resources": {"requests": {"memory": "9223372036854775807"}}},
        {"name": "d", "resources": {"requests": {"memory": "16Ei", "cpu": "1e30"}}},
    ]});
    let requests = requests(&spec);
    assert_eq!((requests.memory, requests.cpu), (Bytes::MAX, MilliCpu::MAX));
}

#[test]
fn a_resize_in_progress_counts_with_the_larger_of_what_is_asked_and_what_is_held() {
    let held = |reason: Option<&str>| {
        let mut pod = pod(&json!({"containers": [container("c", "1")]}));
        let conditions = reason.map(
            |reason| json!([{"type": "PodResizePending", "status": "True", "reason": reason}]),
        );
        let status = json!({
            "containerStatuses": [{
                "name": "c", "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
                "allocatedResources": {"cpu": "500m"},
            }],
            "conditions": conditions.unwrap_or_else(|| json!([])),
        });
        pod.status = serde_json::from_value(status).unwrap();
        lower::pod(&pod).unwrap().held().cpu
    };
    assert_eq!(held(None), MilliCpu(1000));
    assert_eq!(held(Some("Deferred")), MilliCpu(1000));
    assert_eq!(held(Some("Infeasible")), MilliCpu(500));
}
