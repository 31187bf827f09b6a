//! Volumes: where they are, there the pod goes, and the other way round.

use serde_json::{Value, json};

use super::case::{Case, Cx};
use super::object::{on_node, pod, pods, with};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a volume of one node takes its pod there and is bound to it",
        run: local_volume,
    },
    Case {
        name: "pods that want one volume each do not get the same",
        run: one_volume_each,
    },
    Case {
        name: "a claim for which there is no volume says so, and starts when one comes",
        run: no_volume,
    },
];

const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const VOLUMES: &str = "/api/v1/persistentvolumes";

fn class(name: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    })
}

fn volume(name: &str, class: &str, node: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/mnt/disk"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{
                "key": "kubernetes.io/hostname", "operator": "In", "values": [node],
            }]}]}},
        },
    })
}

fn claim(name: &str, class: &str) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "resources": {"requests": {"storage": "5Gi"}},
        },
    })
}

fn with_claim(claim: &str) -> Value {
    json!({"spec": {"volumes": [
        {"name": "data", "persistentVolumeClaim": {"claimName": claim}},
    ]}})
}

fn local_volume(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class_name = cx.unique("local");
    cx.make_global(CLASSES, &class(&class_name))?;
    let volume_name = cx.unique("disk");
    cx.make_global(VOLUMES, &volume(&volume_name, &class_name, "fake-00013"))?;
    cx.make("persistentvolumeclaims", &claim("data", &class_name))?;
    cx.pod(&with(pod("user", 1), &with_claim("data")))?;
    cx.until("the pod beside its volume", |seen| {
        seen.node("user") == Some("fake-00013")
    })?;
    let path = cx.path("persistentvolumeclaims/data");
    cx.until_api("the claim bound to the volume", &path, |claim| {
        claim["status"]["phase"] == "Bound" && claim["spec"]["volumeName"] == *volume_name
    })?;
    // Bound now, the claim alone keeps its pods to that node.
    cx.pod(&with(pod("second", 1), &with_claim("data")))?;
    let elsewhere = with(with_claim("data"), &on_node("fake-00014"));
    cx.pod(&with(pod("elsewhere", 1), &elsewhere))?;
    cx.until("a second pod there too, and none elsewhere", |seen| {
        seen.node("second") == Some("fake-00013")
            && seen.n_waiting("elsewhere", "Unschedulable") == 1
    })
}

fn one_volume_each(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class_name = cx.unique("local");
    cx.make_global(CLASSES, &class(&class_name))?;
    for index in 0..4 {
        let volume_name = cx.unique(&format!("disk-{index}"));
        let node = format!("fake-0001{index}");
        cx.make_global(VOLUMES, &volume(&volume_name, &class_name, &node))?;
    }
    let mut users = Vec::new();
    for index in 0..4 {
        let claim_name = format!("data-{index}");
        cx.make("persistentvolumeclaims", &claim(&claim_name, &class_name))?;
        let more = with_claim(&claim_name);
        users.push(with(pod(&format!("user-{index}"), 1), &more));
    }
    cx.pods(&users)?;
    cx.until("four pods on the four nodes with volumes", |seen| {
        let mut nodes = seen.nodes("user");
        nodes.sort_unstable();
        nodes == ["fake-00010", "fake-00011", "fake-00012", "fake-00013"]
    })?;
    let path = cx.path("persistentvolumeclaims");
    cx.until_api("four claims bound", &path, |claims| {
        let claims = claims["items"].as_array().into_iter().flatten();
        claims
            .filter(|one| one["status"]["phase"] == "Bound")
            .count()
            == 4
    })
}

fn no_volume(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class_name = cx.unique("local");
    cx.make_global(CLASSES, &class(&class_name))?;
    cx.make("persistentvolumeclaims", &claim("data", &class_name))?;
    cx.pods(&pods("user", 1, 1, &with_claim("data")))?;
    cx.pods(&pods("lost", 1, 1, &with_claim("no-such-claim")))?;
    cx.until("both told to wait", |seen| {
        seen.n_waiting("user", "Unschedulable") == 1 && seen.n_waiting("lost", "Unschedulable") == 1
    })?;
    let volume_name = cx.unique("disk");
    cx.make_global(VOLUMES, &volume(&volume_name, &class_name, "fake-00016"))?;
    cx.until("the pod beside the volume that came", |seen| {
        seen.n_bound("user") == 1 && seen.nodes("user") == ["fake-00016"]
    })
}
