//! All devices of a cluster, where they are, and who holds them.
//!
//! Invariant: what is held is what allocated claims say, and every slice stands under its node and its
//! pool; both are kept in step by the methods here, so that a search costs what its node has.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Text;
use super::device::{
    Allocation, DeviceClaim, DeviceKey, DeviceNodes, DeviceSlice, Expressions, Says, Sharing,
};
use super::exact::Exact;
use super::storage::ClaimKey;

/// Amounts by name of capacity.
pub type Amounts = BTreeMap<Text, Exact>;

type PoolId = (Text, Text);

/// All devices of a cluster.
#[derive(Debug, Clone, Default)]
pub struct Devices {
    /// The selectors of each class.
    pub classes: BTreeMap<Text, Box<[Text]>>,
    /// Extended resources that classes stand for (KEP-5004), and the class.
    pub resources: BTreeMap<Text, Text>,
    pub expressions: Expressions,
    claims: BTreeMap<ClaimKey, DeviceClaim>,
    held: Held,
    slices: BTreeMap<Text, Arc<DeviceSlice>>,
    by_node: BTreeMap<Text, Vec<Arc<DeviceSlice>>>,
    /// Slices that are not for one named node.
    anywhere: Vec<Arc<DeviceSlice>>,
    by_pool: BTreeMap<PoolId, Vec<Arc<DeviceSlice>>>,
}

impl Devices {
    /// Every claim, by name.
    #[must_use]
    pub fn claims(&self) -> &BTreeMap<ClaimKey, DeviceClaim> {
        &self.claims
    }

    /// What allocated claims hold.
    #[must_use]
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Every slice, by name.
    pub fn slices(&self) -> impl Iterator<Item = &DeviceSlice> {
        self.slices.values().map(AsRef::as_ref)
    }

    /// The slices that may be for the node: its own, and those that are not for one node.
    pub fn slices_for(&self, node: &str) -> impl Iterator<Item = &DeviceSlice> {
        let own = self.by_node.get(node).into_iter().flatten();
        own.chain(&self.anywhere).map(AsRef::as_ref)
    }

    /// Every slice of a pool, of all generations.
    pub fn slices_of(&self, driver: &Text, pool: &Text) -> impl Iterator<Item = &DeviceSlice> {
        let id = (driver.clone(), pool.clone());
        self.by_pool
            .get(&id)
            .into_iter()
            .flatten()
            .map(AsRef::as_ref)
    }

    /// Adds a slice, or gives the one of that name other contents.
    pub fn set_slice(&mut self, slice: DeviceSlice) {
        self.remove_slice(&slice.name);
        let slice = Arc::new(slice);
        self.home(&slice).push(Arc::clone(&slice));
        let id = (slice.driver.clone(), slice.pool.clone());
        self.by_pool.entry(id).or_default().push(Arc::clone(&slice));
        self.slices.insert(slice.name.clone(), slice);
    }

    /// Takes a slice away.
    pub fn remove_slice(&mut self, name: &str) {
        let Some(slice) = self.slices.remove(name) else {
            return;
        };
        self.home(&slice).retain(|one| one.name != name);
        let id = (slice.driver.clone(), slice.pool.clone());
        if let Some(pool) = self.by_pool.get_mut(&id) {
            pool.retain(|one| one.name != name);
            if pool.is_empty() {
                self.by_pool.remove(&id);
            }
        }
        if let DeviceNodes::Named(node) = &slice.nodes
            && self.by_node.get(node).is_some_and(Vec::is_empty)
        {
            self.by_node.remove(node);
        }
    }

    /// Adds a claim, or gives the one of that name other contents.
    pub fn set_claim(&mut self, claim: DeviceClaim) {
        self.remove_claim(&claim.key);
        if let Some(allocation) = &claim.allocation {
            self.held.add(allocation);
        }
        self.claims.insert(claim.key.clone(), claim);
    }

    /// Gives a claim what has been decided for it.
    pub fn allocate(&mut self, key: &ClaimKey, allocation: Allocation) {
        if let Some(claim) = self.claims.get_mut(key)
            && claim.allocation.is_none()
        {
            self.held.add(&allocation);
            claim.allocation = Some(allocation);
        }
    }

    /// Whether the claim has devices by a decision that has yet to be carried out.
    #[must_use]
    pub fn is_decided(&self, key: &ClaimKey) -> bool {
        let allocation = self
            .claims
            .get(key)
            .and_then(|claim| claim.allocation.as_ref());
        allocation.is_some_and(|allocation| allocation.says == Says::Decision)
    }

    /// Takes back what has been decided for a claim, unless it has been carried out.
    pub fn take_back(&mut self, key: &ClaimKey) {
        if let Some(claim) = self.claims.get_mut(key) {
            let decided = |one: &mut Allocation| one.says == Says::Decision;
            if let Some(allocation) = claim.allocation.take_if(decided) {
                self.held.remove(&allocation);
            }
        }
    }

    /// Takes a claim away, and gives back what it holds.
    pub fn remove_claim(&mut self, key: &ClaimKey) {
        let claim = self.claims.remove(key);
        if let Some(allocation) = claim.and_then(|claim| claim.allocation) {
            self.held.remove(&allocation);
        }
    }

    fn home(&mut self, slice: &DeviceSlice) -> &mut Vec<Arc<DeviceSlice>> {
        match &slice.nodes {
            DeviceNodes::Named(node) => self.by_node.entry(node.clone()).or_default(),
            DeviceNodes::Every
            | DeviceNodes::Selected(_)
            | DeviceNodes::ByDevice
            | DeviceNodes::Unknown => &mut self.anywhere,
        }
    }
}

/// What allocated claims hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// Devices that a claim has for itself, and how many claims say so.
    whole: BTreeMap<DeviceKey, usize>,
    /// Devices of which claims have shares: how many, and what these come to.
    shared: BTreeMap<DeviceKey, (usize, Amounts)>,
}

impl Held {
    /// Whether a claim has the device for itself.
    #[must_use]
    pub fn is_whole(&self, key: &DeviceKey) -> bool {
        self.whole.contains_key(key)
    }

    /// Whether claims have shares of the device.
    #[must_use]
    pub fn is_shared(&self, key: &DeviceKey) -> bool {
        self.shared.contains_key(key)
    }

    /// Whether anybody has it or a part of it.
    #[must_use]
    pub fn is_in_use(&self, key: &DeviceKey) -> bool {
        self.is_whole(key) || self.is_shared(key)
    }

    /// What is taken of a shared device.
    #[must_use]
    pub fn shared(&self, key: &DeviceKey) -> Option<&Amounts> {
        self.shared.get(key).map(|(_, amounts)| amounts)
    }

    fn add(&mut self, allocation: &Allocation) {
        for device in &allocation.devices {
            match device.sharing {
                Sharing::One => *self.whole.entry(device.key.clone()).or_default() += 1,
                Sharing::Several => {
                    let (n_shares, sums) = self.shared.entry(device.key.clone()).or_default();
                    *n_shares += 1;
                    for (name, amount) in &device.capacity {
                        amount.add_to(sums.entry(name.clone()).or_default());
                    }
                }
            }
        }
    }

    fn remove(&mut self, allocation: &Allocation) {
        for device in &allocation.devices {
            match device.sharing {
                Sharing::One => {
                    let n_claims = self.whole.get_mut(&device.key);
                    let n_claims = n_claims.expect("what a claim holds was added with it");
                    *n_claims -= 1;
                    if *n_claims == 0 {
                        self.whole.remove(&device.key);
                    }
                }
                Sharing::Several => {
                    let share = self.shared.get_mut(&device.key);
                    let (n_shares, sums) = share.expect("what a claim holds was added with it");
                    *n_shares -= 1;
                    for (name, amount) in &device.capacity {
                        amount.take_from(sums.entry(name.clone()).or_default());
                    }
                    if *n_shares == 0 {
                        self.shared.remove(&device.key);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use arcstr::literal;

    use super::super::device::{AllocatedDevice, Readiness, Says};
    use super::*;

    fn claim(name: &str, sharing: Sharing, amount: i64) -> DeviceClaim {
        let device = AllocatedDevice {
            request: literal!("request"),
            key: DeviceKey {
                driver: literal!("driver"),
                pool: literal!("pool"),
                device: literal!("device"),
            },
            sharing,
            capacity: Box::new([(literal!("memory"), Exact::from_units(amount))]),
        };
        DeviceClaim {
            key: ClaimKey {
                namespace: literal!("team"),
                name: Text::from(name),
            },
            uid: Text::from(name),
            is_terminating: false,
            owner: None,
            is_for_extended: false,
            requests: Box::default(),
            constraints: Box::default(),
            allocation: Some(Allocation {
                says: Says::TheClaim,
                looked_after: Box::default(),
                devices: Box::new([device]),
                nodes: None,
                readiness: Readiness::Ready,
            }),
        }
    }

    #[test]
    fn what_claims_hold_goes_with_the_last_of_them() {
        for sharing in [Sharing::One, Sharing::Several] {
            let mut devices = Devices::default();
            let (one, two) = (claim("one", sharing, 3), claim("two", sharing, 4));
            let key = one.allocation.as_ref().unwrap().devices[0].key.clone();
            devices.set_claim(one.clone());
            devices.set_claim(two.clone());
            devices.set_claim(two.clone());
            let sum = devices
                .held()
                .shared(&key)
                .map(|sums| sums["memory"].units());
            assert_eq!(sum, (sharing == Sharing::Several).then_some(7));
            devices.remove_claim(&one.key);
            assert!(devices.held().is_in_use(&key));
            devices.remove_claim(&two.key);
            assert_eq!(*devices.held(), Held::default());
        }
    }
}
