//! Sets of resources: what a pod asks of a node, what a node has.
//!
//! Invariant: arithmetic saturates. Kubernetes' own wraps at 64 bits, where a request of more than
//! nine exabytes turns negative and fits everywhere; that is not copied.

use crate::amount::{Bytes, MilliCpu};

use super::Text;

/// Amounts by resource, as kube-scheduler rounds them: CPU in thousandths, the rest in whole units.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Resources {
    pub cpu: MilliCpu,
    pub memory: Bytes,
    pub ephemeral_storage: Bytes,
    /// Extended resources, huge pages and attachable volumes, by name.
    pub scalars: Scalars,
}

/// Whole amounts by name of resource, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Scalars(Vec<(Text, i64)>);

impl Scalars {
    /// Amounts from pairs; of two with one name, both count.
    pub fn new(pairs: impl IntoIterator<Item = (Text, i64)>) -> Self {
        let mut all = Self::default();
        for (name, amount) in pairs {
            all.add(&name, amount);
        }
        all
    }

    /// The amount of `name`, zero where it is not listed.
    #[must_use]
    pub fn get(&self, name: &str) -> i64 {
        self.find(name).map_or(0, |index| self.0[index].1)
    }

    /// Adds to the amount of `name`.
    pub fn add(&mut self, name: &Text, amount: i64) {
        match self.find(name) {
            Ok(index) => self.0[index].1 = self.0[index].1.saturating_add(amount),
            Err(index) => self.0.insert(index, (name.clone(), amount)),
        }
    }

    /// Every amount, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, i64)> {
        self.0.iter().map(|(name, amount)| (name, *amount))
    }

    /// Whether none is listed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0
            .binary_search_by(|(known, _)| known.as_str().cmp(name))
    }
}

impl Resources {
    /// Adds what `other` has.
    pub fn add(&mut self, other: &Self) {
        self.cpu += other.cpu;
        self.memory += other.memory;
        self.ephemeral_storage += other.ephemeral_storage;
        for (name, amount) in other.scalars.iter() {
            self.scalars.add(name, amount);
        }
    }

    /// Takes away what `other` has, which must have been added before.
    pub fn take(&mut self, other: &Self) {
        self.cpu -= other.cpu;
        self.memory -= other.memory;
        self.ephemeral_storage -= other.ephemeral_storage;
        for (name, amount) in other.scalars.iter() {
            self.scalars.add(name, amount.saturating_neg());
        }
    }

    /// Whether nothing at all is asked for.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.cpu.is_zero()
            && self.memory.is_zero()
            && self.ephemeral_storage.is_zero()
            && self.scalars.is_empty()
    }
}
