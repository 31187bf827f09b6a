//! All filters together: one pod against the nodes of a cluster.
//!
//! Invariant: for each node the first filter that objects is named, in the order of [`FILTERS`].
//! A node with nominated pods of at least the pod's priority must do with them and without them,
//! as in kube-scheduler's `RunFilterPluginsWithNominatedPods`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::pod::PodFacts;
use super::verdict::{Failure, Reason, Refusal, Verdict};
use super::{FILTERS, Filter, Judge, Outset, Reach};

/// A refusal or failure, and the filter that it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection<T> {
    /// The name of kube-scheduler's plugin.
    pub filter: &'static str,
    pub what: T,
}

/// What all filters together say of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The pod may go there.
    Fits,
    /// A filter refuses.
    Refused(Objection<Refusal>),
    /// A filter has no answer.
    Failed(Objection<Failure>),
}

/// What is known of a pod before any node is looked at.
#[derive(Debug)]
pub enum Start<'a> {
    /// Nodes are to be looked at, one by one.
    Open(Check<'a>),
    /// No node will do.
    Refused(Objection<Refusal>),
    /// The question can't be answered.
    Failed(Objection<Failure>),
}

/// The filters that have something to say to a pod, ready to look at nodes.
#[derive(Debug)]
pub struct Check<'a> {
    pod: &'a PodFacts,
    judges: Vec<Ready<'a>>,
    /// The nodes that are left over, where a filter names some.
    named: Option<BTreeSet<Text>>,
    /// The filter that named them last.
    namer: &'static str,
}

#[derive(Debug)]
struct Ready<'a> {
    filter: &'static Filter,
    judge: Box<dyn Judge + 'a>,
}

/// Prepares every filter for `pod`.
#[must_use]
pub fn start<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Start<'a> {
    let mut check = Check {
        pod,
        judges: Vec::new(),
        named: None,
        namer: "",
    };
    for &filter in FILTERS {
        match (filter.prepare)(cluster, pod) {
            Outset::Idle => {}
            Outset::Judge(judge) => check.judges.push(Ready { filter, judge }),
            Outset::JudgeOnly(names, judge) => {
                check.judges.push(Ready { filter, judge });
                check.narrow(filter, names);
                if check.named.as_ref().is_some_and(BTreeSet::is_empty) {
                    let what = Refusal::whatever_leaves(Reason::NotNamed);
                    return Start::Refused(objection(filter, what));
                }
            }
            Outset::Refused(what) => return Start::Refused(objection(filter, what)),
            Outset::Failed(what) => return Start::Failed(objection(filter, what)),
        }
    }
    Start::Open(check)
}

impl Check<'_> {
    /// Whether a filter whose verdict depends on other pods or volumes has something to say.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        let dynamic = |ready: &Ready<'_>| ready.filter.reach == Reach::Dynamic;
        self.judges.iter().any(dynamic)
    }

    /// What all filters say of `node`.
    #[must_use]
    pub fn ask(&self, node: &NodeEntry) -> Answer {
        if self.leaves_out(node) {
            let what = Refusal::whatever_leaves(Reason::NotNamed);
            let filter = self.namer;
            return Answer::Refused(Objection { filter, what });
        }
        match self.with_nominated(node) {
            Some(Answer::Fits) | None => self.ask_each(node, |_| true),
            Some(objection) => objection,
        }
    }

    /// What the filters of one reach say of `node`, nominated pods left aside.
    #[must_use]
    pub fn ask_those(&self, reach: Reach, node: &NodeEntry) -> Answer {
        if reach == Reach::Static && self.leaves_out(node) {
            let what = Refusal::whatever_leaves(Reason::NotNamed);
            let filter = self.namer;
            return Answer::Refused(Objection { filter, what });
        }
        self.ask_each(node, |filter| filter.reach == reach)
    }

    /// Counts `pod` as if it ran on `node`, for every question from now on.
    ///
    /// A filter that had nothing to say to the pod stays silent, as in kube-scheduler: whoever goes on
    /// placing pods starts afresh after one with anti-affinity or host ports.
    pub fn add(&mut self, pod: &PodFacts, node: &NodeEntry) {
        for ready in &mut self.judges {
            ready.judge.add(pod, node);
        }
    }

    /// The inverse of [`Self::add`].
    pub fn remove(&mut self, pod: &PodFacts, node: &NodeEntry) {
        for ready in &mut self.judges {
            ready.judge.remove(pod, node);
        }
    }

    fn leaves_out(&self, node: &NodeEntry) -> bool {
        let named = self.named.as_ref();
        named.is_some_and(|names| !names.contains(&node.facts.name))
    }

    fn ask_each(&self, node: &NodeEntry, asked: impl Fn(&Filter) -> bool) -> Answer {
        for ready in &self.judges {
            if !asked(ready.filter) {
                continue;
            }
            if let Some(objection) = answer(ready.filter, ready.judge.judge(node)) {
                return objection;
            }
        }
        Answer::Fits
    }

    /// What they say with the nominated pods on `node`; `None` if none of those counts.
    fn with_nominated(&self, node: &NodeEntry) -> Option<Answer> {
        let counts = |other: &&Arc<PodFacts>| {
            other.priority >= self.pod.priority && other.uid != self.pod.uid
        };
        let nominated: Vec<&Arc<PodFacts>> = node.nominated.iter().filter(counts).collect();
        if nominated.is_empty() {
            return None;
        }
        let mut crowded = node.clone();
        for &pod in &nominated {
            crowded.add(Arc::clone(pod));
        }
        for ready in &self.judges {
            let verdict = if let Some(mut judge) = ready.judge.copy() {
                for pod in &nominated {
                    judge.add(pod, node);
                }
                judge.judge(&crowded)
            } else {
                ready.judge.judge(&crowded)
            };
            if let Some(objection) = answer(ready.filter, verdict) {
                return Some(objection);
            }
        }
        Some(Answer::Fits)
    }

    fn narrow(&mut self, filter: &'static Filter, names: BTreeSet<Text>) {
        self.namer = filter.name;
        self.named = Some(match self.named.take() {
            None => names,
            Some(before) => before.intersection(&names).cloned().collect(),
        });
    }
}

fn answer(filter: &Filter, verdict: Verdict) -> Option<Answer> {
    match verdict {
        Verdict::Fits => None,
        Verdict::Refused(what) => Some(Answer::Refused(objection(filter, what))),
        Verdict::Failed(what) => Some(Answer::Failed(objection(filter, what))),
    }
}

fn objection<T>(filter: &Filter, what: T) -> Objection<T> {
    Objection {
        filter: filter.name,
        what,
    }
}
