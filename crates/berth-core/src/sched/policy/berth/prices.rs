//! Prices: what makes the tasks of completions add up to the tasks that are to come.
//!
//! The dual of a maximum-entropy problem: if the price of each type is right, random completions of
//! all nodes hold as many tasks of it as the idle GPU of the cluster should get to serve. A type
//! that completions hold too many of is made dearer, one that they hold too few of cheaper. Types
//! without GPU end with a price below zero, a reward, which is what keeps surplus CPU for them.
//!
//! Invariant: prices are finite and within bounds; what is learned depends on the snapshots seen
//! alone. Not here: the tables.

use serde::{Deserialize, Serialize};

use super::mix::Heard;
use super::view::Grid;
use crate::sched::fragmentation::TaskKind;

/// Temperature of completions, in thousandths of a GPU.
pub(super) const TEMPERATURE_MILLI: f64 = 15.0;

/// Demand is that of the idle GPU, but of this part of the cluster at least.
pub(super) const DEMAND_FLOOR: f64 = 0.1;

/// Highest price of a type without GPU, in thousandths of a GPU.
const HOST_PRICE_MAX: f64 = 50.0;

/// Highest reward of a type without GPU, in thousandths of a GPU for each mCPU.
const HOST_REWARD_MAX: f64 = 0.05;

/// Price at which twice the demand is wanted, in thousandths of a GPU.
const ELASTICITY_MILLI: f64 = 2_000.0;

/// Part of the demand that keeps the ratio of use and demand away from zero, and a constant for
/// types that hardly occur.
const RATIO_PART: f64 = 0.02;
const RATIO_CONSTANT: f64 = 0.5;

/// A type of the mix with its price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Priced {
    pub(super) kind: TaskKind,
    /// Its part of all pods.
    pub(super) popularity: f64,
    /// In thousandths of a GPU.
    pub(super) price: f64,
}

/// What the policy has learned: the mix, the prices, and how far it has read.
///
/// Kept in a profile, it makes a policy go on where another one stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriceTable {
    pub(super) grid: Grid,
    /// What has arrived, where the mix is learned from it.
    pub(super) heard: Heard,
    pub(super) types: Vec<Priced>,
    /// Pods that had arrived at the last step.
    pub(super) arrived: u64,
    /// Number of steps since the first prices.
    pub(super) steps: u64,
}

impl Priced {
    /// GPU of one task, in thousandths.
    pub(super) fn gpu_milli(&self) -> f64 {
        self.kind.compute_each.milli_f64() * f64::from(self.kind.gpus)
    }

    /// Natural logarithm of the weight in completions.
    pub(super) fn ln_weight(&self) -> f64 {
        (self.gpu_milli() - self.price) / TEMPERATURE_MILLI
    }

    /// How much of a demand is wanted at this price: more of what is dear, so that a demand that
    /// can't be met as a whole doesn't drive prices up without end.
    pub(super) fn wanted(&self, demand: f64) -> f64 {
        demand * (1.0 + self.price / ELASTICITY_MILLI)
    }

    /// The integral of what is wanted, over prices up to this one.
    pub(super) fn paid(&self, demand: f64) -> f64 {
        demand * self.price * (1.0 + self.price / (2.0 * ELASTICITY_MILLI))
    }

    /// Moves the price so that an expected use of `used` comes closer to what is wanted.
    pub(super) fn adjust(&mut self, used: f64, demand: f64) {
        let wanted = self.wanted(demand).max(0.0);
        let above = used + RATIO_PART * wanted + RATIO_CONSTANT;
        let below = (1.0 + RATIO_PART) * wanted + RATIO_CONSTANT;
        let step = libm::log(above / below).clamp(-1.0, 1.0);
        self.price = self.bounded(self.price + TEMPERATURE_MILLI * step);
    }

    /// `price` within what is allowed for the type.
    pub(super) fn bounded(&self, price: f64) -> f64 {
        let (low, high) = self.bounds();
        if price.is_finite() {
            price.clamp(low, high)
        } else {
            0.0
        }
    }

    /// The lowest and the highest price that the type may have.
    pub(super) fn bounds(&self) -> (f64, f64) {
        let gpu = self.gpu_milli();
        if gpu > 0.0 {
            (0.0, gpu)
        } else {
            (-HOST_REWARD_MAX * self.kind.cpu.0 as f64, HOST_PRICE_MAX)
        }
    }
}

/// How many tasks of each type the idle GPU should get to serve, in thousandths of a GPU; `None` if
/// no type needs any.
pub(super) fn demand(types: &[Priced], idle_milli: f64, capacity_milli: f64) -> Option<Vec<f64>> {
    let each: f64 = types
        .iter()
        .map(|priced| priced.popularity * priced.gpu_milli())
        .sum();
    let served = idle_milli.max(DEMAND_FLOOR * capacity_milli) / each;
    let wanted = types.iter().map(|priced| priced.popularity * served);
    (each > 0.0 && served > 0.0).then(|| wanted.collect())
}
