//! `PodTopologySpread`: no domain gets more pods of a kind ahead of the emptiest than allowed.
//!
//! Only constraints with `DoNotSchedule`. Counts are kept by domain, so that adding or removing a
//! pod is one step. Two peculiarities of kube-scheduler are kept: a selector that matches everything
//! counts no running pod, and a terminating pod doesn't count unless it is added afterwards.

use std::collections::BTreeMap;

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::node::NodeFacts;
use super::facts::pod::{Inclusion, PodFacts, SpreadConstraint};
use super::facts::taint::first_untolerated;
use super::verdict::{Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "PodTopologySpread",
    reach: Reach::Dynamic,
    prepare,
};

#[derive(Debug, Clone)]
struct Ready<'a> {
    pod: &'a PodFacts,
    spreads: Vec<Spread<'a>>,
}

/// One constraint, and how many pods of the kind each domain has.
#[derive(Debug, Clone)]
struct Spread<'a> {
    constraint: &'a SpreadConstraint,
    /// One if the pod is of the kind itself.
    itself: i64,
    counts: BTreeMap<Text, i64>,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    if pod.template.spread.is_empty() {
        return Outset::Idle;
    }
    let spreads = pod.template.spread.iter().map(|constraint| Spread {
        constraint,
        itself: i64::from(constraint.selector.matches(&pod.labels)),
        counts: BTreeMap::new(),
    });
    let mut ready = Ready {
        pod,
        spreads: spreads.collect(),
    };
    for node in cluster.nodes() {
        ready.count(node);
    }
    Outset::Judge(Box::new(ready))
}

impl<'a> Ready<'a> {
    fn count(&mut self, node: &NodeEntry) {
        if !self.has_every_key(&node.facts) {
            return;
        }
        let pod = self.pod;
        for spread in &mut self.spreads {
            if !spread.includes(pod, &node.facts) {
                continue;
            }
            let Some(domain) = node.facts.labels.get(&spread.constraint.topology_key) else {
                continue;
            };
            let selector = &spread.constraint.selector;
            let of_kind = |other: &PodFacts| {
                !other.is_terminating
                    && other.namespace == pod.namespace
                    && selector.matches(&other.labels)
            };
            let n_pods = if selector.is_everything() {
                0
            } else {
                node.pods().iter().filter(|other| of_kind(other)).count()
            };
            let n_pods = i64::try_from(n_pods).expect("a node has fewer pods than 2^63");
            *spread.counts.entry(domain.clone()).or_insert(0) += n_pods;
        }
    }

    fn has_every_key(&self, node: &NodeFacts) -> bool {
        let has = |spread: &Spread<'a>| node.labels.has(&spread.constraint.topology_key);
        self.spreads.iter().all(has)
    }

    fn change(&mut self, other: &PodFacts, node: &NodeFacts, by: i64) {
        if other.namespace != self.pod.namespace || !self.has_every_key(node) {
            return;
        }
        let pod = self.pod;
        for spread in &mut self.spreads {
            let of_kind = spread.constraint.selector.matches(&other.labels);
            let domain = node.labels.get(&spread.constraint.topology_key);
            if let (true, Some(domain)) = (of_kind && spread.includes(pod, node), domain) {
                *spread.counts.entry(domain.clone()).or_insert(0) += by;
            }
        }
    }
}

impl Spread<'_> {
    /// Whether the node's domain counts for `pod`.
    fn includes(&self, pod: &PodFacts, node: &NodeFacts) -> bool {
        let by_affinity = match self.constraint.affinity_policy {
            Inclusion::Honor => pod.template.rules.selects(node),
            Inclusion::Ignore => true,
        };
        by_affinity
            && match self.constraint.taints_policy {
                Inclusion::Honor => {
                    first_untolerated(node, &pod.template.rules.tolerations).is_none()
                }
                Inclusion::Ignore => true,
            }
    }

    /// The count of the emptiest domain, or none while there are too few domains.
    fn least(&self) -> i64 {
        let n_domains = i32::try_from(self.counts.len()).unwrap_or(i32::MAX);
        if n_domains < self.constraint.domains_min {
            return 0;
        }
        // Without any domain, kube-scheduler starts from the largest 32-bit number.
        self.counts
            .values()
            .copied()
            .min()
            .unwrap_or(i64::from(i32::MAX))
    }

    fn judge(&self, node: &NodeFacts) -> Verdict {
        let key = &self.constraint.topology_key;
        let Some(domain) = node.labels.get(key) else {
            return Verdict::whatever_leaves(Reason::SpreadLabelMissing { key: key.clone() });
        };
        let there = self.counts.get(domain).copied().unwrap_or(0);
        let skew = there + self.itself - self.least();
        if skew > i64::from(self.constraint.skew_max) {
            return Verdict::until_pods_leave(Reason::Spread {
                key: key.clone(),
                skew,
                skew_max: self.constraint.skew_max,
            });
        }
        Verdict::Fits
    }
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let verdicts = self.spreads.iter().map(|spread| spread.judge(&node.facts));
        let mut objections = verdicts.filter(|verdict| *verdict != Verdict::Fits);
        objections.next().unwrap_or(Verdict::Fits)
    }

    fn add(&mut self, pod: &PodFacts, node: &NodeEntry) {
        self.change(pod, &node.facts, 1);
    }

    fn remove(&mut self, pod: &PodFacts, node: &NodeEntry) {
        self.change(pod, &node.facts, -1);
    }

    fn copy(&self) -> Option<Box<dyn Judge + '_>> {
        Some(Box::new(self.clone()))
    }
}
