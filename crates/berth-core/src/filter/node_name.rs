//! `NodeName`: a pod that names its node goes there and nowhere else.

use std::collections::BTreeSet;

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::pod::PodFacts;
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodeName",
    reach: Reach::Static,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    wanted: &'a Text,
}

fn prepare<'a>(_cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    match &pod.node_name {
        None => Outset::Idle,
        Some(wanted) => {
            let names = BTreeSet::from([wanted.clone()]);
            Outset::JudgeOnly(names, Box::new(Ready { wanted }))
        }
    }
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        if node.facts.name == *self.wanted {
            Verdict::Fits
        } else {
            Verdict::whatever_leaves(Reason::NodeName)
        }
    }
}
