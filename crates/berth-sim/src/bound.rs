//! What no placement can exceed: a certificate beside every figure of a policy.
//!
//! A configuration is a set of pods that one node can hold. The configuration linear program asks
//! for how many nodes of each shape hold which configuration, so that no more pods of a kind are
//! placed than arrived, and the most GPU is in use; whole nodes aside, that is what a clairvoyant
//! placement could do. Its dual has a price for each kind of pod, and any prices at all give a
//! bound:
//!
//! ```text
//! bound(prices) = sum over kinds of price x arrived
//!               + sum over shapes of nodes x max over configurations of sum of (GPU - price)
//! ```
//!
//! Memory is counted over all nodes of a shape together, with a price of its own for each shape, so
//! that pricing needs no dimension for it: the bound may be a little higher than with memory counted
//! node by node.
//!
//! Column generation looks for good prices (Gilmore and Gomory, "A Linear Programming Approach to
//! the Cutting-Stock Problem", Operations Research 1961; the bound before convergence: Farley, "A
//! Note on Bounding a Class of Linear Programming Problems", Operations Research 1990, and
//! Lagrange duality): a `master` over the configurations known so far proposes prices, an exact
//! `pricing` finds the best configuration of each shape under them.
//!
//! Invariant: the bound is worked out in integers from the prices, so it holds whatever the
//! solver's tolerance was; searches are bounded by steps. Pods without GPU use none, so they are
//! left out. Not here: arrivals, policies, percent.

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::model::gpu::ModelSet;
use serde::{Deserialize, Serialize};

mod cards;
mod master;
mod pricing;
mod problem;
mod smoothing;
#[cfg(test)]
mod tests;

use master::Master;
use pricing::Pricing;
use problem::Normal;
use smoothing::Smoothing;

/// Thousandths of a GPU are split so far for prices and values: a power of two, so that the
/// largest node's value stays far within 64 bits.
const SCALE: i64 = 1 << 30;

/// The narrowest gap that can be asked for, in thousandths of a GPU.
const GAP_MIN_MILLI: f64 = 2.0;

/// Rounds without a new configuration after which no better prices can be expected.
const STALLED_ROUNDS: u32 = 20;

/// Pods alike in all that decides where they fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// CPU of one pod.
    pub cpu: MilliCpu,
    /// Memory of one pod.
    pub memory: Bytes,
    /// Number of GPUs; more than one are whole.
    pub gpus: u8,
    /// Thousandths of each GPU, 1 to 1000.
    pub milli_each: u16,
    /// Models that will do.
    pub models: ModelSet,
    /// How many arrived, summed over the moments that [`Problem::moments`] counts.
    pub arrived: u64,
}

/// Nodes of one shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// How many there are.
    pub nodes: u32,
    /// CPU of one.
    pub cpu: MilliCpu,
    /// Memory of one.
    pub memory: Bytes,
    /// GPUs of one.
    pub gpus: u8,
    /// Models of its GPUs.
    pub models: ModelSet,
}

/// What is to be bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The cluster.
    pub machines: Vec<Machine>,
    /// What arrived.
    pub kinds: Vec<Kind>,
    /// Moments that arrivals are summed over. The bound is concave in what arrived, so that at the
    /// mean of several moments it also bounds the mean of what was in use at them.
    pub moments: u64,
}

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Rounds of column generation, at most.
    pub rounds_max: u32,
    /// Elementary steps of pricing, at most; the round that exceeds them is finished.
    pub steps_max: u64,
    /// Gap between the bound and what the configurations found so far reach, in millionths of the
    /// cluster, that ends the search.
    pub gap_ppm: u32,
}

impl Default for Effort {
    /// Converges on all public traces, within half a minute on one core.
    fn default() -> Self {
        Self {
            rounds_max: 400,
            steps_max: 50_000_000_000,
            gap_ppm: 10,
        }
    }
}

/// How the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The bound is the optimum of the linear program, but for the gap asked for.
    Converged,
    /// The effort was spent before; the bound holds all the same.
    Spent,
    /// Nothing that arrived could use a GPU, or there is none.
    Nothing,
}

/// A bound and how good it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// No placement has more of the GPUs in use, in thousandths of one.
    pub bound_milli: i64,
    /// What a fractional number of nodes with the configurations found would reach, in thousandths
    /// of a GPU: the optimum of the linear program lies between this and the bound.
    pub reached_milli: f64,
    /// What arrived, in thousandths of a GPU.
    pub demand_milli: f64,
    /// GPU of the cluster, in thousandths of one.
    pub capacity_milli: i64,
    /// How the search ended.
    pub ending: Ending,
    /// Whether amounts or kinds were rounded in the cluster's favour to keep the search within
    /// bounds: the bound holds, but is not the tightest.
    pub rounded: bool,
    /// Rounds of column generation.
    pub rounds: u32,
    /// Configurations found.
    pub configurations: usize,
}

/// Where the search is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Rounds done.
    pub rounds: u32,
    /// The bound so far, in thousandths of a GPU.
    pub bound_milli: i64,
    /// What is reached so far.
    pub reached_milli: f64,
    /// Part of the way to the end, 0 to 1, judged by the gap.
    pub done: f64,
}

/// A bound for `problem`. `watch` is told after each round.
pub fn certify(problem: &Problem, effort: &Effort, mut watch: impl FnMut(Progress)) -> Certificate {
    let normal = Normal::of(problem);
    let capacity_milli = normal.capacity_milli();
    let (demand, moments) = (normal.demand_milli(), i128::from(normal.moments));
    // Neither more than arrived nor more than there is.
    let trivial = i128::from(capacity_milli).min(ceil_div(demand, moments));
    let mut certificate = Certificate {
        bound_milli: i64::try_from(trivial).expect("at most the capacity"),
        reached_milli: 0.0,
        demand_milli: demand as f64 / moments as f64,
        capacity_milli,
        ending: Ending::Nothing,
        rounded: normal.rounded,
        rounds: 0,
        configurations: 0,
    };
    if trivial == 0 {
        return certificate;
    }
    let mut pricing = Pricing::new(&normal);
    let mut master = Master::new(&normal);
    // The bound is rounded up to a whole thousandth of a GPU, and the master is a little off.
    let wanted = (capacity_milli as f64 * f64::from(effort.gap_ppm) / 1e6).max(GAP_MIN_MILLI);
    let mut search = Smoothing::new(&normal);
    certificate.ending = Ending::Spent;
    let (mut widest, mut stalled) = (f64::INFINITY, 0);
    while certificate.rounds < effort.rounds_max
        && pricing.steps() < effort.steps_max
        && stalled < STALLED_ROUNDS
    {
        let prices = search.prices(master.prices());
        let found = pricing.price(&prices);
        let bound = lagrange(&normal, &prices, &found.values);
        search.judge(&prices, bound);
        let bound = ceil_div(bound, moments * i128::from(SCALE));
        certificate.bound_milli = i64::try_from(bound).map_or(certificate.bound_milli, |bound| {
            bound.min(certificate.bound_milli)
        });
        certificate.rounds += 1;
        stalled = if master.add(found.columns) {
            0
        } else {
            stalled + 1
        };
        master.solve(&normal, search.master_gap());
        certificate.configurations = master.len();
        certificate.reached_milli = master.reached_milli().max(certificate.reached_milli);
        search
            .narrow((certificate.bound_milli as f64 - master.aim_milli()) / capacity_milli as f64);
        let gap = certificate.bound_milli as f64 - certificate.reached_milli;
        widest = if widest.is_finite() { widest } else { gap };
        watch(Progress {
            rounds: certificate.rounds,
            bound_milli: certificate.bound_milli,
            reached_milli: certificate.reached_milli,
            done: way(widest, gap, wanted),
        });
        if gap <= wanted {
            certificate.ending = Ending::Converged;
            break;
        }
    }
    certificate
}

/// How far `gap` is on its way from `widest` to `wanted`, by its logarithm.
fn way(widest: f64, gap: f64, wanted: f64) -> f64 {
    let (wanted, all) = (wanted.max(GAP_MIN_MILLI), widest.max(GAP_MIN_MILLI));
    if gap <= wanted || all <= wanted {
        return 1.0;
    }
    (libm::log(all / gap) / libm::log(all / wanted)).clamp(0.0, 1.0)
}

/// The bound of `prices`, given the largest value of a configuration of each machine under them, in
/// price units times moments.
fn lagrange(normal: &Normal, prices: &[i64], values: &[i64]) -> i128 {
    let (of_kinds, of_memory) = prices.split_at(normal.kinds.len());
    let paid = normal.kinds.iter().zip(of_kinds);
    let paid = paid.map(|(kind, &price)| i128::from(price) * i128::from(kind.arrived));
    let held = normal.machines.iter().zip(of_memory).zip(values);
    let held = held.map(|((machine, &price), &value)| {
        let node = i128::from(value) + i128::from(price) * i128::from(machine.memory);
        i128::from(machine.nodes) * node
    });
    paid.sum::<i128>() + held.sum::<i128>() * i128::from(normal.moments)
}

fn ceil_div(a: i128, b: i128) -> i128 {
    a.div_euclid(b) + i128::from(a.rem_euclid(b) != 0)
}
