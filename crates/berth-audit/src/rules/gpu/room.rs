//! Free whole GPUs by node, and which pods a node lets in.
//!
//! Not here: rules.

use super::stack::{held_on, replicas};
use crate::dump::kind::node::Node;
use crate::dump::kind::pod::{Pod, Toleration};
use crate::rule::prelude::*;

/// The name of whole GPUs.
pub(super) const GPU: &str = "nvidia.com/gpu";

/// A node with whole GPUs that takes pods.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) node: &'a Node,
    /// GPUs for pods.
    pub(super) n_gpus: i64,
    /// GPUs that nobody has asked for.
    pub(super) n_free: i64,
}

/// Nodes with whole GPUs that are ready and not cordoned. Shared cards are left out: a unit there is
/// a slice.
pub(super) fn rooms<'a>(cx: &Cx<'a>) -> Vec<Room<'a>> {
    let nodes = cx.dump.objects.nodes.iter();
    nodes
        .filter(|node| {
            node.condition("Ready") == "True" && !node.spec.unschedulable.0 && replicas(node) < 2
        })
        .filter_map(|node| {
            let n_gpus = node.allocatable(GPU);
            let n_held = held_on(cx, &node.meta().name, GPU);
            (n_gpus > 0).then_some(Room {
                node,
                n_gpus,
                n_free: n_gpus.saturating_sub(n_held).max(0),
            })
        })
        .collect()
}

impl Room<'_> {
    /// Whether the node's taints and the pod's node selector let the pod in.
    pub(super) fn lets_in(&self, pod: &Pod) -> bool {
        let labels = &self.node.meta().labels;
        let is_selected = pod
            .spec
            .node_selector
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value));
        let taints = self.node.spec.taints.iter();
        is_selected
            && taints
                .filter(|taint| taint.effect != "PreferNoSchedule")
                .all(|taint| {
                    pod.spec.tolerations.iter().any(|toleration| {
                        tolerates(toleration, &taint.key, &taint.value, &taint.effect)
                    })
                })
    }
}

/// Whether a toleration covers a taint, as the scheduler matches them.
fn tolerates(toleration: &Toleration, key: &str, value: &str, effect: &str) -> bool {
    let is_effect = toleration.effect.is_empty() || toleration.effect == effect;
    let is_key = toleration.key.is_empty() || toleration.key == key;
    let is_value = toleration.operator == "Exists" || toleration.value == value;
    is_effect && is_key && is_value
}
