//! `NodeUnschedulable`: a cordoned node takes only pods that tolerate its being cordoned.

use arcstr::literal;

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::node::Cordon;
use super::facts::pod::PodFacts;
use super::facts::taint::{Effect, Taint};
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodeUnschedulable",
    reach: Reach::Static,
    prepare,
};

/// The key of the taint that stands for being cordoned.
const UNSCHEDULABLE: Text = literal!("node.kubernetes.io/unschedulable");

#[derive(Debug)]
struct Ready {
    is_tolerated: bool,
}

fn prepare<'a>(_cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let taint = Taint {
        key: UNSCHEDULABLE,
        value: Text::default(),
        effect: Effect::NoSchedule,
    };
    let is_tolerated = pod
        .template
        .rules
        .tolerations
        .iter()
        .any(|one| one.tolerates(&taint));
    Outset::Judge(Box::new(Ready { is_tolerated }))
}

impl Judge for Ready {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        match node.facts.cordon {
            Cordon::Cordoned if !self.is_tolerated => Verdict::whatever_leaves(Reason::Cordoned),
            Cordon::Cordoned | Cordon::Open => Verdict::Fits,
        }
    }
}
