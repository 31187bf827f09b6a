//! A scheduling cycle as a beginner would write it: no caches, no heaps, no groups.

use std::collections::BTreeSet;

use berth_core::id::{GangId, NodeId, PodId, QueueId};
use berth_core::model::draft::Draft;
use berth_core::model::gpu::GpuGrant;
use berth_core::model::pod::Phase;
use berth_core::model::snapshot::Snapshot;
use berth_core::quota::Beside;
use berth_core::sched::decisions::Bind;
use berth_core::sched::fit;
use berth_core::sched::policy::{Place, Policy};
use berth_core::sched::profile::Profile;
use berth_core::sched::turns::{self, Order};
use berth_core::stream::Stream;
use berth_core::time::Time;

/// What starts where, by brute force. For policies that choose by highest score.
pub(crate) fn binds(snapshot: &Snapshot, profile: &Profile, now: Time) -> Vec<Bind> {
    let mut policy = (profile.policy.build)(profile);
    policy.learn(snapshot);
    let mut draft = Draft::over(snapshot);
    let mut binds = Vec::new();
    let stranded: Vec<GangId> = draft.stranded_gangs().collect();
    for gang in stranded {
        match start_gang(&draft, gang, &mut *policy, now) {
            Some((after, started)) => {
                draft = after;
                binds.extend(started);
            }
            None => {
                let members: Vec<PodId> = draft
                    .pods()
                    .filter(|(_, pod)| pod.spec.gang == Some(gang) && pod.node().is_some())
                    .map(|(id, _)| id)
                    .collect();
                for pod in members {
                    draft.evict(pod, now).expect("it is bound");
                }
            }
        }
    }
    let mut passed: BTreeSet<PodId> = BTreeSet::new();
    loop {
        let mut waiting: Vec<(i32, Path, Time, String, PodId)> = Vec::new();
        for (id, pod) in draft.pods() {
            if matches!(pod.phase, Phase::Pending { .. }) && !passed.contains(&id) {
                let gang = pod.spec.gang.map(|gang| draft.gang(gang).priority);
                let priority = gang.unwrap_or(pod.spec.priority);
                let path = path(&draft, profile.order, pod.spec.queue, now);
                let (created, name) = (pod.spec.created, pod.spec.name.to_string());
                waiting.push((-priority, path, created, name, id));
            }
        }
        waiting.sort();
        let Some((.., pod)) = waiting.into_iter().next() else {
            return binds;
        };
        let spec = draft.pod(pod).expect("it waits").spec.clone();
        if let Some(gang) = spec.gang {
            if let Some((after, started)) = start_gang(&draft, gang, &mut *policy, now) {
                draft = after;
                binds.extend(started);
            } else {
                let members = draft.pods().filter(|(_, pod)| pod.spec.gang == Some(gang));
                passed.extend(members.map(|(id, _)| id));
            }
            continue;
        }
        match place(&draft, pod, &mut *policy) {
            Some((node, grant)) => {
                draft.bind(pod, node, grant, now).expect("it fits");
                binds.push(Bind { pod, node, grant });
            }
            None => {
                passed.insert(pod);
            }
        }
    }
}

/// What each branch from the root down to `queue` has had, with its name.
type Path = Vec<(i64, String)>;

fn path(draft: &Draft, order: Order, queue: QueueId, now: Time) -> Path {
    let Order::FairShare { entry_penalty, .. } = order else {
        return Vec::new();
    };
    let chain = draft.queue_chain(queue).map(|(id, queue)| {
        let had = turns::share(draft, id, entry_penalty, now);
        (had, queue.name.to_string())
    });
    let mut path: Path = chain.collect();
    path.reverse();
    path
}

fn start_gang(
    draft: &Draft,
    gang: GangId,
    policy: &mut dyn Policy,
    now: Time,
) -> Option<(Draft, Vec<Bind>)> {
    let mut after = draft.clone();
    let mut members: Vec<(Time, String, PodId)> = draft
        .pods()
        .filter(|(_, pod)| pod.spec.gang == Some(gang) && pod.node().is_none())
        .map(|(id, pod)| (pod.spec.created, pod.spec.name.to_string(), id))
        .collect();
    members.sort();
    let mut binds = Vec::new();
    for (.., pod) in members {
        if let Some((node, grant)) = place(&after, pod, policy) {
            after.bind(pod, node, grant, now).expect("it fits");
            binds.push(Bind { pod, node, grant });
        }
    }
    let enough = binds.len() >= draft.gang(gang).needed_at_once() as usize;
    enough.then_some((after, binds))
}

fn place(draft: &Snapshot, pod: PodId, policy: &mut dyn Policy) -> Option<(NodeId, GpuGrant)> {
    let spec = &draft.pod(pod)?.spec;
    let (catalog, request) = (draft.catalog(), draft.catalog().task(spec.task));
    let room = |charge: &[i64]| {
        let mut charge = charge.iter().enumerate();
        charge.all(|(meter, &amount)| {
            let room = draft.room_for(spec.queue, meter, amount, Beside::WhatIsHeld);
            room.is_ok()
        })
    };
    let meters = draft.meters();
    if !room(&meters.demand(catalog, request, spec.carrier())) {
        return None;
    }
    let mut best: Option<(i32, std::cmp::Reverse<&str>, NodeId)> = None;
    for (at, node) in draft.nodes().iter().enumerate() {
        if fit::fits(catalog, request, &node.shape, &node.state) {
            let place = Place {
                catalog,
                request,
                shape: &node.shape,
                state: &node.state,
            };
            let grant = policy.grant(&place, &mut Stream::from_seed(0));
            if !room(&meters.charge(request, spec.carrier(), &node.shape, &grant)) {
                continue;
            }
            let candidate = (
                policy.score(&place),
                std::cmp::Reverse(&*node.name),
                NodeId::at(at),
            );
            best = best.max(Some(candidate));
        }
    }
    let (.., id) = best?;
    let node = draft.node(id);
    let place = Place {
        catalog,
        request,
        shape: &node.shape,
        state: &node.state,
    };
    Some((id, policy.grant(&place, &mut Stream::from_seed(0))))
}
