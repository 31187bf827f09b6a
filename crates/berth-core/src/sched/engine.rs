//! The engine: decides, and remembers what it has worked out.
//!
//! Groups of waiting pods have their [turns]. The oldest pod of a group is
//! offered to the nodes; if it finds no place, neither does the rest of its group, so the group is
//! done for this cycle and the next one has its turn (work-conserving: whatever fits somewhere
//! starts). A gang is tried on a draft of its own and starts with enough members at once or not at
//! all. Invariant: what the engine remembers never changes what it decides.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::{Bound, Deref};

use crate::id::{GangId, NodeId, PodId, QueueId, TaskTypeId};
use crate::limits;
use crate::model::draft::Draft;
use crate::model::gpu::{GpuGrant, ModelSet};
use crate::model::node::Node;
use crate::model::pod::PodSpec;
use crate::model::snapshot::{Age, Alike, GroupKey, Snapshot};
use crate::quota::{Beside, Blocked, Meter};
use crate::sched::decisions::{Bind, Decisions, Evict, EvictCause};
use crate::sched::explain::Hindrance;
use crate::sched::fit;
use crate::sched::gate::Gate;
use crate::sched::index::ScoreIndex;
use crate::sched::policy::{Learned, Place, Policy, Selection};
use crate::sched::profile::{Effort, Profile};
use crate::sched::room::{EvictionRules, Made, Search, Taker};
use crate::sched::turns::{self, Turn, Turns};
use crate::stream::Stream;
use crate::time::Time;

/// Decides what starts where, cycle after cycle.
#[derive(Debug)]
pub struct Engine {
    profile: Profile,
    policy: Box<dyn Policy>,
    index: ScoreIndex,
}

/// The world as a cycle will leave it: the snapshot until something is decided that matters to the
/// rest of the cycle, a draft over it from then on.
#[derive(Debug)]
struct Trial<'a> {
    snapshot: &'a Snapshot,
    draft: Option<Draft>,
}

impl<'a> Trial<'a> {
    fn over(snapshot: &'a Snapshot) -> Self {
        let draft = None;
        Self { snapshot, draft }
    }

    fn to_mut(&mut self) -> &mut Draft {
        self.draft.get_or_insert_with(|| Draft::over(self.snapshot))
    }
}

impl Deref for Trial<'_> {
    type Target = Snapshot;
    fn deref(&self) -> &Snapshot {
        self.draft.as_deref().unwrap_or(self.snapshot)
    }
}

/// What has been decided on before the turns of a cycle begin.
enum Settled {
    /// Gangs that were made whole.
    Groups(BTreeSet<GroupKey>),
    /// Pods that have just lost their places.
    Pods(BTreeSet<PodId>),
}

impl Settled {
    fn is_mended(&self, key: &GroupKey) -> bool {
        match self {
            Self::Groups(mended) => mended.contains(key),
            Self::Pods(_) => false,
        }
    }

    fn is_evicted(&self, pod: PodId) -> bool {
        match self {
            Self::Groups(_) => false,
            Self::Pods(evicted) => evicted.contains(&pod),
        }
    }
}

impl Engine {
    /// An engine that has seen nothing yet.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        Self {
            profile: profile.clone(),
            policy: (profile.policy.build)(profile),
            index: ScoreIndex::default(),
        }
    }

    /// The profile with what has been learned so far in it: an engine made from it goes on as this
    /// one does.
    #[must_use]
    pub fn profile(&self) -> Profile {
        Profile {
            prices: self.policy.prices(),
            ..self.profile.clone()
        }
    }

    /// Decides what starts where. Answers exactly as [`crate::sched::cycle::run`] with the
    /// [profile](Self::profile) of that moment.
    pub fn run(
        &mut self,
        snapshot: &Snapshot,
        effort: Effort,
        now: Time,
        stream: &mut Stream,
    ) -> Decisions {
        if self.policy.learn(snapshot) == Learned::NewScores {
            self.index.forget_scores();
        }
        if snapshot.pending().is_empty() && snapshot.stranded_gangs().next().is_none() {
            return Decisions::default();
        }
        let mut draft = Trial::over(snapshot);
        let mut decisions = Decisions::default();
        let mended = self.mend_stranded_gangs(&mut draft, now, stream, &mut decisions);
        self.place(draft, &Settled::Groups(mended), now, stream, &mut decisions);
        let rules = self.profile.evictions;
        if let (Effort::MakeRoom, Some(rules), false) =
            (effort, rules, decisions.waiting.is_empty())
        {
            self.make_room(snapshot, rules, now, stream, &mut decisions);
        }
        decisions
    }

    /// Gives away what is free in `draft`, turn by turn.
    fn place(
        &mut self,
        mut draft: Trial<'_>,
        settled: &Settled,
        now: Time,
        stream: &mut Stream,
        decisions: &mut Decisions,
    ) {
        let mut turns = self.turns(&draft, now, settled, decisions);
        while let Some(Turn { age, key, pod, .. }) = turns.next() {
            if settled.is_evicted(pod) {
                decisions.waiting.push((key, Hindrance::Evicted));
                continue;
            }
            let outcome = match key.alike {
                Alike::Task { .. } => self.offer(&draft, pod, stream).map(|(node, grant)| {
                    let next = next_of_group(&draft, &key, &age);
                    decisions.binds.push(Bind { pod, node, grant });
                    // Nobody looks at the draft after the very last pod.
                    if !turns.is_empty() || next.is_some() {
                        draft.to_mut().reserve(pod, node, grant, now);
                    }
                    next
                }),
                Alike::Gang { gang } => {
                    self.offer_gang(&mut draft, key, gang, now, stream)
                        .map(|(binds, rest)| {
                            decisions.binds.extend(binds);
                            decisions
                                .waiting
                                .extend(rest.map(|hindrance| (key, hindrance)));
                            None
                        })
                }
            };
            match outcome {
                Ok(next) => turns.after_start(&draft, queue_of(&draft, pod), next),
                Err(hindrance) => decisions.waiting.push((key, hindrance)),
            }
        }
    }

    /// Makes room for those who found none, in the order of turns, where the rules allow it.
    fn make_room(
        &mut self,
        snapshot: &Snapshot,
        rules: EvictionRules,
        now: Time,
        stream: &mut Stream,
        decisions: &mut Decisions,
    ) {
        let mut draft = Draft::over(snapshot);
        decisions.apply(&mut draft, now);
        let mut search = Search::new(rules, now);
        let hopeful = decisions.waiting.iter().filter(|(key, hindrance)| {
            let taker = taker_of(&draft, key);
            evictions_may_help(*hindrance)
                && taker.is_some_and(|(taker, _)| search.has_prey(&draft, &taker))
        });
        let hopeful: Vec<(GroupKey, Hindrance)> = hopeful.copied().collect();
        let hopeful = turns::in_order(self.profile.order, &draft, now, &hopeful);
        for (key, _) in hopeful.iter().take(limits::EVICTION_ATTEMPTS_MAX) {
            while search.goes_on() {
                let room = self.room_for_group(&mut draft, key, &mut search, stream);
                let Some((evictions, binds)) = room else {
                    search.forget();
                    break;
                };
                decisions.evictions.extend(evictions);
                decisions.binds.extend(binds);
            }
        }
        decisions.retry_at = search.retry_at;
        if decisions.evictions.is_empty() {
            return;
        }
        // What the victims leave over is for those who wait, and not for the victims themselves:
        // they have to be gone before they can start anew.
        decisions.waiting.clear();
        let evicted = decisions.evictions.iter().map(|evict| evict.pod).collect();
        let settled = Settled::Pods(evicted);
        self.place(Trial::over(&draft), &settled, now, stream, decisions);
    }

    /// Room for the oldest pod of a group, or for a gang; `None`, and `draft` as it was, where none
    /// can be made.
    fn room_for_group(
        &mut self,
        draft: &mut Draft,
        key: &GroupKey,
        search: &mut Search,
        stream: &mut Stream,
    ) -> Option<(Vec<Evict>, Vec<Bind>)> {
        let (mut taker, need) = taker_of(draft, key)?;
        let each = taker.amount / i64::try_from(need).expect("gangs are bounded");
        let takers: Vec<PodId> = draft.pending()[key].values().take(need).copied().collect();
        let first = taker.pod;
        if takers.len() < need {
            return None;
        }
        let mut trial = draft.clone();
        let (mut made, mut binds) = (Made::default(), Vec::new());
        for pod in takers {
            taker.pod = pod;
            let (node, grant) = self.room_for_pod(&mut trial, &taker, search, &mut made, stream)?;
            let bound = trial.bind(pod, node, grant, search.now());
            bound.expect("the place was just found");
            taker.amount -= each;
            binds.push(Bind { pod, node, grant });
        }
        let evictions = made.settle(&mut trial, first, search.now());
        *draft = trial;
        Some((evictions, binds))
    }

    fn room_for_pod(
        &mut self,
        trial: &mut Draft,
        taker: &Taker,
        search: &mut Search,
        made: &mut Made,
        stream: &mut Stream,
    ) -> Option<(NodeId, GpuGrant)> {
        let hindrance = match self.offer(trial, taker.pod, stream) {
            Ok(place) => return Some(place),
            Err(hindrance) => hindrance,
        };
        if hindrance.is_quota() {
            search.free_quota(trial, taker, made)?;
            if let Ok(place) = self.offer(trial, taker.pod, stream) {
                return Some(place);
            }
        }
        let node = search.free_node(trial, taker, made)?;
        search.free_quota(trial, taker, made)?;
        Some((node, self.grant_on(trial, taker.pod, node, stream)?))
    }

    /// What `pod` gets on `node`, if it fits there.
    fn grant_on(
        &mut self,
        draft: &Snapshot,
        pod: PodId,
        node: NodeId,
        stream: &mut Stream,
    ) -> Option<GpuGrant> {
        let (catalog, target) = (draft.catalog(), draft.node(node));
        let spec = &draft.pod(pod)?.spec;
        let request = catalog.task(spec.task);
        let gate = Gate::new(draft.facts(), spec.facts.as_ref());
        if !fit::fits(catalog, request, &target.shape, &target.state) || !gate.lets_in(draft, node)
        {
            return None;
        }
        let place = Place {
            catalog,
            request,
            shape: &target.shape,
            state: &target.state,
        };
        Some(self.policy.grant(&place, stream))
    }

    /// The turns of this cycle. Groups that fit nowhere as things stand need none: within a cycle,
    /// places only become fewer.
    fn turns(
        &mut self,
        draft: &Snapshot,
        now: Time,
        settled: &Settled,
        decisions: &mut Decisions,
    ) -> Turns {
        let groups = draft.pending().len();
        let mut turns = Turns::new(self.profile.order, groups, now);
        for (key, group) in draft.pending() {
            if settled.is_mended(key) {
                continue;
            }
            let oldest = *group.values().next().expect("a group has a pod");
            let hopeless = match key.alike {
                _ if settled.is_evicted(oldest) => Some(Hindrance::Evicted),
                Alike::Task { task, .. } if groups > 1 => self.hopeless(draft, oldest, task),
                Alike::Task { .. } | Alike::Gang { .. } => None,
            };
            match hopeless {
                Some(hindrance) => decisions.waiting.push((*key, hindrance)),
                None => turns.add_group(draft, key, group),
            }
        }
        turns
    }

    fn hopeless(&mut self, draft: &Snapshot, pod: PodId, task: TaskTypeId) -> Option<Hindrance> {
        let spec = &draft
            .pod(pod)
            .expect("a waiting pod is in the snapshot")
            .spec;
        if let Err(hindrance) = quota_allows(draft, spec) {
            return Some(hindrance);
        }
        self.index.sync(draft);
        let fits = self.index.fits_anywhere(draft, task, &mut *self.policy);
        (!fits).then_some(Hindrance::NoNode)
    }

    /// A place for one pod, or what stands in the way.
    fn offer(
        &mut self,
        draft: &Snapshot,
        pod: PodId,
        stream: &mut Stream,
    ) -> Result<(NodeId, GpuGrant), Hindrance> {
        let spec = &draft
            .pod(pod)
            .expect("a waiting pod is in the snapshot")
            .spec;
        let barred = quota_allows(draft, spec)?;
        let gate = Gate::new(draft.facts(), spec.facts.as_ref());
        self.index.sync(draft);
        let node = if gate.is_open() && barred.is_none() {
            let node = self.choose(draft, spec.task, stream);
            node.ok_or(Hindrance::NoNode)?
        } else {
            let models = barred
                .as_ref()
                .map_or(ModelSet::NONE, |barred| barred.models);
            let open = |id| !has_any(draft.node(id), models) && gate.lets_in(draft, id);
            let node = self.choose_where(draft, spec.task, open, stream);
            node.ok_or(barred.map_or(Hindrance::NoNode, |barred| barred.why))?
        };
        let (catalog, target) = (draft.catalog(), draft.node(node));
        let request = catalog.task(spec.task);
        let place = Place {
            catalog,
            request,
            shape: &target.shape,
            state: &target.state,
        };
        Ok((node, self.policy.grant(&place, stream)))
    }

    fn choose(
        &mut self,
        draft: &Snapshot,
        task: TaskTypeId,
        stream: &mut Stream,
    ) -> Option<NodeId> {
        match self.profile.policy.selection {
            Selection::HighestScore => self.index.best(draft, task, &mut *self.policy),
            Selection::UniformDraw => {
                let fitting = self.index.fitting(draft, task, &mut *self.policy);
                draw(&fitting, stream)
            }
        }
    }

    /// As [`Self::choose`], among the nodes that are `open`.
    fn choose_where(
        &mut self,
        draft: &Snapshot,
        task: TaskTypeId,
        open: impl Fn(NodeId) -> bool,
        stream: &mut Stream,
    ) -> Option<NodeId> {
        match self.profile.policy.selection {
            Selection::HighestScore => self.index.best_where(draft, task, &mut *self.policy, open),
            Selection::UniformDraw => {
                let mut fitting = self.index.fitting(draft, task, &mut *self.policy);
                fitting.retain(|&id| open(id));
                draw(&fitting, stream)
            }
        }
    }

    /// Places for enough waiting members of a gang at once, reserved in `draft`, with what stops
    /// the others of an elastic gang; or what stands in the way, and `draft` as it was. Once a
    /// cycle for each gang: the members that find no place now find none later in the cycle.
    fn offer_gang(
        &mut self,
        draft: &mut Trial<'_>,
        key: GroupKey,
        gang: GangId,
        now: Time,
        stream: &mut Stream,
    ) -> Result<(Vec<Bind>, Option<Hindrance>), Hindrance> {
        let (need, members_min) = (
            draft.gang(gang).needed_at_once(),
            draft.gang(gang).members_min,
        );
        let (pending, bound) = (draft.gang(gang).pending, draft.gang(gang).bound);
        if pending < need {
            return Err(Hindrance::GangIncomplete {
                have: bound + pending,
                need: members_min,
            });
        }
        let members: Vec<PodId> = draft.pending()[&key].values().copied().collect();
        if let Some(queue) = never_has_quota(draft, &members[..need as usize]) {
            return Err(Hindrance::ExceedsQuota { queue });
        }
        let mut trial = Draft::over(draft);
        let mut binds = Vec::with_capacity(members.len());
        let mut hindrance = None;
        for pod in members {
            match self.offer(&trial, pod, stream) {
                Ok((node, grant)) => {
                    trial.reserve(pod, node, grant, now);
                    binds.push(Bind { pod, node, grant });
                }
                Err(obstacle) => hindrance = hindrance.or(Some(obstacle)),
            }
        }
        let placed = u32::try_from(binds.len()).expect("gangs are bounded");
        if placed >= need {
            draft.draft = Some(trial);
            let rest = hindrance.map(|hindrance| match hindrance {
                quota if quota.is_quota() => quota,
                _ => Hindrance::GangNoRoom { placed: 0, need: 1 },
            });
            return Ok((binds, rest));
        }
        Err(match hindrance {
            Some(quota) if quota.is_quota() => quota,
            _ => Hindrance::GangNoRoom { placed, need },
        })
    }

    /// Gangs that a fault has left with too few members are made whole before anything else starts;
    /// where that is impossible now, the rest gives its places back instead of holding them for
    /// nothing. Returns the groups that were made whole.
    fn mend_stranded_gangs(
        &mut self,
        draft: &mut Trial<'_>,
        now: Time,
        stream: &mut Stream,
        decisions: &mut Decisions,
    ) -> BTreeSet<GroupKey> {
        let mut mended = BTreeSet::new();
        let stranded: Vec<GangId> = draft.stranded_gangs().collect();
        for gang in stranded {
            let key = gang_key(draft, gang);
            match self.offer_gang(draft, key, gang, now, stream) {
                Ok((binds, rest)) => {
                    mended.insert(key);
                    decisions.binds.extend(binds);
                    decisions
                        .waiting
                        .extend(rest.map(|hindrance| (key, hindrance)));
                }
                Err(_) => {
                    for pod in bound_members(draft, gang) {
                        draft
                            .to_mut()
                            .evict(pod, now)
                            .expect("the member was just seen bound");
                        decisions.evictions.push(Evict {
                            pod,
                            cause: EvictCause::GangStranded,
                            by: None,
                        });
                    }
                }
            }
        }
        mended
    }
}

/// One of the nodes, each as likely as the other.
fn draw(nodes: &[NodeId], stream: &mut Stream) -> Option<NodeId> {
    if nodes.is_empty() {
        return None;
    }
    let drawn = stream.below(nodes.len() as u64);
    Some(nodes[usize::try_from(drawn).expect("below the length of a vector")])
}

fn gang_key(draft: &Snapshot, gang: GangId) -> GroupKey {
    GroupKey {
        priority: Reverse(draft.gang(gang).priority),
        alike: Alike::Gang { gang },
    }
}

fn bound_members(draft: &Snapshot, gang: GangId) -> Vec<PodId> {
    let members = draft.pods().filter(|(_, pod)| pod.spec.gang == Some(gang));
    members
        .filter(|(_, pod)| pod.node().is_some())
        .map(|(id, _)| id)
        .collect()
}

/// The turn of the pod that comes after `age` in its group. The draft's waiting pods are those of
/// the beginning: a place that the engine gives a single pod is reserved, not bound.
fn next_of_group(draft: &Snapshot, key: &GroupKey, age: &Age) -> Option<Turn> {
    let group = draft.pending().get(key)?;
    let (age, &pod) = group
        .range((Bound::Excluded(age), Bound::Unbounded))
        .next()?;
    Some(Turn::of(key, age, pod))
}

/// Who of a group wants room, and for how many at once.
fn taker_of(draft: &Snapshot, key: &GroupKey) -> Option<(Taker, usize)> {
    let pod = *draft.pending().get(key)?.values().next()?;
    let need = match key.alike {
        Alike::Task { .. } => 1,
        Alike::Gang { gang } => draft.gang(gang).needed_at_once() as usize,
    };
    let spec = &draft.pod(pod)?.spec;
    let (catalog, meters) = (draft.catalog(), draft.meters());
    let each = meters.demand(catalog, catalog.task(spec.task), spec.carrier())[0];
    let taker = Taker {
        pod,
        queue: spec.queue,
        priority: key.priority.0,
        preempts: spec.preempts,
        amount: each.saturating_mul(i64::try_from(need).expect("gangs are bounded")),
    };
    Some((taker, need))
}

fn evictions_may_help(hindrance: Hindrance) -> bool {
    match hindrance {
        Hindrance::NoNode
        | Hindrance::GangNoRoom { .. }
        | Hindrance::QueueLimit { .. }
        | Hindrance::BorrowingLimit { .. }
        | Hindrance::QuotaInUse { .. } => true,
        Hindrance::ExceedsQuota { .. } | Hindrance::GangIncomplete { .. } | Hindrance::Evicted => {
            false
        }
    }
}

fn queue_of(draft: &Snapshot, pod: PodId) -> QueueId {
    let pod = draft.pod(pod).expect("a waiting pod is in the snapshot");
    pod.spec.queue
}

/// The queue that could never have `members` at once, if there is one. They share a queue.
fn never_has_quota(draft: &Snapshot, members: &[PodId]) -> Option<QueueId> {
    let (catalog, meters) = (draft.catalog(), draft.meters());
    let mut total = vec![0i64; meters.len()];
    let mut queue = None;
    for &pod in members {
        let spec = &draft.pod(pod)?.spec;
        queue = Some(spec.queue);
        let demand = meters.demand(catalog, catalog.task(spec.task), spec.carrier());
        for (total, amount) in total.iter_mut().zip(demand) {
            *total = total.saturating_add(amount);
        }
    }
    let mut total = total.into_iter().enumerate();
    total.find_map(|(meter, amount)| {
        let ever = draft.room_for(queue?, meter, amount, Beside::Nothing);
        ever.err().map(Blocked::queue)
    })
}

/// Models of which the queue may have no more, and why.
struct Barred {
    models: ModelSet,
    why: Hindrance,
}

/// Whether the queue tree lets a pod start, and on which of the models that would do it doesn't.
fn quota_allows(draft: &Snapshot, spec: &PodSpec) -> Result<Option<Barred>, Hindrance> {
    let (catalog, request) = (draft.catalog(), draft.catalog().task(spec.task));
    let demand = draft.meters().demand(catalog, request, spec.carrier());
    for (meter, &amount) in demand.iter().enumerate() {
        if let Err(blocked) = draft.room_for(spec.queue, meter, amount, Beside::WhatIsHeld) {
            let ever = draft.room_for(spec.queue, meter, amount, Beside::Nothing);
            return Err(match ever {
                Ok(()) => blocked.into(),
                Err(ever) => Hindrance::ExceedsQuota {
                    queue: ever.queue(),
                },
            });
        }
    }
    let mut barred: Option<Barred> = None;
    for (at, meter) in draft.meters().iter().enumerate() {
        let Meter::GpuModel(model) = meter else {
            continue;
        };
        if !request.wants_gpu() || !request.models.contains(model) || demand[at] > 0 {
            continue;
        }
        let amount = catalog.equivalents(request).0;
        if let Err(blocked) = draft.room_for(spec.queue, at, amount, Beside::WhatIsHeld) {
            let models = barred.map_or(ModelSet::NONE, |barred| barred.models);
            let models = models.with(model);
            barred = Some(Barred {
                models,
                why: blocked.into(),
            });
        }
    }
    Ok(barred)
}

fn has_any(node: &Node, models: ModelSet) -> bool {
    let mut gpus = node.shape.gpus().iter();
    gpus.any(|gpu| models.contains(gpu.model))
}
