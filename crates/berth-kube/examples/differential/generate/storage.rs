//! Features that are about volumes.

use serde_json::{Value, json};

use super::dice::Dice;
use super::{World, basic};

/// Makes a pod use a claim.
fn mount(pod: &mut Value, claim: &str) {
    let volumes = &mut pod["spec"]["volumes"];
    if volumes.is_null() {
        *volumes = json!([]);
    }
    let volumes = volumes.as_array_mut().expect("a list");
    let name = format!("v{}", volumes.len());
    volumes.push(json!({"name": name, "persistentVolumeClaim": {"claimName": claim}}));
}

fn namespace(world: &World) -> String {
    world.pod["metadata"]["namespace"]
        .as_str()
        .expect("every pod has one")
        .to_owned()
}

/// A claim of the pod's namespace; its name is new.
fn claim(world: &World, class: &str, size: &str) -> Value {
    let (namespace, index) = (namespace(world), world.count("pvcs"));
    json!({
        "metadata": {
            "name": format!("claim{index}"),
            "namespace": namespace,
            "uid": format!("claim-{index}"),
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "resources": {"requests": {"storage": size}},
        },
        "status": {"phase": "Pending"},
    })
}

/// A volume whose name is new; sizes differ, since ties are anybody's choice.
fn volume(dice: &mut Dice, world: &World, class: &str) -> Value {
    let index = world.count("pvs");
    let mut volume = json!({
        "metadata": {"name": format!("volume{index}"), "uid": format!("volume-{index}")},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": class,
            "capacity": {"storage": format!("{}Mi", 1000 * (1 + dice.below(5)) + index as u64)},
            "csi": {"driver": dice.pick(&["csi.a", "csi.b"]), "volumeHandle": format!("h{index}")},
        },
        "status": {"phase": "Available"},
    });
    if dice.chance(50) {
        let n = 1 + dice.below(2);
        let terms: Vec<Value> = (0..n).map(|_| basic::node_term(dice)).collect();
        volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": terms}});
    }
    if dice.chance(30) {
        volume["spec"]["accessModes"] = json!(["ReadWriteMany", "ReadOnlyMany"]);
    }
    volume
}

fn zones(dice: &mut Dice, volume: &mut Value) {
    let key = dice.pick(&[
        "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    ]);
    volume["metadata"]["labels"][key] = json!(dice.pick(&["a", "b", "a__b", "c __ a", "a__"]));
}

fn name(object: &Value) -> String {
    object["metadata"]["name"]
        .as_str()
        .expect("every object has one")
        .to_owned()
}

/// Claims that are bound, some to volumes that are elsewhere or gone.
pub(crate) fn bound(dice: &mut Dice, world: &mut World) {
    for _ in 0..1 + dice.below(2) {
        let mut claim = claim(world, "", "1Gi");
        let mut volume = volume(dice, world, "");
        if dice.chance(60) {
            zones(dice, &mut volume);
        }
        claim["spec"]["volumeName"] = json!(name(&volume));
        let annotations = json!({"pv.kubernetes.io/bind-completed": "yes"});
        if dice.chance(93) {
            claim["metadata"]["annotations"] = annotations;
        }
        mount(&mut world.pod, &name(&claim));
        world.add("pvcs", claim);
        if dice.chance(93) {
            world.add("pvs", volume);
        }
    }
    if dice.chance(30) {
        for node in &mut world.nodes {
            node["metadata"]["labels"]["failure-domain.beta.kubernetes.io/zone"] =
                json!(dice.pick(&["a", "b"]));
        }
    }
}

fn classes(dice: &mut Dice, world: &mut World) {
    if world.count("storageClasses") > 0 {
        return;
    }
    for (class, provisioner, mode) in [
        (
            "late",
            dice.pick(&["csi.a", "csi.b"]),
            "WaitForFirstConsumer",
        ),
        (
            "static",
            "kubernetes.io/no-provisioner",
            "WaitForFirstConsumer",
        ),
        ("early", "csi.a", "Immediate"),
    ] {
        let mut object = json!({
            "metadata": {"name": class},
            "provisioner": provisioner,
            "volumeBindingMode": mode,
        });
        if dice.chance(40) {
            let values = json!([dice.pick(&["a", "b"]), "c"]);
            let key = "topology.kubernetes.io/zone";
            object["allowedTopologies"] =
                json!([{"matchLabelExpressions": [{"key": key, "values": values}]}]);
        }
        world.add("storageClasses", object);
    }
    for driver in ["csi.a", "csi.b"] {
        if dice.chance(70) {
            world.add(
                "csiDrivers",
                json!({
                    "metadata": {"name": driver},
                    "spec": {
                        "storageCapacity": dice.chance(50),
                        "preventPodSchedulingIfMissing": dice.chance(30),
                    },
                }),
            );
        }
    }
    for index in 0..dice.below(4) {
        let mut room = json!({
            "metadata": {"name": format!("room{index}"), "namespace": "green"},
            "storageClassName": "late",
        });
        if dice.chance(80) {
            room["capacity"] = json!(dice.pick(&["1Gi", "3Gi", "100Gi"]));
        }
        if dice.chance(30) {
            room["maximumVolumeSize"] = json!(dice.pick(&["1Gi", "2Gi"]));
        }
        if dice.chance(85) {
            let zone = dice.pick(&["a", "b", "c"]);
            room["nodeTopology"] = json!({"matchLabels": {"topology.kubernetes.io/zone": zone}});
        }
        world.add("csiStorageCapacities", room);
    }
}

/// Claims that wait for a node: matched with free volumes, or to be made.
pub(crate) fn waiting(dice: &mut Dice, world: &mut World) {
    classes(dice, world);
    for _ in 0..1 + dice.below(2) {
        let class = dice.pick(&["late", "late", "static", "static", "early"]);
        let sizes = ["1Gi", "2Gi", "3Gi", "4000Mi"];
        let mut claim = claim(world, class, dice.pick(&sizes));
        if dice.chance(15) {
            claim["metadata"]["annotations"] =
                json!({"volume.kubernetes.io/selected-node": dice.pick(&["n0", "n1"])});
        }
        if dice.chance(20) {
            claim["spec"]["selector"] = json!({"matchLabels": {"speed": "fast"}});
        }
        if dice.chance(10) {
            claim["spec"]["volumeMode"] = json!("Block");
        }
        if dice.chance(10) {
            claim["spec"]["volumeAttributesClassName"] = json!("gold");
        }
        if dice.chance(10) {
            claim["spec"]["accessModes"] = json!(["ReadWriteMany"]);
        }
        mount(&mut world.pod, &name(&claim));
        world.add("pvcs", claim);
    }
    for _ in 0..dice.below(4) {
        let class = dice.pick(&["late", "static", "static"]);
        let mut volume = volume(dice, world, class);
        decorate(dice, world, &mut volume);
        world.add("pvs", volume);
    }
}

/// Gives a volume what may keep a claim from it.
fn decorate(dice: &mut Dice, world: &World, volume: &mut Value) {
    if dice.chance(30) {
        volume["metadata"]["labels"] = json!({"speed": dice.pick(&["fast", "slow"])});
    }
    if dice.chance(10) {
        volume["spec"]["volumeMode"] = json!("Block");
    }
    if dice.chance(10) {
        volume["spec"]["volumeAttributesClassName"] = json!("gold");
    }
    if dice.chance(10) {
        volume["status"]["phase"] = json!(dice.pick(&["Bound", "Released"]));
    }
    if dice.chance(5) {
        volume["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    if dice.chance(25) {
        let mut owner =
            json!({"namespace": namespace(world), "name": dice.pick(&["claim0", "claim1"])});
        if dice.chance(50) {
            owner["uid"] = json!(dice.pick(&["claim-0", "claim-1", "another"]));
        }
        volume["spec"]["claimRef"] = owner;
    }
}

/// Drivers that can attach few volumes.
pub(crate) fn limits(dice: &mut Dice, world: &mut World) {
    match dice.below(3) {
        0 => bound(dice, world),
        _ => waiting(dice, world),
    }
    for index in 0..world.nodes.len() {
        if world.count("csiNodes") >= world.nodes.len() || dice.chance(15) {
            continue;
        }
        let name = world.nodes[index]["metadata"]["name"].clone();
        let mut drivers = Vec::new();
        for driver in ["csi.a", "csi.b"] {
            if dice.chance(80) {
                let mut one = json!({"name": driver, "nodeID": "id"});
                if dice.chance(85) {
                    one["allocatable"] = json!({"count": dice.below(4)});
                }
                drivers.push(one);
            }
        }
        world.add(
            "csiNodes",
            json!({"metadata": {"name": name}, "spec": {"drivers": drivers}}),
        );
    }
    share(dice, world);
    for index in 0..dice.below(4) {
        let attachment = json!({
            "metadata": {"name": format!("attachment{index}-{}", world.count("volumeAttachments"))},
            "spec": {
                "attacher": dice.pick(&["csi.a", "csi.b"]),
                "nodeName": dice.pick(&["n0", "n1"]),
                "source": {"persistentVolumeName": dice.pick(&["volume0", "volume1", "gone"])},
            },
            "status": {"attached": true},
        });
        world.add("volumeAttachments", attachment);
    }
}

/// Running pods use claims as well, the pod's own among them.
fn share(dice: &mut Dice, world: &mut World) {
    let namespace = namespace(world);
    for index in 0..world.pods.len() {
        if dice.chance(40) {
            let existing = format!("claim{}", dice.below(3));
            mount(&mut world.pods[index], &existing);
            if dice.chance(70) {
                world.pods[index]["metadata"]["namespace"] = json!(namespace);
            }
        } else if dice.chance(40) {
            let mut claim = claim(world, "", "1Gi");
            let mut volume = volume(dice, world, "");
            volume["spec"]["nodeAffinity"] = Value::Null;
            claim["spec"]["volumeName"] = json!(name(&volume));
            mount(&mut world.pods[index], &name(&claim));
            world.pods[index]["metadata"]["namespace"] = json!(namespace);
            world.add("pvcs", claim);
            world.add("pvs", volume);
        }
    }
}

/// Claims for one pod at a time.
pub(crate) fn exclusive(dice: &mut Dice, world: &mut World) {
    bound(dice, world);
    for claim in world.lists["pvcs"].as_array_mut().expect("a list") {
        if dice.chance(70) {
            claim["spec"]["accessModes"] = json!(["ReadWriteOncePod"]);
        }
    }
    for pod in &mut world.pods {
        if dice.chance(20) {
            mount(pod, dice.pick(&["claim0", "claim1"]));
        }
    }
}

fn disk(dice: &mut Dice) -> Value {
    let read_only = dice.chance(60);
    match dice.below(4) {
        0 => {
            json!({"gcePersistentDisk": {"pdName": dice.pick(&["d", "e"]), "readOnly": read_only}})
        }
        1 => json!({"awsElasticBlockStore": {"volumeID": dice.pick(&["vol-1", "vol-2"])}}),
        2 => json!({"iscsi": {
            "iqn": dice.pick(&["iqn.a", "iqn.b"]), "targetPortal": "p", "lun": 0,
            "readOnly": read_only,
        }}),
        _ => json!({"rbd": {
            "monitors": [dice.pick(&["m", "n"]), dice.pick(&["n", "o"])],
            "image": dice.pick(&["i", "j"]), "pool": dice.pick(&["rbd", "q"]),
            "readOnly": read_only,
        }}),
    }
}

/// Disks that exclude each other.
pub(crate) fn disks(dice: &mut Dice, world: &mut World) {
    for pod in world.every_pod() {
        if dice.chance(70) {
            let mut volume = disk(dice);
            volume["name"] = json!("disk");
            let volumes = &mut pod["spec"]["volumes"];
            if volumes.is_null() {
                *volumes = json!([]);
            }
            volumes.as_array_mut().expect("a list").push(volume);
        }
    }
}

/// Claims that no pod can use as they are, and ephemeral ones.
pub(crate) fn broken(dice: &mut Dice, world: &mut World) {
    classes(dice, world);
    if dice.chance(40) {
        let (namespace, uid) = (namespace(world), world.pod["metadata"]["uid"].clone());
        let template = json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }});
        world.pod["spec"]["volumes"] =
            json!([{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]);
        if dice.chance(80) {
            let mut claim = claim(world, "late", "1Gi");
            claim["metadata"]["name"] = json!("wanted-scratch");
            claim["metadata"]["namespace"] = json!(namespace);
            let uid = if dice.chance(80) {
                uid
            } else {
                json!("another")
            };
            claim["metadata"]["ownerReferences"] = json!([{
                "apiVersion": "v1", "kind": "Pod", "name": "wanted", "uid": uid,
                "controller": dice.chance(90),
            }]);
            world.add("pvcs", claim);
        }
        return;
    }
    let mut claim = claim(world, dice.pick(&["late", "gone", ""]), "1Gi");
    match dice.below(4) {
        0 => claim["status"]["phase"] = json!("Lost"),
        1 => claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        2 => claim["spec"]["volumeName"] = json!("gone"),
        _ => {}
    }
    mount(&mut world.pod, &name(&claim));
    if dice.chance(85) {
        world.add("pvcs", claim);
    }
}
