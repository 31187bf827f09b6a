//! `NodeDeclaredFeatures`: the kubelet declares every feature that the pod needs (KEP-5328).

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::pod::PodFacts;
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodeDeclaredFeatures",
    reach: Reach::Static,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    needed: &'a [Text],
}

fn prepare<'a>(_cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let needed = &*pod.template.rules.features;
    if needed.is_empty() {
        return Outset::Idle;
    }
    Outset::Judge(Box::new(Ready { needed }))
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let declared = &node.facts.declared_features;
        let missing = |feature: &&Text| declared.binary_search(*feature).is_err();
        match self.needed.iter().find(missing) {
            None => Verdict::Fits,
            Some(feature) => Verdict::whatever_leaves(Reason::FeatureMissing {
                feature: feature.clone(),
            }),
        }
    }
}
