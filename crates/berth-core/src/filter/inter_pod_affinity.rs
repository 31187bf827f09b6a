//! `InterPodAffinity`: required affinity and anti-affinity of the pod, and anti-affinity of others.
//!
//! For affinity one running pod must match every term at once, and each term's domain of the node
//! must have such a pod. The first pod of a group that is near itself is let in.
//! Not here: the shortcut for host names (`InterPodAffinityHostnameFastPath`), off in 1.37.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::label::{Labels, Selector};
use super::facts::node::NodeFacts;
use super::facts::pod::{AffinityTerm, PodFacts};
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "InterPodAffinity",
    reach: Reach::Dynamic,
    prepare,
};

/// How many pods count in each domain: by topology key, then by its value.
#[derive(Debug, Clone, Default)]
struct Domains(BTreeMap<Text, BTreeMap<Text, i64>>);

impl Domains {
    fn change(&mut self, key: &Text, node: &NodeFacts, by: i64) {
        let Some(value) = node.labels.get(key) else {
            return;
        };
        let values = self.0.entry(key.clone()).or_default();
        let count = values.entry(value.clone()).or_insert(0);
        *count += by;
        if *count == 0 {
            values.remove(value);
            if values.is_empty() {
                self.0.remove(key);
            }
        }
    }

    fn has_some(&self, key: &str, value: &str) -> bool {
        let count = self.0.get(key).and_then(|values| values.get(value));
        count.is_some_and(|count| *count > 0)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A term of the pod to be placed, with its namespaces looked up.
#[derive(Debug, Clone)]
struct Term<'a> {
    term: &'a AffinityTerm,
    namespaces: Namespaces<'a>,
}

#[derive(Debug, Clone)]
enum Namespaces<'a> {
    Every,
    These(Cow<'a, [Text]>, BTreeSet<Text>),
}

impl Term<'_> {
    fn matches(&self, pod: &PodFacts) -> bool {
        let is_inside = match &self.namespaces {
            Namespaces::Every => true,
            Namespaces::These(listed, chosen) => {
                listed.binary_search(&pod.namespace).is_ok() || chosen.contains(&pod.namespace)
            }
        };
        is_inside && self.term.selector.matches(&pod.labels)
    }
}

#[derive(Debug, Clone)]
struct Ready<'a> {
    pod: &'a PodFacts,
    /// The labels of the pod's namespace.
    namespace: Labels,
    affinity: Vec<Term<'a>>,
    anti_affinity: Vec<Term<'a>>,
    near: Domains,
    apart: Domains,
    apart_for_others: Domains,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let namespace = cluster.namespaces.get(&pod.namespace).cloned();
    let terms = |terms: &'a [AffinityTerm]| terms.iter().map(|term| resolve(cluster, term));
    let mut ready = Ready {
        pod,
        namespace: namespace.unwrap_or_default(),
        affinity: terms(&pod.template.affinity).collect(),
        anti_affinity: terms(&pod.template.anti_affinity).collect(),
        near: Domains::default(),
        apart: Domains::default(),
        apart_for_others: Domains::default(),
    };
    let has_terms = !ready.affinity.is_empty() || !ready.anti_affinity.is_empty();
    for node in cluster.nodes_with_anti_affinity() {
        for other in node.pods_with_anti_affinity() {
            ready.change_for_others(other, &node.facts, 1);
        }
    }
    if has_terms {
        for node in cluster.nodes() {
            for other in node.pods() {
                ready.change(other, &node.facts, 1);
            }
        }
    }
    if !has_terms && ready.apart_for_others.is_empty() {
        return Outset::Idle;
    }
    Outset::Judge(Box::new(ready))
}

/// A namespace selector of the pod is looked up once; a pod's namespace may be gone from the list.
fn resolve<'a>(cluster: &Cluster, term: &'a AffinityTerm) -> Term<'a> {
    let selector = &term.namespace_selector;
    let namespaces = if selector.is_everything() {
        Namespaces::Every
    } else {
        let chosen = match selector {
            Selector::Nothing => BTreeSet::new(),
            Selector::All(_) => cluster.namespaces_where(|labels| selector.matches(labels)),
        };
        Namespaces::These(Cow::Borrowed(&term.namespaces), chosen)
    };
    Term { term, namespaces }
}

impl Ready<'_> {
    /// Counts `other` for the terms of the pod to be placed.
    fn change(&mut self, other: &PodFacts, node: &NodeFacts, by: i64) {
        if matches_all(&self.affinity, other) {
            for term in &self.affinity {
                self.near.change(&term.term.topology_key, node, by);
            }
        }
        for term in self.anti_affinity.iter().filter(|term| term.matches(other)) {
            self.apart.change(&term.term.topology_key, node, by);
        }
    }

    /// Counts the terms of `other` that the pod to be placed would violate.
    fn change_for_others(&mut self, other: &PodFacts, node: &NodeFacts, by: i64) {
        for term in &other.template.anti_affinity {
            let is_inside = term.namespaces.binary_search(&self.pod.namespace).is_ok()
                || term.namespace_selector.matches(&self.namespace);
            if is_inside && term.selector.matches(&self.pod.labels) {
                self.apart_for_others.change(&term.topology_key, node, by);
            }
        }
    }

    fn is_near(&self, node: &NodeFacts) -> bool {
        let mut everywhere = true;
        for term in &self.affinity {
            let key = &term.term.topology_key;
            let Some(value) = node.labels.get(key) else {
                return false;
            };
            everywhere &= self.near.has_some(key, value);
        }
        everywhere || self.near.is_empty() && matches_all(&self.affinity, self.pod)
    }

    fn is_apart(&self, node: &NodeFacts) -> bool {
        self.anti_affinity.iter().all(|term| {
            let key = &term.term.topology_key;
            let value = node.labels.get(key);
            value.is_none_or(|value| !self.apart.has_some(key, value))
        })
    }

    fn is_apart_for_others(&self, node: &NodeFacts) -> bool {
        let keys = self.apart_for_others.0.keys();
        keys.into_iter().all(|key| {
            let value = node.labels.get(key);
            value.is_none_or(|value| !self.apart_for_others.has_some(key, value))
        })
    }
}

/// Whether `pod` matches every term, of which there must be one.
fn matches_all(terms: &[Term<'_>], pod: &PodFacts) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term.matches(pod))
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let node: &NodeFacts = &node.facts;
        if !self.affinity.is_empty() && !self.is_near(node) {
            return Verdict::whatever_leaves(Reason::Affinity);
        }
        if !self.is_apart(node) {
            return Verdict::until_pods_leave(Reason::AntiAffinity);
        }
        if !self.is_apart_for_others(node) {
            return Verdict::until_pods_leave(Reason::AntiAffinityOfOthers);
        }
        Verdict::Fits
    }

    fn add(&mut self, pod: &PodFacts, node: &NodeEntry) {
        self.change(pod, &node.facts, 1);
        self.change_for_others(pod, &node.facts, 1);
    }

    fn remove(&mut self, pod: &PodFacts, node: &NodeEntry) {
        self.change(pod, &node.facts, -1);
        self.change_for_others(pod, &node.facts, -1);
    }

    fn copy(&self) -> Option<Box<dyn Judge + '_>> {
        Some(Box::new(self.clone()))
    }
}
