//! Telling waiting pods why they wait: the one reason, in the pod's own status.
//!
//! Invariant: what is written is the explanation of the index at that moment, once for each change of
//! it and no more often than the rates below. Reasons of capacity stand as `Unschedulable`, which
//! autoscalers act on; reasons of quota keep their own token, so that no autoscaler does. Not here:
//! the explanation itself.

use std::collections::BTreeMap;

use berth_core::filter::facts::Text;
use berth_core::model::snapshot::{GroupKey, Snapshot};
use berth_core::sched::explain::{Explanation, Hindrance, Reason, explain};
use berth_core::time::{Span, Time};

use super::act::{Order, PodName};
use super::apart::{self, Audience, Words};
use super::feed::{Feed, PodState, Standing};

/// A group that waits, and what stops it.
pub type Waiting = (GroupKey, Hindrance);

/// Between two rounds of telling.
const ROUND: Span = Span::from_secs(1);

/// Groups that are explained in a round, and pods that are told of it.
const GROUPS_MAX: usize = 64;
const PODS_MAX: usize = 512;

/// The longest message.
const MESSAGE_CHARS_MAX: usize = 900;

/// Tells waiting pods why they wait.
#[derive(Debug, Default)]
pub(super) struct Teller {
    next: Option<Time>,
    /// Where the next round begins among the groups.
    from: usize,
    told: BTreeMap<Text, Said>,
}

/// What a pod is told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Said {
    /// Of the condition.
    reason: &'static str,
    message: String,
    /// Of why it waits.
    token: &'static str,
}

impl Teller {
    /// What is to be written now.
    pub(super) fn orders(
        &mut self,
        feed: &Feed,
        index: &Snapshot,
        waiting: &[Waiting],
        now: Time,
    ) -> Vec<Order> {
        if self.next.is_some_and(|next| now < next) {
            return Vec::new();
        }
        self.next = Some(now + ROUND);
        self.told.retain(|key, _| {
            let waits = |pod: &PodState| pod.record.node.is_none();
            feed.pod_named(key).is_some_and(waits)
        });
        let mut orders = Vec::new();
        for (key, pod) in feed.pods() {
            if let Some(said) = words_apart(pod) {
                self.tell(key, pod, said, &mut orders);
            }
        }
        let n = waiting.len();
        let mut looked = 0;
        while looked < n.min(GROUPS_MAX) && orders.len() < PODS_MAX {
            let (group, hindrance) = waiting[(self.from + looked) % n];
            looked += 1;
            self.tell_group(feed, index, &group, hindrance, &mut orders);
        }
        self.from = if n == 0 { 0 } else { (self.from + looked) % n };
        orders
    }

    fn tell_group(
        &mut self,
        feed: &Feed,
        index: &Snapshot,
        group: &GroupKey,
        hindrance: Hindrance,
        orders: &mut Vec<Order>,
    ) {
        let Some(pods) = index.pending().get(group) else {
            return;
        };
        let explanation = explain(index, group, hindrance);
        let said = words(index, &explanation);
        for &id in pods.values() {
            if orders.len() >= PODS_MAX {
                return;
            }
            if let Some((key, pod)) = feed.pod(id)
                && matches!(pod.standing, Standing::In(_))
            {
                self.tell(key, pod, said.clone(), orders);
            }
        }
    }

    fn tell(&mut self, key: &Text, pod: &PodState, said: Said, orders: &mut Vec<Order>) {
        if orders.len() >= PODS_MAX || self.told.get(key) == Some(&said) {
            return;
        }
        orders.push(Order::Tell {
            pod: PodName::of(&pod.record.facts),
            version: pod.record.version.clone(),
            reason: said.reason.to_owned(),
            message: said.message.clone(),
            token: said.token.to_owned(),
        });
        self.told.insert(key.clone(), said);
    }
}

/// An explanation as it is told.
fn words(index: &Snapshot, explanation: &Explanation) -> Said {
    let token = explanation.reason.token();
    let reason = if explanation.hindrance.is_quota() {
        token
    } else {
        "Unschedulable"
    };
    let mut message = format!("{token}: {}", explanation.reason.advice());
    let rules: Vec<String> = explanation
        .rules
        .iter()
        .map(|(rule, nodes)| format!("{nodes} node(s): {rule}"))
        .collect();
    if !rules.is_empty() {
        message = format!(
            "{message} Of {} nodes: {}.",
            index.nodes().len(),
            rules.join("; ")
        );
    }
    if message.chars().count() > MESSAGE_CHARS_MAX {
        message = message.chars().take(MESSAGE_CHARS_MAX).collect();
    }
    Said {
        reason,
        message,
        token,
    }
}

/// What is said to a pod that is not in the index; `None` where that is nobody's business here.
fn words_apart(pod: &PodState) -> Option<Said> {
    let Words {
        reason,
        message,
        audience,
    } = apart::words(pod)?;
    // A claim that isn't there is a matter of what nodes can serve, as kube-scheduler has it.
    let condition = if reason == Reason::NodeRules.token() {
        "Unschedulable"
    } else {
        reason
    };
    let said = || Said {
        reason: condition,
        message: format!("{reason}: {message}"),
        token: reason,
    };
    (audience == Audience::Everybody).then(said)
}
