//! `TaintToleration`: every `NoSchedule` and `NoExecute` taint of the node is tolerated.

use super::cluster::{Cluster, NodeEntry};
use super::facts::pod::PodFacts;
use super::facts::taint::{Toleration, first_untolerated};
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "TaintToleration",
    reach: Reach::Static,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    tolerations: &'a [Toleration],
}

fn prepare<'a>(_cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    Outset::Judge(Box::new(Ready {
        tolerations: &pod.template.rules.tolerations,
    }))
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        match first_untolerated(&node.facts, self.tolerations) {
            None => Verdict::Fits,
            Some(taint) => Verdict::whatever_leaves(Reason::Taint(taint.clone())),
        }
    }
}
