//! What `calicoctl ipam check` says of a state, and what it doesn't look at: by the words of its
//! source and by brute force over single addresses, sharing nothing with the rules.
//!
//! Source: calico `calicoctl/calicoctl/commands/ipam/check.go`.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::state::{Attribute, Block, State};

/// The classes of `calicoctl ipam check`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Checked {
    /// Allocated and not in use.
    pub(crate) leaked: BTreeSet<IpAddr>,
    /// In use and in no active pool.
    pub(crate) in_no_pool: BTreeSet<IpAddr>,
    /// In use, in an active pool, and not allocated.
    pub(crate) not_allocated: BTreeSet<IpAddr>,
    /// Handles that no allocation names.
    pub(crate) orphans: BTreeSet<String>,
    /// Handles that an allocation names and that don't exist.
    pub(crate) missing: BTreeSet<String>,
    /// Blocks whose books contradict themselves.
    pub(crate) invalid: BTreeSet<String>,
}

/// Addresses that tunnels of nodes use: the check takes those of IPv4 only.
pub(crate) fn tunnels(state: &State) -> impl Iterator<Item = IpAddr> {
    let all = state.nodes.iter().flat_map(|node| &node.tunnels);
    all.map(|(_, address)| *address)
}

/// Addresses that live pods use, as often as they do.
pub(crate) fn pod_addresses(state: &State) -> impl Iterator<Item = IpAddr> {
    let live = state.pods.iter().filter(|pod| pod.is_live());
    live.flat_map(|pod| &pod.addresses).copied()
}

/// Every allocated address with who holds it.
pub(crate) fn allocations(
    state: &State,
) -> impl Iterator<Item = (&Block, IpAddr, Option<&Attribute>)> {
    state.blocks.iter().flat_map(|block| {
        let entries = block.allocations.iter().zip(0..);
        entries.filter_map(move |(index, ordinal)| {
            let attribute = block.attributes.get((*index)?);
            Some((block, block.range.nth(ordinal), attribute))
        })
    })
}

impl Checked {
    pub(crate) fn of(state: &State) -> Self {
        let mut checked = Self::default();
        let used: BTreeSet<IpAddr> = tunnels(state)
            .filter(IpAddr::is_ipv4)
            .chain(pod_addresses(state))
            .collect();
        let allocated: BTreeSet<IpAddr> =
            allocations(state).map(|(_, address, _)| address).collect();
        let cooling: BTreeSet<IpAddr> = allocations(state)
            .filter(|(_, _, attribute)| attribute.is_some_and(|held| held.is_cooling))
            .map(|(_, address, _)| address)
            .collect();
        for address in &allocated {
            if !used.contains(address) && !cooling.contains(address) {
                checked.leaked.insert(*address);
            }
        }
        let active = |address: IpAddr| {
            let mut pools = state.pools.iter().filter(|pool| !pool.is_disabled);
            pools.any(|pool| pool.range.contains(address))
        };
        for address in used.difference(&allocated) {
            if active(*address) {
                checked.not_allocated.insert(*address);
            } else {
                checked.in_no_pool.insert(*address);
            }
        }
        let named: BTreeSet<String> = allocations(state)
            .filter_map(|(_, _, attribute)| Some(attribute?.handle.clone()))
            .collect();
        let known: BTreeSet<String> = state.handles.iter().cloned().collect();
        checked.orphans = known.difference(&named).cloned().collect();
        checked.missing = named.difference(&known).cloned().collect();
        let invalid = state.blocks.iter().filter(|block| !is_sound(block));
        checked.invalid = invalid.map(|block| block.range.cidr()).collect();
        checked
    }
}

fn is_sound(block: &Block) -> bool {
    let pointed: BTreeSet<usize> = block.allocations.iter().flatten().copied().collect();
    let free: BTreeSet<usize> = block.unallocated.iter().copied().collect();
    let n_allocated = block.allocations.iter().flatten().count();
    pointed == (0..block.attributes.len()).collect()
        && free.len() == block.unallocated.len()
        && free
            .iter()
            .all(|ordinal| block.allocations[*ordinal].is_none())
        && n_allocated + free.len() == block.allocations.len()
}
