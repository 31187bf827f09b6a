//! The pools of devices that one node can use.
//!
//! Invariant: pools come by driver and name, those with devices that must report themselves ready
//! last, and devices in the order of their slices' names; the search takes the first that does.

use std::collections::{BTreeMap, BTreeSet};

use crate::filter::facts::Text;
use crate::filter::facts::device::{Device, DeviceKey, DeviceNodes, DeviceSlice};
use crate::filter::facts::exact::Exact;
use crate::filter::facts::inventory::{Devices, Held};
use crate::filter::facts::node::NodeFacts;

/// Whether devices can be had from a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolState {
    Usable,
    /// Slices are missing; its driver is changing it.
    Incomplete,
    /// It contradicts itself.
    Invalid,
}

/// A device in a pool.
#[derive(Debug)]
pub(super) struct PoolDevice<'a> {
    pub(super) device: &'a Device,
    pub(super) slice: &'a DeviceSlice,
    pub(super) key: DeviceKey,
}

/// A pool, as one node sees it.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub(super) state: PoolState,
    pub(super) devices: Vec<PoolDevice<'a>>,
    /// What is left of the counters after allocated devices took theirs: by set and counter.
    pub(super) counters: BTreeMap<(&'a Text, &'a Text), Exact>,
}

type PoolId<'a> = (&'a Text, &'a Text);

/// The pools with devices for `node`.
pub(super) fn gather<'a>(devices: &'a Devices, node: &NodeFacts) -> Vec<Pool<'a>> {
    let mut newest: BTreeMap<PoolId<'a>, Vec<&'a DeviceSlice>> = BTreeMap::new();
    let relevant = devices.slices_for(&node.name);
    for slice in relevant.filter(|slice| is_relevant(slice, node)) {
        let pool = newest.entry((&slice.driver, &slice.pool)).or_default();
        let generation = pool.first().map_or(i64::MIN, |first| first.generation);
        if slice.generation > generation {
            pool.clear();
        }
        if slice.generation >= generation {
            pool.push(slice);
        }
    }
    let (mut pools, mut last) = (Vec::new(), Vec::new());
    for (id, mut relevant) in newest {
        relevant.sort_by(|a, b| a.name.cmp(&b.name));
        let Some(pool) = build(id, &relevant, devices) else {
            continue;
        };
        if pool.devices.iter().any(|one| one.device.has_conditions) {
            last.push(pool);
        } else {
            pools.push(pool);
        }
    }
    pools.extend(last);
    pools
}

/// Whether the node can use something in a slice.
fn is_relevant(slice: &DeviceSlice, node: &NodeFacts) -> bool {
    match &slice.nodes {
        DeviceNodes::ByDevice => slice.devices.iter().any(|one| reaches(&one.nodes, node)),
        DeviceNodes::Every
        | DeviceNodes::Named(_)
        | DeviceNodes::Selected(_)
        | DeviceNodes::Unknown => reaches(&slice.nodes, node),
    }
}

/// Whether the node is one of those.
pub(super) fn reaches(nodes: &DeviceNodes, node: &NodeFacts) -> bool {
    match nodes {
        DeviceNodes::Every => true,
        DeviceNodes::Named(name) => *name == node.name,
        DeviceNodes::Selected(selector) => selector.matches(node.subject()),
        DeviceNodes::ByDevice | DeviceNodes::Unknown => false,
    }
}

/// The pool; `None` where a newer one is on its way that has nothing for this node.
fn build<'a>(
    (driver, pool): PoolId<'a>,
    relevant: &[&'a DeviceSlice],
    inventory: &'a Devices,
) -> Option<Pool<'a>> {
    let first = relevant.first().expect("a pool has a slice");
    let expected = usize::try_from(first.slices_in_pool).unwrap_or(usize::MAX);
    let mut others: Vec<&DeviceSlice> = Vec::new();
    if relevant.len() != expected {
        let same: Vec<&DeviceSlice> = inventory.slices_of(driver, pool).collect();
        if same.iter().any(|one| one.generation > first.generation) {
            return None;
        }
        let is_current = |one: &&DeviceSlice| one.generation == first.generation;
        let current: Vec<&DeviceSlice> = same.into_iter().filter(is_current).collect();
        if current.len() != expected {
            return Some(empty(PoolState::Incomplete));
        }
        let is_known = |one: &DeviceSlice| relevant.iter().any(|slice| slice.name == one.name);
        others = current.into_iter().filter(|one| !is_known(one)).collect();
    }
    let with_counters = relevant
        .iter()
        .chain(&others)
        .filter(|one| !one.counters.is_empty());
    let Some((sets, counters)) = counters(with_counters.copied()) else {
        return Some(empty(PoolState::Invalid));
    };
    let of = |slices: &[&'a DeviceSlice]| -> Vec<PoolDevice<'a>> {
        let slices = slices.iter().filter(|one| one.counters.is_empty());
        slices.flat_map(|slice| devices(slice)).collect()
    };
    let (devices, elsewhere) = (of(relevant), of(&others));
    let mut names = BTreeSet::new();
    let is_unique = devices.iter().all(|one| names.insert(&one.device.name));
    let is_known = |one: &PoolDevice<'a>| takes_known(one.device, &sets, &counters);
    if !is_unique || !devices.iter().chain(&elsewhere).all(is_known) {
        return Some(empty(PoolState::Invalid));
    }
    let counters = left(counters, devices.iter().chain(&elsewhere), inventory.held());
    Some(Pool {
        state: PoolState::Usable,
        devices,
        counters,
    })
}

fn empty<'a>(state: PoolState) -> Pool<'a> {
    Pool {
        state,
        devices: Vec::new(),
        counters: BTreeMap::new(),
    }
}

fn devices(slice: &DeviceSlice) -> impl Iterator<Item = PoolDevice<'_>> {
    slice.devices.iter().map(move |device| PoolDevice {
        device,
        slice,
        key: DeviceKey {
            driver: slice.driver.clone(),
            pool: slice.pool.clone(),
            device: device.name.clone(),
        },
    })
}

type Counters<'a> = BTreeMap<(&'a Text, &'a Text), Exact>;

/// The names of all sets, and every counter; `None` if two sets have one name.
fn counters<'a>(
    slices: impl Iterator<Item = &'a DeviceSlice>,
) -> Option<(BTreeSet<&'a Text>, Counters<'a>)> {
    let (mut counters, mut sets) = (Counters::new(), BTreeSet::new());
    for set in slices.flat_map(|slice| &slice.counters) {
        if !sets.insert(&set.name) {
            return None;
        }
        for (name, amount) in &set.counters {
            counters.insert((&set.name, name), *amount);
        }
    }
    Some((sets, counters))
}

fn takes_known(device: &Device, sets: &BTreeSet<&Text>, counters: &Counters<'_>) -> bool {
    device.takes.iter().all(|set| {
        let mut names = set.counters.iter().map(|(name, _)| name);
        sets.contains(&set.name) && names.all(|name| counters.contains_key(&(&set.name, name)))
    })
}

/// The counters less what allocated devices took of them.
fn left<'a, 'b>(
    mut counters: Counters<'a>,
    devices: impl Iterator<Item = &'b PoolDevice<'a>>,
    held: &Held,
) -> Counters<'a>
where
    'a: 'b,
{
    for one in devices.filter(|one| held.is_in_use(&one.key)) {
        for set in &one.device.takes {
            for (name, amount) in &set.counters {
                if let Some(left) = counters.get_mut(&(&set.name, name)) {
                    *left = *left - *amount;
                }
            }
        }
    }
    counters
}
