//! Making room: who may take whose place, and which victims are the fewest.
//!
//! A taker that preempts may have the place of lower-priority work of its own queue, and of any such
//! work where no quota is shared out. Where it is, any taker may have the place of work by which
//! another branch of the tree holds more than its own, as long as its own branch stays within. Victims
//! are chosen on a draft: without a place for whoever causes it nobody is evicted, and every victim
//! is tried for staying once more at the end. Invariant: what a plan frees, it gives to the taker in
//! the same breath, so nobody else can come in between. Not here: how a victim is told, and for how
//! long it may still run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::id::{GangId, NodeId, PodId, QueueId, TaskTypeId};
use crate::limits;
use crate::model::draft::Draft;
use crate::model::gpu::GpuGrant;
use crate::model::node::{Node, Readiness};
use crate::model::pod::{Facts, FactsKind, Phase, Pod, PodSpec, Preempts, Tenure};
use crate::model::request::Request;
use crate::model::snapshot::{Carrier, Snapshot};
use crate::quota::Beside;
use crate::sched::decisions::{Evict, EvictCause};
use crate::sched::fit;
use crate::sched::gate::Gate;
use crate::time::{Span, Time};

/// When work may lose its place to other work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvictionRules {
    /// Work that has run for less stays, so that everything gets something done.
    pub min_runtime: Span,
    /// Work that has lost its place this often stays: the brake on loops.
    pub evictions_max: u32,
    /// Who has waited for less claims no quota back: what ends by itself in the meantime costs nothing,
    /// and turns see to it that who is owed most gets it. Priority needs no patience.
    pub patience: Span,
    /// Between two cycles that may evict: working out victims costs much more than placing, and a
    /// burst of arrivals is better judged as a whole.
    pub period: Span,
}

impl Default for EvictionRules {
    fn default() -> Self {
        Self {
            min_runtime: Span::from_mins(30),
            evictions_max: 3,
            patience: Span::from_hours(1),
            period: Span::from_secs(30),
        }
    }
}

/// What is evicted together: a pod, or all of a gang that couldn't go on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unit {
    pods: Vec<PodId>,
    cost: Cost,
    cause: EvictCause,
}

/// What a set of victims costs: the least is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    /// The highest priority among them.
    priority: i32,
    /// How many pods.
    pods: usize,
    /// The work that is lost, in 1/10,000 GPU times milliseconds.
    lost: i128,
}

impl Cost {
    const NOTHING: Self = Self {
        priority: i32::MIN,
        pods: 0,
        lost: 0,
    };

    fn and(self, other: Self) -> Self {
        Self {
            priority: self.priority.max(other.priority),
            pods: self.pods + other.pods,
            lost: self.lost.saturating_add(other.lost),
        }
    }
}

/// A search for room in one cycle.
#[derive(Debug)]
pub(super) struct Search {
    rules: EvictionRules,
    now: Time,
    /// The lowest priority of what each queue holds at the beginning.
    lowest: Option<BTreeMap<QueueId, i32>>,
    offers: Option<Offers>,
    /// What the tree lets the taker at hand claim, as the draft stands.
    claims: Option<Claims>,
    /// Looks at a node that are left: searches are bounded by steps.
    steps: usize,
    /// When the next piece of work that only its runtime protects may go.
    pub(super) retry_at: Option<Time>,
}

/// What room for one kind of taker costs, node by node.
#[derive(Debug)]
struct Offers {
    kind: (QueueId, i32, TaskTypeId, FactsKind),
    by_cost: BTreeSet<(Cost, Arc<str>, NodeId)>,
}

/// Where a taker's right to the places of a queue comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claim {
    None,
    ByPriority,
    OnQuota,
}

/// What a taker may claim of each queue.
#[derive(Debug)]
struct Claims {
    /// Its queue, and what it wants.
    of: (QueueId, i64),
    on: BTreeMap<QueueId, Claim>,
}

/// Who wants room.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taker {
    /// The pod, or a member of the gang.
    pub(super) pod: PodId,
    pub(super) queue: QueueId,
    pub(super) priority: i32,
    pub(super) preempts: Preempts,
    /// What it will be charged in all, in 1/10,000 of a GPU.
    pub(super) amount: i64,
}

/// A victim that has left the draft, and how to put it back.
#[derive(Debug, Clone)]
struct Evicted {
    unit: Unit,
    places: Vec<(PodId, NodeId, GpuGrant)>,
}

/// Room for a taker: a draft in which it has its place, and who had to go.
#[derive(Debug, Default)]
pub(super) struct Made {
    victims: Vec<Evicted>,
}

impl Search {
    pub(super) fn new(rules: EvictionRules, now: Time) -> Self {
        Self {
            rules,
            now,
            lowest: None,
            offers: None,
            claims: None,
            steps: limits::EVICTION_STEPS_MAX,
            retry_at: None,
        }
    }

    /// Whether `taker` has waited for long enough; notes when it will have.
    fn is_patient(&mut self, draft: &Snapshot, taker: &Taker) -> bool {
        let Some(Phase::Pending { since }) = draft.pod(taker.pod).map(|pod| pod.phase) else {
            return false;
        };
        let from = since + self.rules.patience;
        if from > self.now {
            self.retry_at = Some(self.retry_at.map_or(from, |at| at.min(from)));
        }
        from <= self.now
    }

    /// Whether there is anything at all that `taker` might take now; quick, and too hopeful at times.
    pub(super) fn has_prey(&mut self, draft: &Snapshot, taker: &Taker) -> bool {
        let lowest = self.lowest.get_or_insert_with(|| lowest_priorities(draft));
        let of_own = lowest.get(&taker.queue);
        if of_own.is_some_and(|&lowest| taker.outranks(lowest)) {
            return true;
        }
        if shared_out(draft, taker.queue) {
            return draft.entitled(taker.queue, 0, taker.amount) && self.is_patient(draft, taker);
        }
        lowest.values().any(|&lowest| taker.outranks(lowest))
    }

    pub(super) fn now(&self) -> Time {
        self.now
    }

    /// Whether any steps are left.
    pub(super) fn goes_on(&self) -> bool {
        self.steps > 0
    }

    /// Evicts in `draft` what must go for one pod of `taker` to fit on some node, and says which;
    /// `None` if no permitted set of victims is enough anywhere.
    pub(super) fn free_node(
        &mut self,
        draft: &mut Draft,
        taker: &Taker,
        made: &mut Made,
    ) -> Option<NodeId> {
        // The draft has changed since the last time.
        self.claims = None;
        let spec = &draft.pod(taker.pod)?.spec;
        let facts = spec.facts.as_ref();
        let request = *draft.catalog().task(spec.task);
        let kind = facts.map_or_else(FactsKind::default, Facts::kind);
        let kind = (taker.queue, taker.priority, spec.task, kind);
        let offers = match self.offers.take() {
            Some(offers) if offers.kind == kind => offers,
            _ => {
                let gate = Gate::new(draft.facts(), facts);
                let by_cost = self.all_offers(draft, taker, &request, &gate);
                Offers { kind, by_cost }
            }
        };
        let (node, units, offers) = self.cheapest(draft, taker, &request, offers)?;
        self.offers = Some(offers);
        for unit in units {
            made.victims.push(evict(draft, unit, self.now));
        }
        Some(node)
    }

    /// What room would cost on each node that may let the taker in.
    fn all_offers(
        &mut self,
        draft: &Draft,
        taker: &Taker,
        request: &Request,
        gate: &Gate<'_>,
    ) -> BTreeSet<(Cost, Arc<str>, NodeId)> {
        let mut by_cost = BTreeSet::new();
        for (at, node) in draft.nodes().iter().enumerate() {
            let id = NodeId::at(at);
            if self.steps == 0 || !could_ever(draft, request, node) || !gate.may_let_in(draft, id) {
                continue;
            }
            if let Some(units) = self.victims_on(draft, id, taker, request) {
                by_cost.insert((cost_of(&units), Arc::clone(&node.name), id));
            }
        }
        by_cost
    }

    /// The cheapest offer that still stands. Offers only become dearer while one taker after the
    /// other is served, so one that costs what it did is the cheapest of all.
    fn cheapest(
        &mut self,
        draft: &Draft,
        taker: &Taker,
        request: &Request,
        mut offers: Offers,
    ) -> Option<(NodeId, Vec<Unit>, Offers)> {
        while let Some((cost, name, id)) = offers.by_cost.pop_first() {
            if self.steps == 0 {
                return None;
            }
            let Some(units) = self.victims_on(draft, id, taker, request) else {
                continue;
            };
            let now = cost_of(&units);
            offers.by_cost.insert((now, name, id));
            if now <= cost {
                return Some((id, units, offers));
            }
        }
        None
    }

    /// Forgets what was worked out for a draft that has been dropped.
    pub(super) fn forget(&mut self) {
        self.offers = None;
    }

    /// Evicts, wherever it is, what keeps the queue tree from letting the taker in; `None` if it
    /// can't be done.
    pub(super) fn free_quota(
        &mut self,
        draft: &mut Draft,
        taker: &Taker,
        made: &mut Made,
    ) -> Option<()> {
        let spec = draft.pod(taker.pod)?.spec.clone();
        while !quota_has_room(draft, &spec) {
            let bound: Vec<PodId> = draft
                .pods()
                .filter(|(_, pod)| pod.node().is_some())
                .map(|(id, _)| id)
                .collect();
            self.steps = self.steps.checked_sub(bound.len())?;
            self.claims = None;
            let holds = bound.into_iter().filter(|&pod| holds_gpu(draft, pod));
            let holds: Vec<PodId> = holds.collect();
            let units = holds
                .into_iter()
                .filter_map(|pod| self.unit(draft, taker, pod));
            let cheapest = units.min_by(|a, b| a.cost.cmp(&b.cost).then(a.pods.cmp(&b.pods)))?;
            made.victims.push(evict(draft, cheapest, self.now));
        }
        Some(())
    }

    /// The cheapest victims on one node that let `request` fit there; `None` if even all that may go
    /// are not enough.
    fn victims_on(
        &mut self,
        draft: &Draft,
        id: NodeId,
        taker: &Taker,
        request: &Request,
    ) -> Option<Vec<Unit>> {
        let node = draft.node(id);
        let mut units: Vec<Unit> = Vec::new();
        let mut seen: BTreeSet<PodId> = BTreeSet::new();
        // Members that each gang can still spare.
        let mut spare: BTreeMap<GangId, u32> = BTreeMap::new();
        for placement in &node.placements {
            if seen.contains(&placement.pod) {
                continue;
            }
            let Some(unit) = self.unit(draft, taker, placement.pod) else {
                continue;
            };
            let gang = draft.pod(placement.pod).and_then(|pod| pod.spec.gang);
            if let Some(id) = gang.filter(|&gang| !would_strand(draft, gang)) {
                let gang = draft.gang(id);
                let spare = spare.entry(id).or_insert(gang.bound - gang.members_min);
                let Some(left) = spare.checked_sub(1) else {
                    continue;
                };
                *spare = left;
            }
            seen.extend(unit.pods.iter().copied());
            units.push(unit);
        }
        let catalog = draft.catalog();
        let fits_without = |steps: &mut usize, gone: &[&Unit]| {
            *steps = steps.saturating_sub(1);
            let mut node = Node::clone(node);
            for pod in gone.iter().flat_map(|unit| &unit.pods) {
                node.release(*pod);
            }
            fit::fits(catalog, request, &node.shape, &node.state)
        };
        let all: Vec<&Unit> = units.iter().collect();
        if !fits_without(&mut self.steps, &all) {
            return None;
        }
        // The dearest are the first to be let off.
        units.sort_by(|a, b| b.cost.cmp(&a.cost).then_with(|| a.pods.cmp(&b.pods)));
        let mut chosen: Vec<&Unit> = units.iter().collect();
        let mut at = 0;
        while at < chosen.len() {
            let let_off = chosen.remove(at);
            if !fits_without(&mut self.steps, &chosen) {
                chosen.insert(at, let_off);
                at += 1;
            }
        }
        let chosen = self.fewest(&units, chosen, fits_without);
        Some(chosen.into_iter().cloned().collect())
    }

    /// A cheaper set than `chosen`, found by trying every smaller or equal one, as long as there are
    /// few enough of them.
    fn fewest<'u>(
        &mut self,
        units: &'u [Unit],
        chosen: Vec<&'u Unit>,
        fits_without: impl Fn(&mut usize, &[&Unit]) -> bool,
    ) -> Vec<&'u Unit> {
        if units.len() > limits::EVICTION_EXACT_UNITS_MAX {
            return chosen;
        }
        let mut best = (total(&chosen), chosen);
        for mask in 0u32..1 << units.len() {
            let set: Vec<&Unit> = units
                .iter()
                .enumerate()
                .filter(|(at, _)| mask >> at & 1 == 1)
                .map(|(_, unit)| unit)
                .collect();
            let cost = total(&set);
            if cost < best.0 && fits_without(&mut self.steps, &set) {
                best = (cost, set);
            }
        }
        best.1
    }

    /// What goes if `pod` goes for `taker`; `None` if it may not.
    fn unit(&mut self, draft: &Draft, taker: &Taker, pod: PodId) -> Option<Unit> {
        let victim = draft.pod(pod)?;
        let Phase::Bound { .. } = victim.phase else {
            // A place given in this very cycle.
            return None;
        };
        // What it protects itself with is quickly looked up, and protects most.
        if self.is_protected_for_now(victim) {
            return None;
        }
        let cause = self.may_take(draft, taker, victim)?;
        let pods = match victim.spec.gang {
            Some(gang) if would_strand(draft, gang) => members(draft, gang),
            Some(_) | None => vec![pod],
        };
        let (mut cost, mut held) = (Cost::NOTHING, 0i64);
        for &id in &pods {
            let pod = draft.pod(id)?;
            self.is_unprotected(pod)?;
            cost = cost.and(self.cost(draft, id, pod));
            held = held.saturating_add(units_of(draft, id, pod));
        }
        if cause == EvictCause::Reclaimed {
            let (own, other) = (taker.queue, draft.pod(pod)?.spec.queue);
            let amounts = (taker.amount, held);
            if !draft.reclaimable(own, other, 0, amounts) {
                return None;
            }
        }
        Some(Unit { pods, cost, cause })
    }

    /// Whether a victim stays for now whoever wants its place, and nothing is to be noted about it.
    fn is_protected_for_now(&self, pod: &Pod) -> bool {
        let stays = pod.spec.carrier() == Carrier::Machine || pod.spec.tenure == Tenure::Permanent;
        if stays || pod.evictions >= self.rules.evictions_max {
            return true;
        }
        let Phase::Bound { since, .. } = pod.phase else {
            return true;
        };
        let until = since + self.rules.min_runtime;
        until > self.now && self.retry_at.is_some_and(|at| at <= until)
    }

    /// Why `taker` may have places of the kind of `victim`, if it may.
    fn may_take(&mut self, draft: &Snapshot, taker: &Taker, victim: &Pod) -> Option<EvictCause> {
        let lower = taker.outranks(priority_of(draft, victim));
        let holder = victim.spec.queue;
        if holder == taker.queue {
            return lower.then_some(EvictCause::Preempted);
        }
        let key = (taker.queue, taker.amount);
        if self.claims.as_ref().is_none_or(|claims| claims.of != key) {
            let of = key;
            self.claims = Some(Claims {
                of,
                on: BTreeMap::new(),
            });
        }
        let (now, is_patient) = (self.now, self.is_patient(draft, taker));
        let claims = self.claims.as_mut().expect("it was just put there");
        let claim = claims.on.entry(holder).or_insert_with(|| {
            if !shared_out(draft, taker.queue) && !shared_out(draft, holder) {
                return Claim::ByPriority;
            }
            // The least that could be held: whether anything at all may be claimed back.
            let may = draft.reclaimable(taker.queue, holder, 0, (taker.amount, 0));
            match may && is_patient && is_owed(draft, taker.queue, holder, now) {
                true => Claim::OnQuota,
                false => Claim::None,
            }
        });
        match claim {
            Claim::ByPriority => lower.then_some(EvictCause::Preempted),
            Claim::OnQuota => Some(EvictCause::Reclaimed),
            Claim::None => None,
        }
    }

    fn is_unprotected(&mut self, pod: &Pod) -> Option<()> {
        let stays = pod.spec.carrier() == Carrier::Machine || pod.spec.tenure == Tenure::Permanent;
        if stays || pod.evictions >= self.rules.evictions_max {
            return None;
        }
        let Phase::Bound { since, .. } = pod.phase else {
            return None;
        };
        let until = since + self.rules.min_runtime;
        if until > self.now {
            self.retry_at = Some(self.retry_at.map_or(until, |at| at.min(until)));
            return None;
        }
        Some(())
    }

    fn cost(&self, draft: &Draft, id: PodId, pod: &Pod) -> Cost {
        let Phase::Bound { since, .. } = pod.phase else {
            return Cost::NOTHING;
        };
        let units = units_of(draft, id, pod);
        Cost {
            priority: priority_of(draft, pod),
            pods: 1,
            lost: i128::from(units) * i128::from(self.now.since(since).0.max(0)),
        }
    }
}

impl Taker {
    /// Whether it may take the place of work of `priority` for that alone.
    fn outranks(&self, priority: i32) -> bool {
        self.preempts == Preempts::LowerPriority && priority < self.priority
    }
}

impl Made {
    /// Lets every victim that still fits in `draft` where it was stay there, the dearest first, and
    /// says who has to go.
    pub(super) fn settle(mut self, draft: &mut Draft, by: PodId, now: Time) -> Vec<Evict> {
        let dearest = |a: &Evicted, b: &Evicted| b.unit.cost.cmp(&a.unit.cost);
        self.victims.sort_by(dearest);
        let mut evictions = Vec::new();
        for Evicted { unit, places } in self.victims {
            let mut trial = draft.clone();
            let stays = places.iter().all(|&(pod, node, grant)| {
                let spec = trial.pod(pod).map(|pod| pod.spec.clone());
                let has_room = spec.is_some_and(|spec| quota_has_room(&trial, &spec));
                has_room && trial.bind(pod, node, grant, now).is_ok()
            });
            // A member that its gang could spare is of no use once the gang itself is gone.
            if stays && trial.stranded_gangs().next().is_none() {
                *draft = trial;
                continue;
            }
            evictions.extend(unit.pods.iter().map(|&pod| Evict {
                pod,
                cause: unit.cause,
                by: Some(by),
            }));
        }
        evictions
    }
}

/// Whether the branch of `taker` has had half as much of its own over time as the branch of `holder`,
/// where the two part, or less. Turns even out what is smaller than that without a loss; without the
/// rule, branches that hold a little more or less than their own by turns would undo each other's work
/// all day. Who has nothing of its own has had too much in any case.
fn is_owed(draft: &Snapshot, taker: QueueId, holder: QueueId, now: Time) -> bool {
    let chain = |leaf| -> SmallVec<[QueueId; limits::QUEUE_DEPTH_MAX]> {
        draft.queue_chain(leaf).map(|(id, _)| id).collect()
    };
    let (of_taker, of_holder) = (chain(taker), chain(holder));
    let pairs = of_taker.iter().rev().zip(of_holder.iter().rev());
    let Some((&taker, &holder)) = pairs.into_iter().find(|(a, b)| a != b) else {
        return false;
    };
    let had = |id| i128::from(draft.usage(id, now).unit_ms);
    let own = |id| draft.queue(id).account(0).total;
    let half = had(holder).saturating_mul(own(taker)) / 2;
    own(holder) == 0 || had(taker).saturating_mul(own(holder)) < half
}

/// Whether the tree of `queue` shares quota out.
fn shared_out(draft: &Snapshot, queue: QueueId) -> bool {
    let root = draft.queue_chain(queue).last();
    root.is_some_and(|(_, root)| root.account(0).nominals > 0)
}

fn lowest_priorities(draft: &Snapshot) -> BTreeMap<QueueId, i32> {
    let mut lowest = BTreeMap::new();
    for (_, pod) in draft.pods().filter(|(_, pod)| pod.node().is_some()) {
        let priority = priority_of(draft, pod);
        let lowest = lowest.entry(pod.spec.queue).or_insert(priority);
        *lowest = priority.min(*lowest);
    }
    lowest
}

fn priority_of(draft: &Snapshot, pod: &Pod) -> i32 {
    let gang = pod.spec.gang.map(|gang| draft.gang(gang).priority);
    gang.unwrap_or(pod.spec.priority)
}

fn quota_has_room(draft: &Snapshot, spec: &PodSpec) -> bool {
    let (catalog, meters) = (draft.catalog(), draft.meters());
    let demand = meters.demand(catalog, catalog.task(spec.task), spec.carrier());
    demand.iter().enumerate().all(|(meter, &amount)| {
        let room = draft.room_for(spec.queue, meter, amount, Beside::WhatIsHeld);
        room.is_ok()
    })
}

/// GPU that a bound pod holds, in 1/10,000 of a card.
fn units_of(draft: &Snapshot, id: PodId, pod: &Pod) -> i64 {
    let placement = pod.node().and_then(|node| draft.node(node).placement(id));
    placement.map_or(0, |placement| placement.grant.equivalents().0)
}

fn holds_gpu(draft: &Snapshot, pod: PodId) -> bool {
    let node = draft.pod(pod).and_then(Pod::node);
    let placement = node.and_then(|node| draft.node(node).placement(pod));
    placement.is_some_and(|placement| !placement.grant.equivalents().is_zero())
}

/// Whether a node could take the request if nothing ran there.
fn could_ever(draft: &Snapshot, request: &Request, node: &Node) -> bool {
    let takes = node.state.readiness == Readiness::Ready;
    takes && fit::shape_could_serve(draft.catalog(), request, &node.shape)
}

fn would_strand(draft: &Snapshot, gang: GangId) -> bool {
    let gang = draft.gang(gang);
    gang.bound <= gang.members_min
}

fn members(draft: &Snapshot, gang: GangId) -> Vec<PodId> {
    let members = draft.pods().filter(|(_, pod)| pod.spec.gang == Some(gang));
    members
        .filter(|(_, pod)| pod.node().is_some())
        .map(|(id, _)| id)
        .collect()
}

fn evict(draft: &mut Draft, unit: Unit, now: Time) -> Evicted {
    let place = |&pod: &PodId| {
        let node = draft.pod(pod)?.node()?;
        Some((pod, node, draft.node(node).placement(pod)?.grant))
    };
    let places: Vec<_> = unit.pods.iter().filter_map(place).collect();
    for &(pod, ..) in &places {
        draft.evict(pod, now).expect("it was just seen bound");
    }
    Evicted { unit, places }
}

fn total(units: &[&Unit]) -> Cost {
    let costs = units.iter().map(|unit| unit.cost);
    costs.fold(Cost::NOTHING, Cost::and)
}

fn cost_of(units: &[Unit]) -> Cost {
    total(&units.iter().collect::<Vec<_>>())
}
