//! Features of nodes and pods by themselves.

use serde_json::{Value, json};

use super::World;
use super::dice::Dice;

fn cpu(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        "0", "250m", "500m", "1", "1500m", "2", "4", "0.3333", "1e-4", "100u",
    ])
}

fn memory(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        "0", "1Gi", "1.5Gi", "512Mi", "2G", "4Gi", "100M", "1e9", "0.1", "1500m",
    ])
}

fn requests(dice: &mut Dice) -> Value {
    let mut list = json!({});
    if dice.chance(80) {
        list["cpu"] = json!(cpu(dice));
    }
    if dice.chance(60) {
        list["memory"] = json!(memory(dice));
    }
    if dice.chance(20) {
        list["ephemeral-storage"] = json!(memory(dice));
    }
    if dice.chance(30) {
        list["nvidia.com/gpu"] = json!(dice.pick(&["0", "1", "2", "3"]));
    }
    if dice.chance(10) {
        list["hugepages-2Mi"] = json!(dice.pick(&["2Mi", "4Mi"]));
    }
    if dice.chance(5) {
        list[dice.pick(&["odd", "requests.cpu", "example.com/x", "pods"])] = json!("1");
    }
    list
}

/// Containers, init containers, native sidecars and overhead on nodes with little room.
pub(crate) fn resources(dice: &mut Dice, world: &mut World) {
    for node in &mut world.nodes {
        let mut allocatable = json!({
            "cpu": dice.pick(&["1", "2", "3500m", "8"]),
            "memory": dice.pick(&["1Gi", "4Gi", "3G", "16Gi"]),
            "pods": dice.pick(&["1", "2", "4", "110"]),
        });
        if dice.chance(60) {
            allocatable["nvidia.com/gpu"] = json!(dice.pick(&["0", "1", "2", "4"]));
        }
        if dice.chance(30) {
            allocatable["ephemeral-storage"] = json!(dice.pick(&["1Gi", "10Gi"]));
        }
        if dice.chance(30) {
            allocatable["hugepages-2Mi"] = json!(dice.pick(&["4Mi", "8Mi"]));
        }
        if dice.chance(10) {
            allocatable["example.com/x"] = json!("1");
        }
        node["status"]["allocatable"] = allocatable;
    }
    for pod in world.every_pod() {
        let spec = &mut pod["spec"];
        spec["containers"] = containers(dice, "c", 2);
        if dice.chance(40) {
            let mut init = containers(dice, "i", 3);
            for container in init.as_array_mut().expect("a list") {
                if dice.chance(50) {
                    container["restartPolicy"] = json!("Always");
                }
            }
            spec["initContainers"] = init;
        }
        if dice.chance(20) {
            spec["overhead"] = json!({"cpu": cpu(dice), "memory": memory(dice)});
        }
    }
}

fn containers(dice: &mut Dice, prefix: &str, n_max: u64) -> Value {
    let n = 1 + dice.below(n_max);
    let one = |index: u64| {
        let requests = requests(dice);
        json!({"name": format!("{prefix}{index}"), "resources": {"requests": requests}})
    };
    (0..n).map(one).collect()
}

/// Pod-level requests beside those of containers.
pub(crate) fn pod_level(dice: &mut Dice, world: &mut World) {
    resources(dice, world);
    for pod in world.every_pod() {
        if dice.chance(60) {
            let mut list = json!({});
            if dice.chance(70) {
                list["cpu"] = json!(cpu(dice));
            }
            if dice.chance(70) {
                list["memory"] = json!(memory(dice));
            }
            if dice.chance(10) {
                list["hugepages-2Mi"] = json!("4Mi");
            }
            pod["spec"]["resources"] = json!({"requests": list});
        }
    }
}

/// Running pods whose status says other amounts than their spec.
pub(crate) fn resized(dice: &mut Dice, world: &mut World) {
    if dice.chance(50) {
        resources(dice, world);
    } else {
        pod_level(dice, world);
    }
    for pod in &mut world.pods {
        if dice.chance(40) {
            continue;
        }
        let mut status = json!({});
        for (list, statuses) in [
            ("containers", "containerStatuses"),
            ("initContainers", "initContainerStatuses"),
        ] {
            let names: Vec<Value> = pod["spec"][list]
                .as_array()
                .map(|all| all.iter().map(|one| one["name"].clone()).collect())
                .unwrap_or_default();
            let all: Vec<Value> = names
                .into_iter()
                .map(|name| one_status(dice, &name))
                .collect();
            status[statuses] = Value::Array(all);
        }
        if dice.chance(30) {
            status["conditions"] = json!([{
                "type": "PodResizePending",
                "status": "True",
                "reason": dice.pick(&["Infeasible", "Deferred"]),
            }]);
        }
        if dice.chance(30) {
            status["resources"] = json!({"requests": requests(dice)});
        }
        if dice.chance(30) {
            status["allocatedResources"] = requests(dice);
        }
        pod["status"] = status;
    }
}

fn one_status(dice: &mut Dice, name: &Value) -> Value {
    let mut status = json!({
        "name": name, "image": "i", "imageID": "i", "ready": true, "restartCount": 0,
    });
    if dice.chance(60) {
        status["resources"] = json!({"requests": requests(dice)});
    }
    if dice.chance(60) {
        status["allocatedResources"] = requests(dice);
    }
    status
}

/// Taints and tolerations of every kind.
pub(crate) fn taints(dice: &mut Dice, world: &mut World) {
    for node in &mut world.nodes {
        let n = dice.below(3);
        let taint = |_| {
            json!({
                "key": dice.pick(&["k", "l"]),
                "value": dice.pick(&["", "1", "2"]),
                "effect": dice.pick(&["NoSchedule", "NoExecute", "PreferNoSchedule"]),
            })
        };
        node["spec"]["taints"] = (0..n).map(taint).collect();
    }
    let n = 1 + dice.below(3);
    world.pod["spec"]["tolerations"] = (0..n).map(|_| toleration(dice)).collect();
}

fn toleration(dice: &mut Dice) -> Value {
    let mut one = json!({"operator": dice.pick(&["Exists", "Equal", "Equal", "", "Gt", "Lt"])});
    let is_exists = one["operator"] == "Exists";
    if !is_exists || dice.chance(80) {
        one["key"] = json!(dice.pick(&["k", "l"]));
    }
    if !is_exists {
        one["value"] = json!(dice.pick(&["", "1", "2"]));
    }
    if dice.chance(50) {
        one["effect"] = json!(dice.pick(&["NoSchedule", "NoExecute", "PreferNoSchedule"]));
    }
    one
}

/// Cordoned nodes.
pub(crate) fn cordons(dice: &mut Dice, world: &mut World) {
    for node in &mut world.nodes {
        if dice.chance(50) {
            node["spec"]["unschedulable"] = json!(true);
        }
    }
    if dice.chance(40) {
        let mut tolerations = world.pod["spec"]["tolerations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        tolerations.push(match dice.below(3) {
            0 => json!({"operator": "Exists"}),
            1 => json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}),
            _ => json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoExecute"}),
        });
        world.pod["spec"]["tolerations"] = Value::Array(tolerations);
    }
}

/// A node selector.
pub(crate) fn selectors(dice: &mut Dice, world: &mut World) {
    let mut labels = json!({});
    if dice.chance(80) {
        labels["topology.kubernetes.io/zone"] = json!(dice.pick(&["a", "b", "c"]));
    }
    if dice.chance(40) {
        labels["disk"] = json!(dice.pick(&["ssd", ""]));
    }
    world.pod["spec"]["nodeSelector"] = labels;
}

/// Required node affinity, terms that can't be parsed among it.
pub(crate) fn node_affinity(dice: &mut Dice, world: &mut World) {
    let n_terms = 1 + dice.below(3);
    let terms: Vec<Value> = (0..n_terms).map(|_| node_term(dice)).collect();
    let required = json!({"nodeSelectorTerms": terms});
    world.pod["spec"]["affinity"]["nodeAffinity"] =
        json!({"requiredDuringSchedulingIgnoredDuringExecution": required});
}

/// One term over nodes.
pub(crate) fn node_term(dice: &mut Dice) -> Value {
    let mut term = json!({});
    if dice.chance(85) {
        let n = 1 + dice.below(2);
        term["matchExpressions"] = (0..n).map(|_| expression(dice)).collect();
    }
    if dice.chance(25) {
        let n = 1 + dice.below(2);
        let field = |_| {
            let values = if dice.chance(90) {
                json!([dice.pick(&["n0", "n1", "n2"])])
            } else {
                json!(["n0", "n1"])
            };
            let operator = dice.pick(&["In", "In", "NotIn", "Exists"]);
            json!({"key": "metadata.name", "operator": operator, "values": values})
        };
        term["matchFields"] = (0..n).map(field).collect();
    }
    term
}

fn expression(dice: &mut Dice) -> Value {
    match dice.below(9) {
        0 => json!({"key": "gen", "operator": "Gt", "values": [dice.pick(&["1", "2", "-1"])]}),
        1 => json!({"key": "gen", "operator": "Lt", "values": [dice.pick(&["2", "3", "x"])]}),
        2 => json!({"key": "disk", "operator": "Exists"}),
        3 => json!({"key": "disk", "operator": "DoesNotExist"}),
        4 => json!({"key": "disk", "operator": "NotIn", "values": ["ssd"]}),
        5 if dice.chance(30) => json!({"key": "disk", "operator": "In", "values": ["a b"]}),
        6 if dice.chance(30) => json!({"key": "disk", "operator": "Exists", "values": ["x"]}),
        7 if dice.chance(30) => json!({"key": "bad key", "operator": "DoesNotExist"}),
        _ => json!({
            "key": "topology.kubernetes.io/zone",
            "operator": "In",
            "values": [dice.pick(&["a", "b"]), "c"],
        }),
    }
}

/// A pod that names its node.
pub(crate) fn names(dice: &mut Dice, world: &mut World) {
    world.pod["spec"]["nodeName"] = json!(dice.pick(&["n0", "n1", "gone"]));
}

/// Host ports of containers and sidecars, by address and protocol.
pub(crate) fn ports(dice: &mut Dice, world: &mut World) {
    for pod in world.every_pod() {
        let n = 1 + dice.below(2);
        let port = |_| {
            let mut port = json!({
                "containerPort": 80,
                "hostPort": dice.pick(&[0, 8080, 8080, 8081]),
                "protocol": dice.pick(&["TCP", "TCP", "UDP", "SCTP"]),
            });
            if dice.chance(50) {
                port["hostIP"] = json!(dice.pick(&["0.0.0.0", "127.0.0.1", "10.0.0.1", "::"]));
            }
            port
        };
        let ports: Value = (0..n).map(port).collect();
        let spec = &mut pod["spec"];
        match dice.below(4) {
            0 => {
                let init = json!([{"name": "s", "ports": ports, "restartPolicy": "Always"}]);
                spec["initContainers"] = init;
            }
            1 => spec["initContainers"] = json!([{"name": "s", "ports": ports}]),
            _ => spec["containers"][0]["ports"] = ports,
        }
    }
}

/// Features that kubelets declare and pods need.
pub(crate) fn declared_features(dice: &mut Dice, world: &mut World) {
    for node in &mut world.nodes {
        let all = [
            "RestartAllContainersOnContainerExits",
            "UserNamespacesHostNetworkSupport",
            "VolumeBindMountOptions",
        ];
        let declared: Vec<&str> = all.into_iter().filter(|_| dice.chance(60)).collect();
        node["status"]["declaredFeatures"] = json!(declared);
    }
    let spec = &mut world.pod["spec"];
    if dice.chance(50) {
        spec["containers"][0]["restartPolicyRules"] = json!([{
            "action": dice.pick(&["RestartAllContainers", "Restart"]),
            "exitCodes": {"operator": "In", "values": [1]},
        }]);
    }
    if dice.chance(50) {
        spec["hostNetwork"] = json!(true);
        spec["hostUsers"] = json!(dice.chance(40));
    }
}
