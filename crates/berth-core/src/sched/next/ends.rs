//! Which running work would have to end.
//!
//! Invariant: each candidate is whole jobs: of a gang, all members end. Those of the fewest jobs come
//! first, of the fewest pods then, and of what has run longest then; machines come last, because they
//! don't end by themselves. Not here: who may be made to end (that is [`room`](crate::sched::room)).

use std::collections::BTreeSet;

use crate::id::{NodeId, PodId};
use crate::limits;
use crate::model::draft::Draft;
use crate::model::node::Readiness;
use crate::model::pod::{Phase, Pod};
use crate::model::snapshot::{Carrier, Snapshot};
use crate::sched::fit;
use crate::sched::next::{Waiting, fits_among};
use crate::time::Time;

/// A job that runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Job {
    is_machine: bool,
    n_pods: usize,
    since: Time,
    /// Breaks ties, and with the pods' names tells jobs apart.
    name: std::sync::Arc<str>,
    pods: Vec<PodId>,
}

/// Jobs whose end would make room for all of `waiting`, best first.
pub(super) fn candidates(snapshot: &Snapshot, waiting: &Waiting, now: Time) -> Vec<Vec<PodId>> {
    let mut found: BTreeSet<(usize, Job, Vec<PodId>)> = BTreeSet::new();
    let mut add = |jobs: Vec<Job>| {
        let Some(first) = jobs.iter().max().cloned() else {
            return;
        };
        let mut pods: Vec<PodId> = jobs.iter().flat_map(|job| &job.pods).copied().collect();
        pods.sort_unstable();
        found.insert((jobs.len(), first, pods));
    };
    if waiting.has_quota(snapshot) {
        for &node in &waiting.may_open {
            on_node(snapshot, waiting, node, now, &mut add);
        }
    } else {
        in_tree(snapshot, waiting, now, &mut add);
    }
    found.into_iter().map(|(_, _, pods)| pods).collect()
}

/// Jobs on one node without which a pod fits there: each that is enough alone, or else the fewest of
/// those that have run longest.
fn on_node(
    snapshot: &Snapshot,
    waiting: &Waiting,
    id: NodeId,
    now: Time,
    add: &mut impl FnMut(Vec<Job>),
) {
    let node = snapshot.node(id);
    let catalog = snapshot.catalog();
    let could = node.state.readiness == Readiness::Ready
        && fit::shape_could_serve(catalog, &waiting.request, &node.shape);
    if !could {
        return;
    }
    let fits_without = |jobs: &[&Job]| {
        let mut without = (**node).clone();
        for pod in jobs.iter().flat_map(|job| &job.pods) {
            without.release(*pod);
        }
        fit::fits(catalog, &waiting.request, &without.shape, &without.state)
    };
    let placed = node.placements.iter().map(|placement| placement.pod);
    let jobs = jobs_of(snapshot, placed, now);
    let alone: Vec<&Job> = jobs.iter().filter(|job| fits_without(&[job])).collect();
    if !alone.is_empty() {
        alone.into_iter().for_each(|job| add(vec![job.clone()]));
        return;
    }
    let mut chosen: Vec<&Job> = Vec::new();
    for job in &jobs {
        chosen.push(job);
        if fits_without(&chosen) {
            break;
        }
    }
    if !fits_without(&chosen) {
        return;
    }
    // Whoever was taken in vain is let go.
    for at in (0..chosen.len()).rev() {
        let job = chosen.remove(at);
        if !fits_without(&chosen) {
            chosen.insert(at, job);
        }
    }
    add(chosen.into_iter().cloned().collect());
}

/// Jobs in the queues around without which the tree has room, and some node.
fn in_tree(snapshot: &Snapshot, waiting: &Waiting, now: Time, add: &mut impl FnMut(Vec<Job>)) {
    let roots = |queue| snapshot.queue_chain(queue).last().map(|(id, _)| id);
    let own = roots(waiting.spec.queue);
    let bound = snapshot.pods().filter(|(_, pod)| pod.node().is_some());
    let near = bound.filter(|(_, pod)| roots(pod.spec.queue) == own);
    let jobs = jobs_of(snapshot, near.map(|(id, _)| id), now);
    let without = |draft: &mut Draft, job: &Job| {
        for &pod in &job.pods {
            draft.remove_pod(pod, now).expect("it was just seen bound");
        }
    };
    let is_enough = |draft: &Draft| {
        waiting.has_quota(draft) && fits_among(draft, &waiting.may_open, &waiting.request)
    };
    let mut alone = false;
    for job in jobs.iter().take(limits::NEXT_JOBS_MAX) {
        let mut draft = Draft::over(snapshot);
        without(&mut draft, job);
        if is_enough(&draft) {
            add(vec![job.clone()]);
            alone = true;
        }
    }
    if alone {
        return;
    }
    let (mut draft, mut chosen) = (Draft::over(snapshot), Vec::new());
    for job in jobs.into_iter().take(limits::NEXT_JOBS_MAX) {
        without(&mut draft, &job);
        chosen.push(job);
        if is_enough(&draft) {
            return add(chosen);
        }
    }
}

/// The jobs that `pods` belong to, each once and whole, best first.
fn jobs_of(snapshot: &Snapshot, pods: impl Iterator<Item = PodId>, now: Time) -> Vec<Job> {
    let (mut seen, mut jobs) = (BTreeSet::new(), BTreeSet::new());
    for id in pods {
        let Some(pod) = snapshot.pod(id).filter(|_| !seen.contains(&id)) else {
            continue;
        };
        let pods = match pod.spec.gang {
            None => vec![id],
            Some(gang) => {
                let members = snapshot.pods();
                let members = members.filter(|(_, other)| other.spec.gang == Some(gang));
                let bound = members.filter(|(_, other)| other.node().is_some());
                bound.map(|(id, _)| id).collect()
            }
        };
        seen.extend(pods.iter().copied());
        jobs.insert(Job {
            is_machine: pod.spec.carrier() == Carrier::Machine,
            n_pods: pods.len(),
            since: since(pod, now),
            name: std::sync::Arc::clone(&pod.spec.name),
            pods,
        });
    }
    jobs.into_iter().collect()
}

fn since(pod: &Pod, now: Time) -> Time {
    match pod.phase {
        Phase::Bound { since, .. } => since,
        Phase::Pending { .. } => now,
    }
}
