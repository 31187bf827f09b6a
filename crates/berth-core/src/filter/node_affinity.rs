//! `NodeAffinity`: the node has the labels of the node selector and satisfies a required term.

use super::cluster::{Cluster, NodeEntry};
use super::facts::node_selector::NodeSelector;
use super::facts::pod::{NodeRules, PodFacts};
use super::verdict::{Reason, Refusal, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodeAffinity",
    reach: Reach::Static,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    rules: &'a NodeRules,
}

fn prepare<'a>(_cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let rules: &NodeRules = &pod.template.rules;
    if rules.node_labels.is_empty() && rules.node_affinity.is_none() {
        return Outset::Idle;
    }
    let ready = Box::new(Ready { rules });
    let names = rules.node_affinity.as_ref().and_then(NodeSelector::names);
    match names {
        None => Outset::Judge(ready),
        Some(names) if names.is_empty() => {
            Outset::Refused(Refusal::whatever_leaves(Reason::NamesConflict))
        }
        Some(names) => Outset::JudgeOnly(names, ready),
    }
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        if self.rules.selects(&node.facts) {
            Verdict::Fits
        } else {
            Verdict::whatever_leaves(Reason::NodeAffinity)
        }
    }
}
