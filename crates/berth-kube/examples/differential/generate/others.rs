//! Features that are about other pods.

use serde_json::{Value, json};

use super::dice::Dice;
use super::{World, basic, pod, selector};

fn topology(dice: &mut Dice) -> &'static str {
    dice.pick(&[
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
        "disk",
    ])
}

/// Topology spread.
pub(crate) fn spread(dice: &mut Dice, world: &mut World) {
    let n = 1 + dice.below(2);
    let constraints: Vec<Value> = (0..n).map(|_| constraint(dice)).collect();
    world.pod["spec"]["topologySpreadConstraints"] = Value::Array(constraints);
    for pod in &mut world.pods {
        if dice.chance(10) {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        // The pods that are counted live in the namespace of the one in question.
        if dice.chance(50) {
            let namespace = world.pod["metadata"]["namespace"].clone();
            pod["metadata"]["namespace"] = namespace;
        }
    }
    for index in 0..dice.below(8) {
        let namespace = world.pod["metadata"]["namespace"].clone();
        let mut other = pod(&format!("spread{index}"), "red");
        other["metadata"]["namespace"] = namespace;
        other["metadata"]["uid"] = json!(format!("pod-spread{index}"));
        other["metadata"]["labels"] = json!({"app": "x", "tier": dice.pick(&["x", "y"])});
        let place = dice.below(world.nodes.len() as u64);
        other["spec"]["nodeName"] = json!(format!("n{}", dice.below(place + 1)));
        let is_new = |one: &Value| one["metadata"]["name"] != other["metadata"]["name"];
        if world.pods.iter().all(is_new) {
            world.pods.push(other);
        }
    }
    match dice.below(5) {
        0 => basic::taints(dice, world),
        1 => basic::node_affinity(dice, world),
        _ => {}
    }
}

fn constraint(dice: &mut Dice) -> Value {
    let mut one = json!({
        "maxSkew": 1 + dice.below(2),
        "topologyKey": if dice.chance(70) { "topology.kubernetes.io/zone" } else { topology(dice) },
        "whenUnsatisfiable": if dice.chance(90) { "DoNotSchedule" } else { "ScheduleAnyway" },
    });
    if let Some(selector) = selector(dice) {
        one["labelSelector"] = selector;
    }
    if dice.chance(30) && one["whenUnsatisfiable"] == "DoNotSchedule" {
        one["minDomains"] = json!(1 + dice.below(4));
    }
    if dice.chance(30) {
        one["nodeAffinityPolicy"] = json!(dice.pick(&["Honor", "Ignore"]));
    }
    if dice.chance(30) {
        one["nodeTaintsPolicy"] = json!(dice.pick(&["Honor", "Ignore"]));
    }
    if dice.chance(25) && one.get("labelSelector").is_some() {
        one["matchLabelKeys"] = json!([dice.pick(&["tier", "gone"])]);
    }
    one
}

fn terms(dice: &mut Dice) -> Value {
    let n = 1 + dice.below(2);
    let one = |_| {
        let mut term = json!({"topologyKey": topology(dice)});
        if let Some(selector) = selector(dice) {
            term["labelSelector"] = selector;
        }
        if dice.chance(30) {
            term["namespaces"] = json!([dice.pick(&["red", "blue", "gone"]), "green"]);
        }
        if dice.chance(30) {
            term["namespaceSelector"] = match dice.below(4) {
                0 => json!({}),
                1 => json!({"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}),
                2 => json!({"matchLabels": {"kubernetes.io/metadata.name": "blue"}}),
                _ => json!({"matchLabels": {"team": dice.pick(&["x", "y"])}}),
            };
        }
        term
    };
    let terms: Value = (0..n).map(one).collect();
    json!({"requiredDuringSchedulingIgnoredDuringExecution": terms})
}

/// Required affinity of the pod.
pub(crate) fn affinity(dice: &mut Dice, world: &mut World) {
    world.pod["spec"]["affinity"]["podAffinity"] = terms(dice);
    if dice.chance(15) {
        world.pods.clear();
    }
}

/// Required anti-affinity of the pod.
pub(crate) fn anti_affinity(dice: &mut Dice, world: &mut World) {
    world.pod["spec"]["affinity"]["podAntiAffinity"] = terms(dice);
}

/// Required anti-affinity of running pods.
pub(crate) fn anti_affinity_of_others(dice: &mut Dice, world: &mut World) {
    for pod in &mut world.pods {
        if dice.chance(40) {
            pod["spec"]["affinity"]["podAntiAffinity"] = terms(dice);
        }
    }
    if dice.chance(20) {
        // A namespace that has gone from the list has no labels.
        world.lists.remove("namespaces");
    }
}

/// Pods that preemption has promised a place, among rules that count them.
pub(crate) fn nominated(dice: &mut Dice, world: &mut World) {
    match dice.below(7) {
        0 => basic::resources(dice, world),
        1 => spread(dice, world),
        2..=4 => affinity(dice, world),
        5 => anti_affinity(dice, world),
        _ => basic::ports(dice, world),
    }
    if dice.chance(70) {
        world.pod["spec"]["priority"] = json!(dice.pick(&[0, 5, 10]));
    }
    for _ in 0..1 + dice.below(3) {
        let mut other = pod(
            &format!("nominated{}", world.pods.len()),
            dice.pick(&["red", "blue"]),
        );
        other["metadata"]["labels"] = json!({"app": dice.pick(&["x", "y"]), "tier": "x"});
        other["status"] = json!({"nominatedNodeName": dice.pick(&["n0", "n1", "n2"])});
        if dice.chance(80) {
            other["spec"]["priority"] = json!(dice.pick(&[0, 5, 10]));
        }
        let requests = json!({"cpu": dice.pick(&["500m", "2"]), "nvidia.com/gpu": "1"});
        other["spec"]["containers"][0]["resources"] = json!({"requests": requests});
        if dice.chance(40) {
            other["spec"]["containers"][0]["ports"] =
                json!([{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]);
        }
        if dice.chance(30) {
            other["spec"]["affinity"]["podAntiAffinity"] = terms(dice);
        }
        world.pods.push(other);
    }
}
