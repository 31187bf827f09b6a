//! The search for devices: every request of every claim gets devices, or there is no way.
//!
//! Invariant: the search is exhaustive and takes the first solution in the order of pools, slices and
//! devices, as kube-scheduler's allocator does, so both find one on the same nodes. It is bounded by
//! steps: where kube-scheduler gives up after ten seconds, this gives up after a number of devices.

use std::collections::{BTreeMap, BTreeSet};

use arcstr::format as text;

use super::capacity;
use super::constraint::{For, Rule};
use super::pools::{Pool, PoolDevice, PoolState, gather, reaches};
use crate::filter::facts::Text;
use crate::filter::facts::device::{
    Access, AllocatedDevice, Ask, Choice, Constraint, DeviceNodes, Request, Sharing, Truth, Wanted,
};
use crate::filter::facts::exact::Exact;
use crate::filter::facts::inventory::{Amounts, Devices, Held};
use crate::filter::facts::node::NodeFacts;
use crate::filter::facts::taint::Effect;
use crate::filter::verdict::Failure;
use crate::limits::{DEVICE_SEARCH_STEPS_MAX, DEVICES_PER_CLAIM_MAX};

/// A claim to be satisfied.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wish<'a> {
    pub(super) requests: &'a [Request],
    pub(super) constraints: &'a [Constraint],
}

/// A device for a request of a wish.
#[derive(Debug, Clone)]
pub(super) struct Found {
    /// The wish, by its place.
    pub(super) wish: usize,
    pub(super) access: Access,
    pub(super) device: AllocatedDevice,
}

/// How a search on one node ended.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Found(Vec<Found>),
    /// There is no way.
    None,
    /// There is no way, and a pool contradicts itself.
    NoneAndInvalid,
}

/// Looks for devices for all `wishes` on `node`.
pub(super) fn search(
    devices: &Devices,
    node: &NodeFacts,
    wishes: &[Wish<'_>],
) -> Result<Outcome, Failure> {
    let pools = gather(devices, node);
    let is_invalid = pools.iter().any(|pool| pool.state == PoolState::Invalid);
    let mut search = Search::new(devices, node, &pools, wishes)?;
    match search.next_request(At::START) {
        Ok(true) => Ok(Outcome::Found(search.found())),
        Ok(false) if is_invalid => Ok(Outcome::NoneAndInvalid),
        Ok(false) => Ok(Outcome::None),
        // The first claim can't have so many devices whatever the others get.
        Err(Stop::TooMany) => Err(Failure::TooManyDevices),
        Err(Stop::Failed(failure)) => Err(failure),
    }
}

/// Why a branch of the search is left at once.
#[derive(Debug)]
enum Stop {
    /// A claim would get more devices than a claim can have.
    TooMany,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// A device by its pool and its place there.
type Place = (usize, usize);

/// Where the search is.
#[derive(Debug, Clone, Copy)]
struct At {
    claim: usize,
    request: usize,
    alternative: usize,
    /// How many devices the request has already.
    n_devices: usize,
}

impl At {
    const START: Self = Self {
        claim: 0,
        request: 0,
        alternative: 0,
        n_devices: 0,
    };

    fn ask(self) -> (usize, usize, usize) {
        (self.claim, self.request, self.alternative)
    }

    fn next_request(self) -> Self {
        Self {
            request: self.request + 1,
            alternative: 0,
            n_devices: 0,
            ..self
        }
    }

    fn next_claim(self) -> Self {
        Self {
            claim: self.claim + 1,
            ..Self::START
        }
    }
}

/// A request or one of its alternatives, made ready.
#[derive(Debug)]
struct Ready<'a> {
    ask: &'a Ask,
    class: &'a [Text],
    whom: For<'a>,
    n_wanted: usize,
    /// Every device that matches, where all are wanted.
    all: Option<Vec<Place>>,
}

#[derive(Debug)]
struct Search<'a, 's> {
    devices: &'a Devices,
    held: &'a Held,
    node: &'a NodeFacts,
    pools: &'s [Pool<'a>],
    wishes: &'s [Wish<'a>],
    ready: BTreeMap<(usize, usize, usize), Ready<'a>>,
    rules: Vec<Vec<Rule<'a>>>,
    n_results: Vec<usize>,
    /// Claims that get a device for themselves in this attempt.
    whole: BTreeMap<Place, BTreeSet<usize>>,
    /// Shares of devices in this attempt: how many, and what they come to.
    shared: BTreeMap<Place, (usize, Amounts)>,
    /// Counters that this attempt takes, by pool, set and counter.
    counters: BTreeMap<(usize, &'a Text, &'a Text), Exact>,
    matches: BTreeMap<(Place, usize, usize, usize), bool>,
    steps_left: usize,
    /// What this attempt has so far.
    chosen: Vec<(At, Place)>,
}

/// What adding a device changed.
#[derive(Debug)]
struct Added {
    took_counters: bool,
    consumed: Option<Amounts>,
}

impl<'a, 's> Search<'a, 's> {
    fn new(
        devices: &'a Devices,
        node: &'a NodeFacts,
        pools: &'s [Pool<'a>],
        wishes: &'s [Wish<'a>],
    ) -> Result<Self, Failure> {
        let rules = |wish: &Wish<'a>| wish.constraints.iter().map(Rule::new).collect();
        let mut search = Self {
            devices,
            held: devices.held(),
            node,
            pools,
            wishes,
            ready: BTreeMap::new(),
            rules: wishes.iter().map(rules).collect(),
            n_results: vec![0; wishes.len()],
            whole: BTreeMap::new(),
            shared: BTreeMap::new(),
            counters: BTreeMap::new(),
            matches: BTreeMap::new(),
            steps_left: DEVICE_SEARCH_STEPS_MAX,
            chosen: Vec::new(),
        };
        for (claim, wish) in wishes.iter().enumerate() {
            search.prepare_claim(claim, wish)?;
        }
        Ok(search)
    }

    /// The devices of a successful attempt.
    fn found(&self) -> Vec<Found> {
        let found = |&(at, place): &(At, Place)| {
            let ready = &self.ready[&at.ask()];
            let one = self.device(place);
            let request = match ready.whom.alternative {
                Some(alternative) => text!("{}/{alternative}", ready.whom.request),
                None => ready.whom.request.clone(),
            };
            let consumed = match one.device.sharing {
                Sharing::One => None,
                Sharing::Several => capacity::consumed(one.device, &ready.ask.capacity).ok(),
            };
            let consumed = consumed.flatten().unwrap_or_default();
            Found {
                wish: at.claim,
                access: ready.ask.access,
                device: AllocatedDevice {
                    request,
                    key: one.key.clone(),
                    sharing: one.device.sharing,
                    capacity: consumed.into_iter().collect(),
                },
            }
        };
        self.chosen.iter().map(found).collect()
    }

    /// Counts what a claim needs at least; more than a claim can have is a failure.
    fn prepare_claim(&mut self, claim: usize, wish: &Wish<'a>) -> Result<(), Failure> {
        let mut least_of_claim = 0;
        for (request, one) in wish.requests.iter().enumerate() {
            let least = match &one.choice {
                Choice::Unknown => return Err(Failure::UnknownRequest),
                Choice::Exactly(ask) => {
                    let whom = For {
                        request: &one.name,
                        alternative: None,
                    };
                    self.prepare(ask, whom, (claim, request, 0))?
                }
                Choice::FirstAvailable(alternatives) => {
                    let mut least = usize::MAX;
                    for (index, (name, ask)) in alternatives.iter().enumerate() {
                        let whom = For {
                            request: &one.name,
                            alternative: Some(name),
                        };
                        least = least.min(self.prepare(ask, whom, (claim, request, index))?);
                    }
                    least
                }
            };
            if least > DEVICES_PER_CLAIM_MAX - least_of_claim {
                return Err(Failure::TooManyDevices);
            }
            least_of_claim += least;
        }
        Ok(())
    }

    fn prepare(
        &mut self,
        ask: &'a Ask,
        whom: For<'a>,
        at: (usize, usize, usize),
    ) -> Result<usize, Failure> {
        let class = self.devices.classes.get(&ask.class);
        let mut ready = Ready {
            ask,
            class: class.ok_or(Failure::UnknownRequest)?,
            whom,
            n_wanted: 0,
            all: None,
        };
        match ask.wanted {
            Wanted::Count(count) => ready.n_wanted = usize::try_from(count).unwrap_or(0),
            Wanted::All => {
                let all = self.matching(&ready, at)?;
                ready.n_wanted = all.len();
                ready.all = Some(all);
            }
        }
        let n_wanted = ready.n_wanted;
        self.ready.insert(at, ready);
        Ok(n_wanted)
    }

    /// Every device that matches and is large enough when empty.
    fn matching(
        &mut self,
        ready: &Ready<'a>,
        at: (usize, usize, usize),
    ) -> Result<Vec<Place>, Failure> {
        let mut all = Vec::new();
        for (index, pool) in self.pools.iter().enumerate() {
            match pool.state {
                PoolState::Usable => {}
                PoolState::Incomplete | PoolState::Invalid => {
                    return Err(Failure::PoolUnsettled);
                }
            }
            for (device, one) in pool.devices.iter().enumerate() {
                let place = (index, device);
                if !self.is_selected(ready.ask, ready.class, at, place)? {
                    continue;
                }
                let consumed = capacity::consumed(one.device, &ready.ask.capacity)?;
                if consumed.is_some_and(|amounts| capacity::fits(one.device, &amounts, &[])) {
                    all.push(place);
                }
            }
        }
        Ok(all)
    }

    fn device(&self, (pool, device): Place) -> &'s PoolDevice<'a> {
        &self.pools[pool].devices[device]
    }

    /// Whether class and request select the device, and it is for this node.
    fn is_selected(
        &mut self,
        ask: &'a Ask,
        class: &'a [Text],
        at: (usize, usize, usize),
        place: Place,
    ) -> Result<bool, Failure> {
        let key = (place, at.0, at.1, at.2);
        if let Some(&known) = self.matches.get(&key) {
            return Ok(known);
        }
        let one = self.device(place);
        for expression in class.iter().chain(&ask.selectors) {
            let expressions = &self.devices.expressions;
            match expressions.get(expression, &one.slice.name, &one.device.name) {
                Truth::Yes => {}
                Truth::No => {
                    self.matches.insert(key, false);
                    return Ok(false);
                }
                Truth::Error => return Err(Failure::Expression(expression.clone())),
            }
        }
        let is_selected = match one.slice.nodes {
            DeviceNodes::ByDevice => reaches(&one.device.nodes, self.node),
            DeviceNodes::Every
            | DeviceNodes::Named(_)
            | DeviceNodes::Selected(_)
            | DeviceNodes::Unknown => true,
        };
        self.matches.insert(key, is_selected);
        Ok(is_selected)
    }

    /// Goes on with the request at `at`, which has no device yet.
    fn next_request(&mut self, at: At) -> Result<bool, Stop> {
        self.step()?;
        let Some(wish) = self.wishes.get(at.claim) else {
            return Ok(true);
        };
        let Some(request) = wish.requests.get(at.request) else {
            return match self.next_request(at.next_claim()) {
                Err(Stop::TooMany) => Ok(false),
                other => other,
            };
        };
        let n_alternatives = match &request.choice {
            Choice::Exactly(_) | Choice::Unknown => return self.next_device(at, (0, 0)),
            Choice::FirstAvailable(alternatives) => alternatives.len(),
        };
        let mut all_too_many = true;
        for alternative in 0..n_alternatives {
            match self.next_device(At { alternative, ..at }, (0, 0)) {
                Err(Stop::TooMany) => {}
                Ok(false) => all_too_many = false,
                other => return other,
            }
        }
        if all_too_many {
            Err(Stop::TooMany)
        } else {
            Ok(false)
        }
    }

    /// Chooses one device more for the request at `at`, from `start` on, and goes on.
    fn next_device(&mut self, at: At, start: Place) -> Result<bool, Stop> {
        self.step()?;
        let ready = &self.ready[&at.ask()];
        let (ask, class, n_wanted) = (ready.ask, ready.class, ready.n_wanted);
        if ready.all.as_ref().is_some_and(Vec::is_empty) {
            return Ok(false);
        }
        if at.n_devices >= n_wanted {
            return self.next_request(at.next_request());
        }
        if n_wanted - at.n_devices > DEVICES_PER_CLAIM_MAX - self.n_results[at.claim] {
            return Err(Stop::TooMany);
        }
        if let Some(all) = &ready.all {
            let place = all[at.n_devices];
            return self
                .try_device(at, place, (0, 0))
                .map(|found| found == Tried::Found);
        }
        for pool in start.0..self.pools.len() {
            if self.pools[pool].state != PoolState::Usable {
                continue;
            }
            let first = if pool == start.0 { start.1 } else { 0 };
            for device in first..self.pools[pool].devices.len() {
                let place = (pool, device);
                if !self.is_open(at, ask, place)
                    || !self.is_selected(ask, class, at.ask(), place)?
                    || !self.is_large_enough(ask, place)?
                {
                    continue;
                }
                match self.try_device(at, place, (pool, device + 1))? {
                    Tried::Found => return Ok(true),
                    Tried::DeadEnd | Tried::Refused => {}
                }
            }
        }
        Ok(false)
    }

    /// Whether nobody has the device in a way that excludes this request.
    fn is_open(&self, at: At, ask: &Ask, place: Place) -> bool {
        let holders = self.whole.get(&place);
        match ask.access {
            Access::Admin => holders.is_none_or(|claims| !claims.contains(&at.claim)),
            Access::Use => {
                holders.is_none_or(BTreeSet::is_empty)
                    && !self.held.is_whole(&self.device(place).key)
            }
        }
    }

    fn is_large_enough(&self, ask: &Ask, place: Place) -> Result<bool, Failure> {
        let one = self.device(place);
        let consumed = capacity::consumed(one.device, &ask.capacity)?;
        Ok(consumed.is_some_and(|wanted| {
            let here = self.shared.get(&place).map(|(_, amounts)| amounts);
            capacity::fits(one.device, &wanted, &[self.held.shared(&one.key), here])
        }))
    }

    /// Adds a device, goes on, and takes it back if that leads nowhere.
    fn try_device(&mut self, at: At, place: Place, next: Place) -> Result<Tried, Stop> {
        let Some(added) = self.add(at, place)? else {
            return Ok(Tried::Refused);
        };
        let following = At {
            n_devices: at.n_devices + 1,
            ..at
        };
        let found = self.next_device(following, next);
        if let Ok(true) = found {
            return Ok(Tried::Found);
        }
        self.take_back(at, place, &added);
        found.map(|_| Tried::DeadEnd)
    }

    /// Adds a device to the attempt, if taints, counters, rules and capacity allow it.
    fn add(&mut self, at: At, place: Place) -> Result<Option<Added>, Stop> {
        let one = self.device(place);
        let ready = &self.ready[&at.ask()];
        let (ask, whom, is_all) = (ready.ask, ready.whom, ready.all.is_some());
        let is_shared = one.device.sharing == Sharing::Several;
        let is_open = match ask.access {
            Access::Admin if is_shared => true,
            Access::Admin | Access::Use => self.is_open(at, ask, place),
        };
        if !is_open {
            return Ok(None);
        }
        let counts_already =
            is_shared && (self.held.is_shared(&one.key) || self.shared.contains_key(&place));
        let takes_counters = !counts_already && !one.device.takes.is_empty();
        if takes_counters && !self.take_counters(place) {
            return Ok(None);
        }
        let mut added = Added {
            took_counters: takes_counters,
            consumed: None,
        };
        if is_kept_away(one, ask) {
            self.give_counters_back(place, &added);
            return Ok(None);
        }
        if !self.add_to_rules(at, whom, one) {
            self.give_counters_back(place, &added);
            // All devices are wanted and can't be had together: the claim contradicts itself.
            return if is_all {
                Err(Failure::ConstraintOverAll.into())
            } else {
                Ok(None)
            };
        }
        if !is_shared {
            self.whole.entry(place).or_default().insert(at.claim);
        }
        self.n_results[at.claim] += 1;
        if !self.is_large_enough(ask, place)? {
            self.undo(at, place, &added);
            return Ok(None);
        }
        if is_shared {
            let consumed = capacity::consumed(one.device, &ask.capacity)?;
            let consumed = consumed.expect("what is large enough has what is asked for");
            let (n_shares, amounts) = self.shared.entry(place).or_default();
            *n_shares += 1;
            for (name, amount) in &consumed {
                let sum = amounts.entry(name.clone()).or_default();
                *sum = *sum + *amount;
            }
            added.consumed = Some(consumed);
        }
        self.chosen.push((at, place));
        Ok(Some(added))
    }

    fn take_back(&mut self, at: At, place: Place, added: &Added) {
        self.chosen.pop();
        self.undo(at, place, added);
    }

    fn undo(&mut self, at: At, place: Place, added: &Added) {
        self.n_results[at.claim] -= 1;
        if let Some(consumed) = &added.consumed {
            let (n_shares, amounts) = self.shared.get_mut(&place).expect("a share was added");
            *n_shares -= 1;
            for (name, amount) in consumed {
                let sum = amounts.get_mut(name).expect("the share was added");
                *sum = *sum - *amount;
            }
            if *n_shares == 0 {
                self.shared.remove(&place);
            }
        }
        if let Some(claims) = self.whole.get_mut(&place) {
            claims.remove(&at.claim);
        }
        let whom = self.ready[&at.ask()].whom;
        for rule in &mut self.rules[at.claim] {
            rule.remove(whom);
        }
        self.give_counters_back(place, added);
    }

    /// Adds the device to every rule of the claim, or to none.
    fn add_to_rules(&mut self, at: At, whom: For<'a>, one: &PoolDevice<'a>) -> bool {
        let rules = &mut self.rules[at.claim];
        for index in 0..rules.len() {
            if !rules[index].add(whom, &one.key.driver, one.device) {
                for rule in &mut rules[..index] {
                    rule.remove(whom);
                }
                return false;
            }
        }
        true
    }

    /// Takes the device's counters, if every counter of its pool then suffices.
    fn take_counters(&mut self, place: Place) -> bool {
        self.change_counters(place, Exact::add_to);
        let (pool, _) = place;
        let suffices = self.pools[pool]
            .counters
            .iter()
            .all(|(&(set, name), left)| {
                let used = self.counters.get(&(pool, set, name)).copied();
                used.unwrap_or_default() <= *left
            });
        if !suffices {
            self.change_counters(place, Exact::take_from);
        }
        suffices
    }

    fn give_counters_back(&mut self, place: Place, added: &Added) {
        if added.took_counters {
            self.change_counters(place, Exact::take_from);
        }
    }

    fn change_counters(&mut self, place: Place, change: fn(Exact, &mut Exact)) {
        for set in &self.device(place).device.takes {
            for (name, amount) in &set.counters {
                let used = self.counters.entry((place.0, &set.name, name)).or_default();
                change(*amount, used);
            }
        }
    }

    fn step(&mut self) -> Result<(), Failure> {
        self.steps_left = self
            .steps_left
            .checked_sub(1)
            .ok_or(Failure::SearchTooLong)?;
        Ok(())
    }
}

/// How an attempt with one device ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tried {
    Found,
    /// The device could be added, and nothing came of it.
    DeadEnd,
    /// The device could not be added.
    Refused,
}

/// Whether a taint of the device keeps the request away.
fn is_kept_away(one: &PoolDevice<'_>, ask: &Ask) -> bool {
    one.device.taints.iter().any(|taint| {
        let keeps_away = match taint.effect {
            Effect::NoSchedule | Effect::NoExecute => true,
            Effect::PreferNoSchedule => false,
        };
        keeps_away
            && !ask
                .tolerations
                .iter()
                .any(|toleration| toleration.tolerates(taint))
    })
}
