//! The pods of a cluster that has been looked at: where they are, or why they are nowhere.
//!
//! Invariant: a reason is the core's, or that of [`apart`]. Not here: layout.

use std::collections::BTreeMap;

use berth_core::amount::GpuUnits;
use berth_core::id::PodId;
use berth_core::sched::explain::{Reason, explain};
use berth_kube::live::apart;
use berth_kube::live::feed::{PodState, Standing};
use berth_kube::lower::GpuAsk;

use super::seen::Seen;
use crate::console::view::waiting::{EXPLAINED_MAX, NOT_ASSESSED};
use crate::output::API_VERSION;
use crate::output::ps::{PodList, PodRow};

/// Which pods.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) namespace: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) which: Which,
}

/// Which pods by how they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Which {
    #[default]
    All,
    /// Those without a place.
    Waiting,
}

/// The pods that this scheduler places or has placed, by name.
pub(crate) fn list(seen: &Seen, schedulers: &[String], filter: &Filter) -> PodList {
    let reasons = reasons(seen);
    let pods = seen.feed.pods().map(|(_, pod)| pod);
    let ours = pods.filter(|pod| schedulers.iter().any(|one| **one == *pod.record.scheduler));
    let rows = ours.map(|pod| row(seen, pod, &reasons));
    let is_wanted = |row: &PodRow| {
        let is = |wanted: &Option<String>, value: Option<&String>| {
            wanted.as_ref().is_none_or(|wanted| Some(wanted) == value)
        };
        is(&filter.namespace, Some(&row.namespace))
            && is(&filter.queue, row.queue.as_ref())
            && is(&filter.user, Some(&row.user))
            && (filter.which == Which::All || row.node.is_none())
    };
    PodList {
        api_version: API_VERSION,
        kind: "PodList",
        pods: rows.filter(is_wanted).collect(),
    }
}

/// The reason of each pod of a group that waits; groups beyond the bound have none that was worked
/// out.
fn reasons(seen: &Seen) -> BTreeMap<PodId, &'static str> {
    let index = seen.snapshot();
    let mut reasons = BTreeMap::new();
    for (at, (key, hindrance)) in seen.waiting.iter().enumerate() {
        let reason = if at < EXPLAINED_MAX {
            Some(explain(index, key, *hindrance).reason)
        } else {
            hindrance.reason()
        };
        let token = reason.map_or(NOT_ASSESSED, Reason::token);
        let pods = index
            .pending()
            .get(key)
            .into_iter()
            .flat_map(BTreeMap::values);
        reasons.extend(pods.map(|&pod| (pod, token)));
    }
    reasons
}

fn row(seen: &Seen, pod: &PodState, reasons: &BTreeMap<PodId, &'static str>) -> PodRow {
    let index = seen.snapshot();
    let record = &pod.record;
    let mut held = GpuUnits::ZERO;
    let mut queue = record.queue.as_ref().map(ToString::to_string);
    let node = record.node.as_ref().map(ToString::to_string);
    let mut reason = None;
    match &pod.standing {
        Standing::In(id) | Standing::Assumed(id, _) => {
            let known = index
                .pod(*id)
                .expect("what the feed has in is in the index");
            queue.get_or_insert_with(|| index.queue(known.spec.queue).name.to_string());
            if let Some(at) = known.node() {
                let grant = index
                    .node(at)
                    .placement(*id)
                    .map(|it| it.grant.equivalents());
                held = grant.unwrap_or(GpuUnits::ZERO);
                if node.is_none() {
                    reason = Some("Starting".to_owned());
                    held = GpuUnits::ZERO;
                }
            } else {
                let token = reasons.get(id).copied().unwrap_or(NOT_ASSESSED);
                reason = Some(token.to_owned());
            }
        }
        Standing::Resting { .. } | Standing::Leaving | Standing::Apart(_) => {
            reason = apart::words(pod).map(|said| said.reason.to_owned());
        }
    }
    let age = seen.now.since(record.created);
    PodRow {
        namespace: record.facts.namespace.to_string(),
        name: record.facts.name.to_string(),
        user: record.user.to_string(),
        queue,
        asks: asks(pod),
        gpus_held: held.gpus_f64(),
        node,
        reason,
        age: age.to_string(),
        age_ms: age.0,
    }
}

fn asks(pod: &PodState) -> String {
    match pod.record.gpu {
        GpuAsk::None => format!("{} CPU", pod.record.facts.template.requests.cpu),
        GpuAsk::Whole(1) => "1 GPU".to_owned(),
        GpuAsk::Whole(n) => format!("{n} GPUs"),
        GpuAsk::Share { compute, memory } if memory.is_zero() => format!("{compute} GPU"),
        GpuAsk::Share { compute, memory } => format!("{compute} GPU, {memory}"),
    }
}
