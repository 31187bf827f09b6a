//! Which nodes reach a volume, by the terms of its node affinity, and which GPUs a pod wants there.
//!
//! Invariant: as Kubernetes does, no term at all matches no node, and a term without requirements
//! neither.

use std::collections::BTreeSet;

use crate::dump::kind::node::Node;
use crate::dump::kind::pod::{NodeTerm, NodeTerms, Pod};
use crate::dump::kind::storage::PersistentVolume;
use crate::dump::meta::Requirement;
use crate::dump::text::Text;
use crate::rule::prelude::*;

/// True where a node reaches a volume.
pub(super) fn reaches(node: &Node, volume: &PersistentVolume) -> bool {
    let affinity = volume.spec.node_affinity.as_ref();
    affinity.is_none_or(|affinity| matches(node, &affinity.required))
}

fn matches(node: &Node, terms: &NodeTerms) -> bool {
    terms
        .node_selector_terms
        .iter()
        .any(|term| holds(node, term))
}

fn holds(node: &Node, term: &NodeTerm) -> bool {
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return false;
    }
    let meta = node.meta();
    let by_label = |wanted: &Requirement| {
        let value = meta.labels.get(&wanted.key).map(Text::as_str);
        meets(wanted, value)
    };
    let by_field = |wanted: &Requirement| {
        wanted.key == "metadata.name" && meets(wanted, Some(meta.name.as_str()))
    };
    term.match_expressions.iter().all(by_label) && term.match_fields.iter().all(by_field)
}

fn meets(wanted: &Requirement, value: Option<&str>) -> bool {
    let is_listed = || value.is_some_and(|value| wanted.values.iter().any(|known| known == value));
    let numbers = || {
        let value: i64 = value?.parse().ok()?;
        let bound: i64 = wanted.values.first()?.parse().ok()?;
        Some((value, bound))
    };
    match wanted.operator.as_str() {
        "In" => is_listed(),
        "NotIn" => !is_listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => numbers().is_some_and(|(value, bound)| value > bound),
        "Lt" => numbers().is_some_and(|(value, bound)| value < bound),
        _ => false,
    }
}

/// GPU resources that a pod asks for.
pub(super) fn gpus(pod: &Pod) -> Vec<(&str, i64)> {
    let containers = pod.spec.all_containers();
    let names = containers.flat_map(|container| {
        let resources = &container.resources;
        resources
            .requests
            .iter()
            .chain(resources.limits.iter())
            .map(|(name, _)| name.as_str())
    });
    let names: BTreeSet<&str> = names
        .filter(|name| name.starts_with("nvidia.com/"))
        .collect();
    let with_amount = names
        .into_iter()
        .map(|name| (name, pod.spec.request(name).units()));
    with_amount.filter(|(_, wanted)| *wanted > 0).collect()
}

/// The terms of a volume's affinity in a few words.
pub(super) fn shown(volume: &PersistentVolume) -> String {
    let Some(affinity) = &volume.spec.node_affinity else {
        return "every node".to_owned();
    };
    let terms = affinity.required.node_selector_terms.iter().map(|term| {
        let requirements = term.match_expressions.iter().chain(&term.match_fields);
        let texts: Vec<String> = requirements
            .map(|wanted| {
                let values: Vec<&str> = wanted.values.iter().map(Text::as_str).collect();
                format!("{} {} {}", wanted.key, wanted.operator, values.join(","))
            })
            .collect();
        texts.join(" and ")
    });
    let terms: Vec<String> = terms.collect();
    if terms.is_empty() {
        "no term, which no node meets".to_owned()
    } else {
        terms.join(" or ")
    }
}

/// Path of the terms, for evidence.
pub(super) const PATH: &str = "spec.nodeAffinity.required";
