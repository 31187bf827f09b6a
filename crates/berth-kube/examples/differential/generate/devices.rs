//! Features that are about devices.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::World;
use super::dice::Dice;

const DRIVER: &str = "gpu.example.com";

fn node_name(world: &World, index: usize) -> String {
    let name = world.nodes[index]["metadata"]["name"].as_str();
    name.expect("every node has a name").to_owned()
}

/// A device that differs from others in little.
fn device(dice: &mut Dice, name: &str) -> Value {
    let mut attributes = Map::new();
    if dice.chance(90) {
        attributes.insert("model".into(), json!({"string": dice.pick(&["a", "b"])}));
    }
    if dice.chance(80) {
        attributes.insert("numa".into(), json!({"int": dice.below(2)}));
    }
    if dice.chance(50) {
        let version = dice.pick(&["1.2.0", "1.10.0", "2.0.0-rc.1"]);
        attributes.insert("driver".into(), json!({"version": version}));
    }
    if dice.chance(40) {
        attributes.insert("example.org/link".into(), json!({"bool": dice.chance(50)}));
    }
    let mut device = json!({"name": name, "attributes": attributes});
    if dice.chance(96) {
        device["capacity"] = json!({"memory": {"value": dice.pick(&["8Gi", "16Gi", "24Gi"])}});
    }
    if dice.chance(12) {
        device["taints"] = json!([{
            "key": dice.pick(&["sick", "spare"]),
            "effect": dice.pick(&["NoSchedule", "NoExecute", "None"]),
        }]);
    }
    if dice.chance(8) {
        device["bindingConditions"] = json!(["ready"]);
        device["bindingFailureConditions"] = json!(["failed"]);
    }
    device
}

fn slice(name: &str, pool: &str, devices: &[Value]) -> Value {
    json!({
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    })
}

/// Devices on most nodes, and classes.
fn inventory(dice: &mut Dice, world: &mut World) {
    if world.count("deviceClasses") > 0 {
        return;
    }
    let driver = json!({"cel": {"expression": format!("device.driver == \"{DRIVER}\"")}});
    let large = format!("device.capacity[\"{DRIVER}\"].memory.compareTo(quantity(\"16Gi\")) >= 0");
    for (name, selectors) in [
        ("gpu", json!([driver])),
        ("large", json!([driver, {"cel": {"expression": large}}])),
        ("any", json!([])),
    ] {
        world.add(
            "deviceClasses",
            json!({
                "metadata": {"name": name}, "spec": {"selectors": selectors},
            }),
        );
    }
    for index in 0..world.nodes.len() {
        if dice.chance(15) {
            continue;
        }
        let node = node_name(world, index);
        let n = 1 + dice.below(6);
        let devices: Vec<Value> = (0..n)
            .map(|index| device(dice, &format!("d{index}")))
            .collect();
        let mut slice = slice(&format!("slice-{node}"), &node, &devices);
        slice["spec"]["nodeName"] = json!(node);
        world.add("resourceSlices", slice);
    }
    if dice.chance(10) {
        let mut rule = json!({
            "metadata": {"name": "rule"},
            "spec": {
                "deviceSelector": {"driver": DRIVER},
                "taint": {"key": "spare", "effect": "NoSchedule"},
            },
        });
        if dice.chance(80) {
            rule["spec"]["deviceSelector"]["pool"] = json!(dice.pick(&["n0", "n1"]));
        }
        if dice.chance(50) {
            rule["spec"]["deviceSelector"]["device"] = json!("d0");
        }
        world.add("deviceTaintRules", rule);
    }
}

fn expression(dice: &mut Dice) -> String {
    let attribute = |name: &str| format!("device.attributes['{DRIVER}'].{name}");
    let memory = format!("device.capacity['{DRIVER}'].memory");
    // Some of these can't be evaluated where the attribute is missing, which fails the node.
    let kind = if dice.chance(15) {
        dice.below(5)
    } else {
        5 + dice.below(10)
    };
    match kind {
        0 => format!("{} == 'a'", attribute("model")),
        1 => format!("{}.isGreaterThan(semver('1.9.0'))", attribute("driver")),
        2 => "device.attributes['example.org'].link".into(),
        3 => format!("{memory}.isGreaterThan(quantity('10Gi'))"),
        4 => "device.attributes['nobody.org'].x == 'y'".into(),
        5 => {
            let domain = format!("device.attributes['{DRIVER}']");
            format!("'model' in {domain} && {domain}.model != 'b'")
        }
        6 => format!("has({0}) && {0} == 1", attribute("numa")),
        7 => format!(
            "!has({0}) || {0}.isLessThan(semver('2.0.0'))",
            attribute("driver")
        ),
        8 => format!("device.attributes['{DRIVER}'].?numa.orValue(0) == 0"),
        9 => "!has(device.attributes['example.org'].link)".into(),
        10 => format!("!has({memory}) || {memory}.compareTo(quantity('10Gi')) > 0"),
        11 => format!("has({memory}) && {memory} == quantity('16384Mi')"),
        12 => "!has(device.attributes['nobody.org'].x)".into(),
        13 => format!("{} in ['a', 'c'] || true", attribute("model")),
        _ => format!(
            "device.driver.startsWith('{}')",
            dice.pick(&["gpu.", "gpu.", "gpu.", "net."])
        ),
    }
}

fn ask(dice: &mut Dice) -> Value {
    let mut ask = json!({"deviceClassName": dice.pick(&["gpu", "gpu", "gpu", "large", "any"])});
    if dice.chance(8) {
        ask["allocationMode"] = json!("All");
    } else {
        ask["allocationMode"] = json!("ExactCount");
        ask["count"] = json!(dice.pick(&[1, 1, 1, 2, 2, 3]));
    }
    if dice.chance(35) {
        let n = 1 + dice.below(2);
        let one = |_| json!({"cel": {"expression": expression(dice)}});
        ask["selectors"] = (0..n).map(one).collect();
    }
    if dice.chance(25) {
        let mut toleration = json!({"operator": dice.pick(&["Exists", "Equal"])});
        if toleration["operator"] == "Equal" || dice.chance(60) {
            toleration["key"] = json!(dice.pick(&["sick", "spare"]));
        }
        if dice.chance(40) {
            toleration["effect"] = json!(dice.pick(&["NoSchedule", "NoExecute"]));
        }
        ask["tolerations"] = json!([toleration]);
    }
    ask
}

fn request(dice: &mut Dice, name: &str) -> Value {
    if dice.chance(25) {
        let n = 1 + dice.below(3);
        let one = |index| {
            let mut ask = ask(dice);
            ask["name"] = json!(format!("s{index}"));
            ask
        };
        return json!({"name": name, "firstAvailable": (0..n).map(one).collect::<Vec<_>>()});
    }
    let mut exactly = ask(dice);
    if dice.chance(10) {
        exactly["adminAccess"] = json!(true);
    }
    json!({"name": name, "exactly": exactly})
}

/// Adds a claim to the pod; its name is new.
fn add_claim(world: &mut World, mut claim: Value) {
    let index = world.count("resourceClaims");
    let name = format!("device-claim{index}");
    claim["metadata"] = json!({
        "name": name,
        "namespace": world.pod["metadata"]["namespace"],
        "uid": format!("device-claim-{index}"),
    });
    let claims = &mut world.pod["spec"]["resourceClaims"];
    if claims.is_null() {
        *claims = json!([]);
    }
    let entry = json!({"name": name, "resourceClaimName": name});
    claims.as_array_mut().expect("a list").push(entry);
    world.add("resourceClaims", claim);
}

/// Claims with several requests, alternatives, constraints.
pub(crate) fn claims(dice: &mut Dice, world: &mut World) {
    inventory(dice, world);
    for _ in 0..dice.pick(&[1, 1, 1, 2]) {
        let n = dice.pick(&[1, 1, 1, 2, 2, 3]);
        let requests: Vec<Value> = (0..n)
            .map(|index| request(dice, &format!("r{index}")))
            .collect();
        let mut constraints = Vec::new();
        for _ in 0..dice.pick(&[0, 0, 0, 1, 1, 2]) {
            let attribute = dice.pick(&["model", "numa", "driver"]);
            let key = dice.pick(&["matchAttribute", "matchAttribute", "distinctAttribute"]);
            let mut constraint = json!({key: format!("{DRIVER}/{attribute}")});
            if dice.chance(10) {
                constraint = json!({key: "example.org/link"});
            }
            if dice.chance(50) {
                constraint["requests"] = json!([dice.pick(&["r0", "r1", "r0/s0"]), "r2"]);
            }
            constraints.push(constraint);
        }
        let devices = json!({"requests": requests, "constraints": constraints});
        add_claim(world, json!({"spec": {"devices": devices}}));
    }
}

/// Partitions that share counters, on some nodes.
pub(crate) fn counters(dice: &mut Dice, world: &mut World) {
    inventory(dice, world);
    let Some(slices) = world.lists.get_mut("resourceSlices") else {
        return claims(dice, world);
    };
    let mut sets = Vec::new();
    for slice in slices.as_array_mut().expect("a list") {
        if dice.chance(30) || slice["spec"]["pool"]["resourceSliceCount"] != 1 {
            continue;
        }
        slice["spec"]["pool"]["resourceSliceCount"] = json!(2);
        for device in slice["spec"]["devices"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            if dice.chance(80) {
                device["consumesCounters"] = json!([{
                    "counterSet": "board",
                    "counters": {
                        "slices": {"value": dice.pick(&["1", "2", "4"])},
                        "memory": {"value": dice.pick(&["10Gi", "20Gi"])},
                    },
                }]);
            }
        }
        let mut counters = slice.clone();
        let name = slice["metadata"]["name"].as_str().expect("a name");
        counters["metadata"]["name"] = json!(format!("counters-{name}"));
        counters["spec"]["devices"] = Value::Null;
        let set = if dice.chance(95) { "board" } else { "other" };
        counters["spec"]["sharedCounters"] = json!([{
            "name": set,
            "counters": {
                "slices": {"value": dice.pick(&["3", "4", "7"])},
                "memory": {"value": dice.pick(&["20Gi", "40Gi"])},
            },
        }]);
        sets.push(counters);
    }
    for set in sets {
        world.add("resourceSlices", set);
    }
    claims(dice, world);
}

fn policy(dice: &mut Dice) -> Option<Value> {
    Some(match dice.below(5) {
        0 => return None,
        1 => json!({"default": "1Gi", "validValues": ["1Gi", "2Gi", "6Gi"]}),
        2 => json!({"default": "1Gi", "validRange": {"min": "1Gi"}}),
        3 => json!({
            "default": "2Gi", "validRange": {"min": "1Gi", "max": "6Gi", "step": "1Gi"},
        }),
        _ => json!({"default": "500m", "validRange": {"min": "500m", "step": "250m"}}),
    })
}

/// Devices that several claims share, and claims for parts of them.
pub(crate) fn shares(dice: &mut Dice, world: &mut World) {
    inventory(dice, world);
    if let Some(slices) = world.lists.get_mut("resourceSlices") {
        for slice in slices.as_array_mut().expect("a list") {
            for device in slice["spec"]["devices"]
                .as_array_mut()
                .into_iter()
                .flatten()
            {
                if dice.chance(70) {
                    device["allowMultipleAllocations"] = json!(true);
                    let mut capacity = json!({"value": dice.pick(&["8Gi", "4Gi", "7"])});
                    if let Some(policy) = policy(dice) {
                        capacity["requestPolicy"] = policy;
                    }
                    device["capacity"]["part"] = capacity;
                }
            }
        }
    }
    for _ in 0..1 + dice.below(2) {
        let n = 1 + dice.below(2);
        let one = |index| {
            let mut ask = ask(dice);
            if dice.chance(80) {
                let amount = dice.pick(&["1Gi", "1500Mi", "3Gi", "5Gi", "9Gi", "600m", "0.3"]);
                ask["capacity"] = json!({"requests": {"part": amount}});
            }
            json!({"name": format!("r{index}"), "exactly": ask})
        };
        let requests: Vec<Value> = (0..n).map(one).collect();
        add_claim(world, json!({"spec": {"devices": {"requests": requests}}}));
    }
}

/// Pools that are spread over nodes, incomplete, outdated or contradictory.
pub(crate) fn pools(dice: &mut Dice, world: &mut World) {
    inventory(dice, world);
    let devices: Vec<Value> = (0..2)
        .map(|index| device(dice, &format!("e{index}")))
        .collect();
    let mut shared = slice("shared", "shared", &devices);
    match dice.below(4) {
        0 => shared["spec"]["allNodes"] = json!(true),
        1 => {
            shared["spec"]["perDeviceNodeSelection"] = json!(true);
            shared["spec"]["devices"][0]["nodeName"] = json!(dice.pick(&["n0", "n1"]));
            shared["spec"]["devices"][1]["allNodes"] = json!(true);
        }
        _ => {
            let zone = json!([{
                "key": "topology.kubernetes.io/zone", "operator": "In",
                "values": [dice.pick(&["a", "b"])],
            }]);
            shared["spec"]["nodeSelector"] =
                json!({"nodeSelectorTerms": [{"matchExpressions": zone}]});
        }
    }
    if dice.chance(70) {
        world.add("resourceSlices", shared);
    }
    let extra: Vec<Value> = world
        .lists
        .get("resourceSlices")
        .and_then(Value::as_array)
        .map_or_else(Vec::new, |slices| {
            slices.iter().filter(|_| dice.chance(30)).cloned().collect()
        });
    for (index, mut slice) in extra.into_iter().enumerate() {
        slice["metadata"]["name"] = json!(format!("extra{index}"));
        match dice.below(4) {
            // An older or a newer generation.
            0 => slice["spec"]["pool"]["generation"] = json!(0),
            1 => slice["spec"]["pool"]["generation"] = json!(2),
            // A slice more than there should be, with the same names or others.
            2 => {}
            _ => {
                for device in slice["spec"]["devices"]
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                {
                    let name = format!("x{}", device["name"].as_str().unwrap_or_default());
                    device["name"] = json!(name);
                }
            }
        }
        if dice.chance(60) {
            slice["spec"]["pool"]["resourceSliceCount"] = json!(2);
        }
        world.add("resourceSlices", slice);
    }
    agree(world);
    claims(dice, world);
}

/// Slices of one generation of a pool agree on how many they are: of others, the first in nobody
/// knows which order counts.
fn agree(world: &mut World) {
    let slices = world
        .lists
        .get_mut("resourceSlices")
        .and_then(Value::as_array_mut);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    let id = |slice: &Value| {
        let pool = &slice["spec"]["pool"];
        format!("{} {}", pool["name"], pool["generation"])
    };
    let Some(slices) = slices else { return };
    for slice in slices.iter() {
        let count = slice["spec"]["pool"]["resourceSliceCount"]
            .as_u64()
            .unwrap_or(1);
        let most = counts.entry(id(slice)).or_default();
        *most = count.max(*most);
    }
    for slice in slices {
        let count = counts[&id(slice)];
        slice["spec"]["pool"]["resourceSliceCount"] = json!(count);
    }
}

/// Claims of others that hold devices.
pub(crate) fn taken(dice: &mut Dice, world: &mut World) {
    match dice.below(3) {
        0 => counters(dice, world),
        1 => shares(dice, world),
        _ => claims(dice, world),
    }
    for _ in 0..1 + dice.below(5) {
        let index = world.count("resourceClaims");
        let mut result = json!({
            "request": "r", "driver": DRIVER,
            "pool": dice.pick(&["n0", "n1", "n2"]), "device": dice.pick(&["d0", "d1", "d2"]),
        });
        if dice.chance(35) {
            result["shareID"] = json!(format!("00000000-0000-4000-8000-{index:012}"));
            if dice.chance(85) {
                result["consumedCapacity"] = json!({"part": dice.pick(&["1Gi", "3Gi", "500m"])});
            }
        } else if dice.chance(10) {
            result["adminAccess"] = json!(true);
        }
        let claim = json!({
            "metadata": {
                "name": format!("held{index}"), "namespace": "green",
                "uid": format!("held-{index}"),
            },
            "spec": {"devices": {"requests": [
                {"name": "r", "exactly": {"deviceClassName": "gpu"}}
            ]}},
            "status": {"allocation": {"devices": {"results": [result]}}},
        });
        world.add("resourceClaims", claim);
    }
}

/// Claims of the pod that have devices already.
pub(crate) fn allocated(dice: &mut Dice, world: &mut World) {
    if dice.chance(60) {
        claims(dice, world);
    } else {
        inventory(dice, world);
    }
    let mut result = json!({
        "request": "r", "driver": DRIVER, "pool": dice.pick(&["n0", "n1"]), "device": "d0",
    });
    let mut status = json!({});
    if dice.chance(40) {
        result["bindingConditions"] = json!(["ready"]);
        result["bindingFailureConditions"] = json!(["failed"]);
        if dice.chance(70) {
            let condition = json!({
                "type": dice.pick(&["ready", "failed", "other"]),
                "status": dice.pick(&["True", "False"]),
                "reason": "r", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
            });
            status["devices"] = json!([{
                "driver": DRIVER, "pool": result["pool"], "device": "d0",
                "conditions": [condition],
            }]);
        }
    }
    let mut allocation = json!({"devices": {"results": [result]}});
    if dice.chance(80) {
        let field = json!([{
            "key": "metadata.name", "operator": "In", "values": [dice.pick(&["n0", "n1"])],
        }]);
        allocation["nodeSelector"] = json!({"nodeSelectorTerms": [{"matchFields": field}]});
    }
    if dice.chance(60) {
        let past_or_future = dice.pick(&["2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"]);
        allocation["allocationTimestamp"] = json!(past_or_future);
    }
    status["allocation"] = allocation;
    if dice.chance(30) {
        let n = dice.pick(&[1_u64, 256]);
        let own = world.pod["metadata"]["uid"].clone();
        let is_own = dice.chance(30);
        let one = |index: u64| {
            let uid = if is_own && index == 0 {
                own.clone()
            } else {
                json!(format!("u{index}"))
            };
            json!({"resource": "pods", "name": format!("p{index}"), "uid": uid})
        };
        status["reservedFor"] = (0..n).map(one).collect();
    }
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "gpu"}}]);
    add_claim(
        world,
        json!({"spec": {"devices": {"requests": requests}}, "status": status}),
    );
}

/// Extended resources that classes stand for.
pub(crate) fn extended(dice: &mut Dice, world: &mut World) {
    inventory(dice, world);
    for class in world.lists["deviceClasses"].as_array_mut().expect("a list") {
        if class["metadata"]["name"] == "gpu" {
            class["spec"]["extendedResourceName"] = json!("example.com/gpu");
        }
    }
    for node in &mut world.nodes {
        if dice.chance(30) {
            node["status"]["allocatable"]["example.com/gpu"] = json!(dice.pick(&["0", "2", "4"]));
        }
    }
    let names = [
        "example.com/gpu",
        "example.com/gpu",
        "deviceclass.resource.kubernetes.io/large",
    ];
    let spec = &mut world.pod["spec"];
    let container = |dice: &mut Dice, name: String| {
        let requests = json!({dice.pick(&names): dice.pick(&["0", "1", "2", "3"]), "cpu": "1"});
        json!({"name": name, "resources": {"requests": requests, "limits": requests}})
    };
    let n = 1 + dice.below(2);
    spec["containers"] = (0..n)
        .map(|index| container(dice, format!("c{index}")))
        .collect();
    if dice.chance(40) {
        let n = 1 + dice.below(3);
        let init = |index| {
            let mut one = container(dice, format!("i{index}"));
            if dice.chance(40) {
                one["restartPolicy"] = json!("Always");
            }
            one
        };
        spec["initContainers"] = (0..n).map(init).collect();
    }
    if dice.chance(10) {
        let owner = json!([{
            "apiVersion": "v1", "kind": "Pod", "name": "wanted", "controller": true,
            "uid": world.pod["metadata"]["uid"],
        }]);
        let claim = json!({
            "metadata": {
                "name": "left-over", "namespace": world.pod["metadata"]["namespace"],
                "uid": "left-over", "ownerReferences": owner,
                "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            },
            "spec": {"devices": {"requests": [
                {"name": "r", "exactly": {"deviceClassName": "gpu"}}
            ]}},
        });
        world.add("resourceClaims", claim);
    }
    if dice.chance(30) {
        claims(dice, world);
    }
}

/// Claims that are missing, going away, of others, or of classes that don't exist.
pub(crate) fn broken(dice: &mut Dice, world: &mut World) {
    claims(dice, world);
    match dice.below(6) {
        0 => {
            world.lists.remove("resourceClaims");
        }
        1 => {
            world.lists["resourceClaims"][0]["metadata"]["deletionTimestamp"] =
                json!("2026-01-01T00:00:00Z");
        }
        2 => {
            world.lists.remove("deviceClasses");
        }
        3 => {
            let name = "made";
            let template = json!({"name": name, "resourceClaimTemplateName": "t"});
            world.pod["spec"]["resourceClaims"] = json!([template]);
            world.pod["status"] = match dice.below(3) {
                0 => json!({}),
                1 => json!({"resourceClaimStatuses": [{"name": name}]}),
                _ => json!({"resourceClaimStatuses": [
                    {"name": name, "resourceClaimName": "device-claim0"}
                ]}),
            };
            if dice.chance(70) {
                let uid = world.pod["metadata"]["uid"].clone();
                world.lists["resourceClaims"][0]["metadata"]["ownerReferences"] = json!([{
                    "apiVersion": "v1", "kind": "Pod", "name": "wanted", "controller": true,
                    "uid": uid,
                }]);
            }
        }
        4 => {
            let many =
                json!({"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 33});
            let requests = json!([{"name": "r", "exactly": many}]);
            world.lists["resourceClaims"][0]["spec"]["devices"]["requests"] = requests;
        }
        _ => {
            world.lists["resourceClaims"][0]["spec"]["devices"]["requests"] = Value::Null;
        }
    }
}
