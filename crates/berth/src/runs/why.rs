//! Why a pod, a gang or a queue waits, worked out from a cluster that has been looked at.
//!
//! Invariant: reasons are the core's, or those of [`apart`] for what no cycle sees. Not here: layout.

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::filter::facts::Text;
use berth_core::id::{PodId, QueueId};
use berth_core::model::gpu::GpuGrant;
use berth_core::model::pod::{Phase, Pod};
use berth_core::model::snapshot::{Alike, GroupKey, Snapshot};
use berth_core::quota::Meter;
use berth_core::sched::explain::Explanation;
use berth_core::sched::holders::{self, Holders, Short as Lacks};
use berth_kube::live::apart;
use berth_kube::live::change::Kind;
use berth_kube::live::feed::{Apart, PodState, QueueStanding, Standing};
use berth_kube::live::queue_status;
use berth_kube::live::told::ToldPod;

use super::seen::Seen;
use crate::console::view::waiting::NOT_ASSESSED;
use crate::console::view::words;
use crate::output::why::{Basis, Group, Holder, Nodes, Rule, Short, State, Turn, Why};

/// What a look can't know of turns.
const PAST_USE: &str = "Turns are by priority, then by what queues hold now for their weight; the \
                        running scheduler also counts what they have held in the past.";

/// Groups of a queue whose reasons are worked out: each takes a walk over all nodes.
const EXPLAINED_MAX: usize = 200;

/// Why the pod that says `told` of itself waits; `None` if the look has not found it.
pub(crate) fn pod(seen: &Seen, told: &ToldPod) -> Option<Why> {
    let subject = format!("pod/{}", told.key);
    let unreadable = (Kind::Pod, told.key.clone());
    if let Some(why) = seen.feed.unreadable.get(&unreadable) {
        let message = format!("the pod can't be read, so it is left out: {why}.");
        return Some(Why::new(subject, State::Waiting, "Misconfigured", message));
    }
    let state = seen.feed.pod_named(&told.key)?;
    let mut why = match &state.standing {
        Standing::In(id) | Standing::Assumed(id, _) => in_the_index(seen, subject, *id)?,
        Standing::Resting { .. } | Standing::Leaving | Standing::Apart(_) => {
            let said = apart::words(state)?;
            let place = if said.reason == "NodeUnknown" {
                State::Placed
            } else {
                State::Waiting
            };
            let mut why = Why::new(subject, place, said.reason, said.message);
            note_queue(&mut why, seen, state);
            why
        }
    };
    if why.state == State::Starting {
        heed_refusal(&mut why, told);
    }
    note_markers(&mut why, state);
    Some(why)
}

/// What a pod's own status says, for those who may not see more.
pub(crate) fn by_status(told: &ToldPod, why_not: &dyn std::fmt::Display) -> Why {
    let subject = format!("pod/{}", told.key);
    let mut why = match (&told.node, &told.scheduled) {
        (Some(node), _) => {
            let message = format!("it has its place on {node}.");
            Why::new(subject, State::Placed, told.phase.clone(), message)
        }
        (None, Some(scheduled)) => {
            let (reason, message) = (scheduled.reason.clone(), scheduled.message.clone());
            let mut why = Why::new(subject, State::Waiting, reason, message);
            if let Some(token) = token_of(&scheduled.message) {
                why.message = why.message[token.len() + 2..].to_owned();
                why.reason = token;
            }
            why
        }
        (None, None) => {
            let message = format!(
                "no scheduler has said anything about it yet; it names {}.",
                told.scheduler
            );
            Why::new(subject, State::Waiting, "NotAssessed", message)
        }
    };
    why.basis = Basis::Status;
    why.notes.push(format!(
        "This is what the pod's own PodScheduled condition says, since {why_not}."
    ));
    why
}

/// An answer about a pod that has ended.
pub(crate) fn ended(told: &ToldPod) -> Why {
    let subject = format!("pod/{}", told.key);
    let message = "it has ended and holds nothing any more.";
    Why::new(subject, State::Ended, told.phase.clone(), message)
}

/// The token that messages of Berth's own scheduler begin with.
fn token_of(message: &str) -> Option<String> {
    let (token, _) = message.split_once(": ")?;
    let is_token = token.chars().all(|c| c.is_ascii_alphabetic()) && !token.is_empty();
    (is_token && token.starts_with(|c: char| c.is_ascii_uppercase())).then(|| token.to_owned())
}

fn in_the_index(seen: &Seen, subject: String, id: PodId) -> Option<Why> {
    let index = seen.snapshot();
    let pod = index.pod(id)?;
    let mut why = match (pod.phase, seen.starts.get(&id)) {
        (_, Some(&node)) => {
            let node = &index.node(node).name;
            let message =
                format!("there is room for it on {node}, and it starts with the next cycle.");
            Why::new(subject, State::Starting, "Starting", message)
        }
        (Phase::Bound { node, since }, None) => {
            let node = index.node(node);
            let message = format!("it has its place on {}.", node.name);
            let mut why = Why::new(subject, State::Placed, "Placed", message);
            why.fact("node", node.name.to_string());
            why.fact("for", seen.now.since(since).to_string());
            if let Some(placement) = node.placement(id) {
                why.fact("holds", held(&placement.grant));
            }
            why
        }
        (Phase::Pending { .. }, None) => {
            let (key, place) = seen.group_of(id)?;
            let (turn, explained) = seen.why(&key)?;
            let pods = index.pending().get(&key)?.len();
            let place = matches!(key.alike, Alike::Task { .. }).then_some(place);
            let turns = seen.waiting.len();
            let mut why = explanation(seen, subject, &key, &explained);
            why.turn = Some(Turn {
                turn,
                turns,
                place,
                pods,
            });
            why
        }
    };
    facts(&mut why, seen, pod);
    Some(why)
}

/// What is known of a pod beside its reason.
fn facts(why: &mut Why, seen: &Seen, pod: &Pod) {
    let index = seen.snapshot();
    let (spec, catalog) = (&pod.spec, index.catalog());
    why.fact("asks for", words::ask(catalog, catalog.task(spec.task)));
    why.fact("queue", way_up(index, spec.queue));
    why.fact("user", index.user(spec.user).to_string());
    why.fact("priority", spec.priority.to_string());
    if let Some(gang) = spec.gang {
        let gang = index.gang(gang);
        let value = format!(
            "{}: needs {}, {} placed, {} waiting",
            gang.name, gang.members_min, gang.bound, gang.pending
        );
        why.fact("gang", value);
    }
    if let Phase::Pending { since } = pod.phase {
        why.fact("waits for", seen.now.since(since).to_string());
    }
}

/// The queue and those above it, each with what it holds.
fn way_up(index: &Snapshot, queue: QueueId) -> String {
    let one = |(_, queue): (QueueId, &berth_core::model::queue::Queue)| {
        let quota = queue.account(0).quota;
        let used = queue.used();
        let bound = match (quota.limit, quota.nominal) {
            (Some(limit), _) => format!(" of at most {}", GpuUnits(limit)),
            (None, Some(nominal)) => format!(", own {}", GpuUnits(nominal)),
            (None, None) => String::new(),
        };
        format!("{} (holds {used}{bound} GPUs)", queue.name)
    };
    let ways: Vec<String> = index.queue_chain(queue).map(one).collect();
    ways.join(" < ")
}

fn held(grant: &GpuGrant) -> String {
    let cards: Vec<String> = grant.gpus().iter().map(|gpu| gpu.to_string()).collect();
    match *grant {
        GpuGrant::None => "no GPU".to_owned(),
        GpuGrant::Whole { .. } => format!("GPU {}", cards.join(", ")),
        GpuGrant::Share {
            compute, memory, ..
        }
        | GpuGrant::Mig {
            compute, memory, ..
        }
        | GpuGrant::Vgpu {
            compute, memory, ..
        } => format!("{compute} of GPU {}, {memory}", cards.join(", ")),
    }
}

/// What an explanation says, with who holds what is short.
fn explanation(seen: &Seen, subject: String, key: &GroupKey, explained: &Explanation) -> Why {
    let index = seen.snapshot();
    let reason = explained.reason;
    let mut why = Why::new(subject, State::Waiting, reason.token(), reason.advice());
    why.evidence = Some(words::evidence(index, explained));
    let nodes = explained.nodes.iter();
    why.nodes = nodes
        .map(|&(obstacle, nodes)| Nodes { obstacle, nodes })
        .collect();
    let rules = explained.rules.iter();
    why.rules = rules
        .map(|(rule, nodes)| Rule {
            rule: rule.clone(),
            nodes: *nodes,
        })
        .collect();
    let found = holders::holders(index, key, explained);
    why.short = found.map(|found| short(index, &found));
    why.next = seen.ways_out(key, explained.hindrance);
    why.notes.push(PAST_USE.to_owned());
    why
}

fn short(index: &Snapshot, found: &Holders) -> Short {
    let what = match found.short {
        Lacks::Quota { queue, meter } => {
            format!(
                "{} of queue {}",
                meter_words(index, meter),
                index.queue(queue).name
            )
        }
        Lacks::Gpu => "GPUs that would do".to_owned(),
        Lacks::Cpu => "CPU on nodes that would do".to_owned(),
        Lacks::Memory => "memory on nodes that would do".to_owned(),
        Lacks::PodSlots => "pod slots on nodes that would do".to_owned(),
    };
    let holders = found.holders.iter();
    let holders = holders.map(|holder| holder_row(index, found.short, holder));
    Short {
        what,
        holders: holders.collect(),
    }
}

fn holder_row(index: &Snapshot, short: Lacks, holder: &holders::Holder) -> Holder {
    let meter = match short {
        Lacks::Quota { meter, .. } => meter,
        Lacks::Gpu => Meter::Gpu,
        Lacks::Cpu => Meter::Cpu,
        Lacks::Memory => Meter::Memory,
        Lacks::PodSlots => Meter::Machines,
    };
    let amount = match meter {
        Meter::Gpu | Meter::GpuModel(_) => GpuUnits(holder.amount).to_string(),
        Meter::Cpu => MilliCpu(holder.amount).to_string(),
        Meter::Memory => Bytes(holder.amount).to_string(),
        Meter::Machines => holder.amount.to_string(),
    };
    let largest = index.pod(holder.largest);
    Holder {
        queue: index.queue(holder.queue).name.to_string(),
        user: index.user(holder.user).to_string(),
        amount,
        pods: holder.pods,
        largest: largest.map_or_else(String::new, |pod| pod.spec.name.to_string()),
    }
}

/// What a meter counts, in words.
pub(crate) fn meter_words(index: &Snapshot, meter: Meter) -> String {
    match meter {
        Meter::Gpu => "GPUs".to_owned(),
        Meter::GpuModel(model) => index.catalog().model(model).name.to_string(),
        Meter::Cpu => "CPU".to_owned(),
        Meter::Memory => "memory".to_owned(),
        Meter::Machines => "virtual machines".to_owned(),
    }
}

/// A pod that would start, and yet a scheduler has said why it doesn't: that is nearer the truth.
fn heed_refusal(why: &mut Why, told: &ToldPod) {
    let Some(scheduled) = told.scheduled.as_ref().filter(|told| !told.is_true) else {
        return;
    };
    if matches!(scheduled.reason.as_str(), "BindRejected" | "SchedulerError") {
        let message = scheduled.message.as_str();
        let prefix = format!("{}: ", scheduled.reason);
        why.state = State::Waiting;
        why.reason.clone_from(&scheduled.reason);
        why.message = message.strip_prefix(&prefix).unwrap_or(message).to_owned();
        why.notes
            .push("There is room for it; the scheduler tries again by itself.".to_owned());
    }
}

/// What is wrong with the queue that a pod names, where there is one of that name.
fn note_queue(why: &mut Why, seen: &Seen, pod: &PodState) {
    let Standing::Apart(Apart::QueueMissing(name)) = &pod.standing else {
        return;
    };
    if let Some(standing) = seen.feed.queue_standing(name) {
        let (reason, message) = queue_status::words(&standing);
        why.notes
            .push(format!("Queue {name} is {reason}: {message}"));
    }
}

fn note_markers(why: &mut Why, pod: &PodState) {
    let mark = pod.record.gang.as_ref();
    if let Some((mark, other)) = mark.and_then(|mark| Some((mark, mark.conflict?))) {
        why.notes.push(format!(
            "Its marker of {other} names another gang than {}, which counts.",
            mark.key
        ));
    }
}

/// Why the gang of this key waits; `None` if no pod says that it is in it.
pub(crate) fn gang(seen: &Seen, subject: String, key: &Text) -> Option<Why> {
    let index = seen.snapshot();
    let members: Vec<_> = seen.feed.gang_members(key).collect();
    let (_, first) = *members.first()?;
    let mut why = match seen.feed.gang(key) {
        Some(id) => {
            let gang = index.gang(id);
            let group = GroupKey {
                priority: std::cmp::Reverse(gang.priority),
                alike: Alike::Gang { gang: id },
            };
            let mut why = if let Some((turn, explained)) = seen.why(&group) {
                let mut why = explanation(seen, subject, &group, &explained);
                why.turn = Some(Turn {
                    turn,
                    turns: seen.waiting.len(),
                    place: None,
                    pods: gang.pending as usize,
                });
                why
            } else if members.iter().any(|(_, pod)| is_starting(seen, pod)) {
                let message = "there is room for it, and it starts with the next cycle.";
                Why::new(subject, State::Starting, "Starting", message)
            } else if gang.bound > 0 {
                let message = "its members have their places.";
                Why::new(subject, State::Placed, "Placed", message)
            } else {
                let said = apart::words(first)?;
                Why::new(subject, State::Waiting, said.reason, said.message)
            };
            why.fact("needs", format!("{} at once", gang.members_min));
            why.fact("placed", gang.bound.to_string());
            why.fact("waiting", gang.pending.to_string());
            why
        }
        None => {
            let said = apart::words(first)?;
            Why::new(subject, State::Waiting, said.reason, said.message)
        }
    };
    why.fact("members told of", members.len().to_string());
    let aside = members.iter().filter_map(|(key, pod)| {
        let said = apart::words(pod)?;
        Some(format!("{key} is {}: {}", said.reason, said.message))
    });
    why.notes.extend(aside);
    note_markers(&mut why, first);
    Some(why)
}

fn is_starting(seen: &Seen, pod: &PodState) -> bool {
    match pod.standing {
        Standing::In(id) | Standing::Assumed(id, _) => seen.starts.contains_key(&id),
        Standing::Resting { .. } | Standing::Leaving | Standing::Apart(_) => false,
    }
}

/// Why the work of a queue waits; `None` if there is no such queue.
pub(crate) fn queue(seen: &Seen, name: &Text) -> Option<Why> {
    let subject = format!("queue/{name}");
    let id = match seen.feed.queue_standing(name)? {
        QueueStanding::In(id) => id,
        other => {
            let (reason, message) = queue_status::words(&other);
            return Some(Why::new(subject, State::Waiting, reason, message));
        }
    };
    let index = seen.snapshot();
    let mut groups = Vec::new();
    let mut first = None;
    for (at, (key, _)) in seen.waiting.iter().enumerate() {
        let Some(pods) = index.pending().get(key) else {
            continue;
        };
        let oldest = pods.values().next().and_then(|&pod| index.pod(pod));
        let Some(oldest) = oldest.filter(|pod| {
            index
                .queue_chain(pod.spec.queue)
                .any(|(above, _)| above == id)
        }) else {
            continue;
        };
        let explained = (groups.len() < EXPLAINED_MAX).then(|| seen.why(key));
        let explained = explained.flatten().map(|(_, explained)| explained);
        let reason = explained.as_ref().map(|explained| explained.reason);
        let catalog = index.catalog();
        groups.push(Group {
            turn: at + 1,
            oldest: oldest.spec.name.to_string(),
            user: index.user(oldest.spec.user).to_string(),
            pods: pods.len(),
            asks: words::ask(catalog, catalog.task(oldest.spec.task)),
            reason: reason
                .map_or(NOT_ASSESSED, |reason| reason.token())
                .to_owned(),
        });
        if let (None, Some(explained)) = (&first, explained) {
            first = Some((*key, explained));
        }
    }
    let mut why = match &first {
        Some((key, explained)) => {
            let mut why = explanation(seen, subject, key, explained);
            why.nodes.clear();
            why
        }
        None => {
            let message = "nothing waits in it.";
            let mut why = Why::new(subject, State::Idle, "NothingWaits", message);
            let holders = holders::holders_in(index, id, Meter::Gpu);
            let short = Lacks::Quota {
                queue: id,
                meter: Meter::Gpu,
            };
            why.short = Some(self::short(index, &Holders { short, holders }));
            why
        }
    };
    why.fact("queue", way_up(index, id));
    why.waiting = groups;
    Some(why)
}
