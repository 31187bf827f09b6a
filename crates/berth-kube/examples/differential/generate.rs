//! Random cases: small clusters in which few words occur, so that rules meet each other often.
//!
//! Invariant: a seed gives the same case for ever, as long as this file doesn't change. Each case is
//! about one to four features, so that one refusal doesn't hide all others. Objects carry the
//! defaults that the API server would have given them.

mod basic;
mod devices;
mod dice;
mod others;
mod storage;

use berth_core::stream::Stream;
use serde_json::{Map, Value, json};

use dice::Dice;

/// A feature of a case: it adds to the cluster and to the pod.
type Feature = fn(&mut Dice, &mut World);

/// What a case about devices can be about.
const DEVICE_FEATURES: &[Feature] = &[
    devices::claims,
    devices::claims,
    devices::claims,
    devices::counters,
    devices::counters,
    devices::shares,
    devices::shares,
    devices::pools,
    devices::taken,
    devices::taken,
    devices::allocated,
    devices::extended,
    devices::extended,
    devices::broken,
];

/// How many cases of a hundred are about devices.
const DEVICE_CASES: u64 = 40;

/// What other cases can be about.
const FEATURES: &[Feature] = &[
    basic::resources,
    basic::resources,
    basic::pod_level,
    basic::resized,
    basic::taints,
    basic::cordons,
    basic::selectors,
    basic::node_affinity,
    basic::node_affinity,
    basic::names,
    basic::ports,
    basic::declared_features,
    others::spread,
    others::spread,
    others::spread,
    others::affinity,
    others::affinity,
    others::anti_affinity,
    others::anti_affinity_of_others,
    others::nominated,
    others::nominated,
    storage::bound,
    storage::waiting,
    storage::waiting,
    storage::limits,
    storage::limits,
    storage::exclusive,
    storage::disks,
    storage::broken,
];

/// A case in the making.
#[derive(Debug)]
pub(crate) struct World {
    pub pod: Value,
    pub nodes: Vec<Value>,
    pub pods: Vec<Value>,
    /// Lists by name, beyond nodes and pods.
    pub lists: Map<String, Value>,
}

impl World {
    /// Adds an object to a list, unless it has one of that name.
    pub(crate) fn add(&mut self, list: &str, object: Value) {
        let list = self.lists.entry(list).or_insert_with(|| json!([]));
        let list = list.as_array_mut().expect("every entry is a list");
        let name = |one: &Value, part: &str| one["metadata"][part].clone();
        let is_same = |one: &Value| {
            ["namespace", "name"]
                .iter()
                .all(|part| name(one, part) == name(&object, part))
        };
        if !list.iter().any(is_same) {
            list.push(object);
        }
    }

    /// How many objects a list has.
    pub(crate) fn count(&self, list: &str) -> usize {
        self.lists
            .get(list)
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    }

    /// Every pod, the one in question first.
    pub(crate) fn every_pod(&mut self) -> impl Iterator<Item = &mut Value> {
        std::iter::once(&mut self.pod).chain(&mut self.pods)
    }
}

/// The case of a seed.
pub(crate) fn case(seed: u64) -> Value {
    let root = Stream::from_seed(seed).child("differential");
    let mut dice = Dice::new(root.child("cluster"));
    let mut world = cluster(&mut dice);
    let is_about_devices = dice.chance(DEVICE_CASES);
    let features = if is_about_devices {
        DEVICE_FEATURES
    } else {
        FEATURES
    };
    let n_features = if is_about_devices {
        dice.pick(&[1, 1, 1, 2])
    } else {
        dice.pick(&[1, 1, 1, 1, 2, 2, 2, 3, 3, 4])
    };
    for index in 0..n_features {
        let mut dice = Dice::new(root.child("feature").child_n(index));
        let feature = dice.pick(features);
        feature(&mut dice, &mut world);
    }
    let mut case = world.lists;
    case.insert("id".into(), json!(seed));
    case.insert("pod".into(), world.pod);
    case.insert("nodes".into(), Value::Array(world.nodes));
    case.insert("pods".into(), Value::Array(world.pods));
    Value::Object(case)
}

fn cluster(dice: &mut Dice) -> World {
    let mut world = World {
        pod: pod("wanted", dice.pick(&["red", "blue"])),
        nodes: Vec::new(),
        pods: Vec::new(),
        lists: Map::new(),
    };
    labels(dice, &mut world.pod);
    for namespace in ["red", "blue", "green"] {
        let mut labels = json!({"kubernetes.io/metadata.name": namespace});
        if dice.chance(60) {
            labels["team"] = json!(dice.pick(&["x", "y"]));
        }
        let object = json!({"metadata": {"name": namespace, "labels": labels}});
        world.add("namespaces", object);
    }
    let n_nodes_max = if dice.chance(50) { 4 } else { 10 };
    let n_nodes = 1 + dice.below(n_nodes_max);
    for index in 0..n_nodes {
        world.nodes.push(node(dice, &format!("n{index}")));
    }
    for index in 0..dice.below(3 * n_nodes) {
        let mut other = pod(&format!("p{index}"), dice.pick(&["red", "blue", "green"]));
        labels(dice, &mut other);
        let node = dice.below(n_nodes);
        other["spec"]["nodeName"] = json!(format!("n{node}"));
        world.pods.push(other);
    }
    world
}

/// A node with room for a few pods.
fn node(dice: &mut Dice, name: &str) -> Value {
    let mut labels = Map::new();
    if dice.chance(90) {
        labels.insert("kubernetes.io/hostname".into(), json!(name));
    }
    if dice.chance(85) {
        labels.insert(
            "topology.kubernetes.io/zone".into(),
            json!(dice.pick(&["a", "b", "c"])),
        );
    }
    if dice.chance(40) {
        labels.insert("disk".into(), json!(dice.pick(&["ssd", "hdd", ""])));
    }
    if dice.chance(40) {
        labels.insert("gen".into(), json!(dice.pick(&["1", "2", "3", "+4", "x"])));
    }
    json!({
        "metadata": {"name": name, "uid": format!("node-{name}"), "labels": labels},
        "status": {"allocatable": {"cpu": "64", "memory": "64Gi", "pods": "110"}},
    })
}

/// A pod that asks for nothing.
pub(crate) fn pod(name: &str, namespace: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": namespace, "uid": format!("pod-{namespace}-{name}")},
        "spec": {"containers": [{"name": "c"}]},
    })
}

fn labels(dice: &mut Dice, pod: &mut Value) {
    let mut labels = Map::new();
    for key in ["app", "tier"] {
        if dice.chance(65) {
            labels.insert(key.into(), json!(dice.pick(&["x", "y"])));
        }
    }
    if !labels.is_empty() {
        pod["metadata"]["labels"] = Value::Object(labels);
    }
}

/// A label selector over the labels of pods, or none.
pub(crate) fn selector(dice: &mut Dice) -> Option<Value> {
    Some(match dice.below(10) {
        0 => return None,
        1 => json!({}),
        2 => json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}),
        3 => json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
        4 => json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}),
        5 => {
            json!({"matchLabels": {"app": dice.pick(&["x", "y"]), "tier": dice.pick(&["x", "y"])}})
        }
        6 => json!({"matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["x", dice.pick(&["y", "z"])]}
        ]}),
        _ => json!({"matchLabels": {"app": dice.pick(&["x", "y"])}}),
    })
}
