//! Device claims.

use anyhow::ensure;
use serde_json::{Value, json};

use super::case::{Case, Cx};
use super::object::{pod, pods, with};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a claim that no device meets says so and disturbs nobody",
        run: no_device,
    },
    Case {
        name: "pods with claims go where the devices are, and no device is given twice",
        run: one_device_each,
    },
    Case {
        name: "claims made from templates get devices of their own",
        run: templates,
    },
];

const CLASSES: &str = "/apis/resource.k8s.io/v1/deviceclasses";
const SLICES: &str = "/apis/resource.k8s.io/v1/resourceslices";
const CLAIMS: &str = "resource.k8s.io/v1:resourceclaims";
const TEMPLATES: &str = "resource.k8s.io/v1:resourceclaimtemplates";
/// The node that has the devices, and how many.
const NODE: &str = "fake-00003";
const N_DEVICES: usize = 3;

/// Makes a class whose devices are on one node, and returns its name.
fn make_devices(cx: &mut Cx<'_>) -> anyhow::Result<String> {
    let driver = cx.unique("devices.example.com");
    let class = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": driver},
        "spec": {"selectors": [
            {"cel": {"expression": format!("device.driver == '{driver}'")}},
        ]},
    });
    cx.make_global(CLASSES, &class)?;
    let devices = (0..N_DEVICES).map(|index| json!({"name": format!("device-{index}")}));
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": cx.unique("slice")},
        "spec": {
            "driver": driver,
            "nodeName": NODE,
            "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
            "devices": devices.collect::<Vec<_>>(),
        },
    });
    cx.make_global(SLICES, &slice)?;
    Ok(driver)
}

fn asks_for_one(class: &str) -> Value {
    json!({"devices": {"requests": [
        {"name": "one", "exactly": {"deviceClassName": class}},
    ]}})
}

/// The devices that the claims of the case have, each as often as it was given.
fn given(cx: &Cx<'_>) -> anyhow::Result<Vec<String>> {
    let claims = cx.world.api.list(&cx.path(CLAIMS))?;
    let results = claims.iter().flat_map(|claim| {
        let results = &claim["status"]["allocation"]["devices"]["results"];
        results.as_array().into_iter().flatten()
    });
    let mut devices: Vec<String> = results
        .map(|result| result["device"].as_str().unwrap_or_default().to_owned())
        .collect();
    devices.sort_unstable();
    Ok(devices)
}

fn one_device_each(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class = make_devices(cx)?;
    let mut users = Vec::new();
    for index in 0..5 {
        let name = format!("claim-{index}");
        let claim = json!({"metadata": {"name": name}, "spec": asks_for_one(&class)});
        cx.make(CLAIMS, &claim)?;
        let claims = json!({"spec": {"resourceClaims": [
            {"name": "device", "resourceClaimName": name},
        ]}});
        users.push(with(pod(&format!("user-{index}"), 0), &claims));
    }
    cx.pods(&users)?;
    check_devices(cx)
}

fn templates(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class = make_devices(cx)?;
    let template = json!({
        "metadata": {"name": "template"},
        "spec": {"spec": asks_for_one(&class)},
    });
    cx.make(TEMPLATES, &template)?;
    let claims = json!({"spec": {"resourceClaims": [
        {"name": "device", "resourceClaimTemplateName": "template"},
    ]}});
    cx.pods(&pods("user", 5, 0, &claims))?;
    check_devices(cx)
}

/// Of five users three have a device; when one goes, another has its device.
fn check_devices(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let all = ["device-0", "device-1", "device-2"];
    cx.until("three pods with a device, and two waiting", |seen| {
        seen.nodes("user") == [NODE; N_DEVICES] && seen.n_waiting("user", "Unschedulable") == 2
    })?;
    let devices = given(cx)?;
    ensure!(devices == all, "expected {all:?} given, seen {devices:?}");
    let first = cx.look(|seen| seen.names_bound("user"));
    cx.delete(&cx.path(&format!("pods/{}", first[0])))?;
    cx.until("another in the place of one that went", |seen| {
        seen.n_bound("user") == N_DEVICES && !seen.has(&first[0])
    })?;
    let devices = given(cx)?;
    ensure!(devices == all, "expected {all:?} given, seen {devices:?}");
    Ok(())
}

fn no_device(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": cx.unique("none.example.com")},
        "spec": {},
    });
    let name = cx.unique("none.example.com");
    cx.make_global(CLASSES, &class)?;
    let claim = json!({
        "metadata": {"name": "device"},
        "spec": {"devices": {"requests": [
            {"name": "one", "exactly": {"deviceClassName": name}},
        ]}},
    });
    cx.make(CLAIMS, &claim)?;
    let claims = json!({"spec": {"resourceClaims": [
        {"name": "device", "resourceClaimName": "device"},
    ]}});
    cx.pod(&with(pod("user", 0), &claims))?;
    cx.until("the pod told to wait", |seen| {
        seen.n_waiting("user", "Unschedulable") == 1
    })?;
    cx.settle()
}
