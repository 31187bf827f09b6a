//! How prices come about: the first ones, and a step at a time from there.
//!
//! Invariant: both are bounded by steps and nodes, never by time; the same snapshots make the same
//! prices. Not here: what a price means.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::mix::Mix;
use super::model::{Census, Model};
use super::prices::{PriceTable, Priced, demand};
use super::view::{Grid, is_ready};
use crate::amount::GpuUnits;
use crate::model::gpu::ModelSet;
use crate::model::node::{Node, NodeState, ShapeId};
use crate::model::snapshot::Snapshot;

/// Steps to the first prices.
const FIRST_STEPS: u32 = 200;

/// First step of those whose prices are averaged.
const AVERAGED_FROM: u32 = 67;

/// Part of the average that each further step leaves as it was.
const AVERAGED: f64 = 0.98;

/// Rate of a step once there are prices.
const RATE: f64 = 0.3;

/// Nodes looked at in one step.
const NODES_A_STEP: usize = 4_096;

/// The first prices, for the cluster as it is found.
pub(super) fn first(mix: &Mix, snapshot: &Snapshot) -> Option<PriceTable> {
    let types = mix.iter().map(|&(kind, popularity)| Priced {
        kind,
        popularity,
        price: 0.0,
    });
    let mut table = PriceTable {
        grid: grid(mix, snapshot),
        types: types.collect(),
        arrived: snapshot.arrivals().iter().sum(),
        steps: 0,
    };
    let nodes = sample(snapshot, 0);
    let Some(wanted) = wanted(&table.types, snapshot) else {
        return Some(table);
    };
    let mut average: Vec<f64> = vec![0.0; table.types.len()];
    for step in 0..FIRST_STEPS {
        let mut model = Model::new(Arc::new(table.clone()));
        let used = used(&mut model, &nodes);
        let rate = 1.0 / (1.0 + f64::from(step) / 20.0);
        for ((priced, used), wanted) in table.types.iter_mut().zip(&used).zip(&wanted) {
            priced.adjust(*used, *wanted, rate);
        }
        for (average, priced) in average.iter_mut().zip(&table.types) {
            if step <= AVERAGED_FROM {
                *average = priced.price;
            } else {
                *average = AVERAGED * *average + (1.0 - AVERAGED) * priced.price;
            }
        }
    }
    for (priced, average) in table.types.iter_mut().zip(average) {
        priced.price = priced.bounded(average);
    }
    Some(table)
}

/// The prices after one step from those of `model`.
pub(super) fn next(model: &mut Model, mix: &Mix, snapshot: &Snapshot) -> PriceTable {
    let nodes = sample(snapshot, model.prices.steps);
    let used = used(model, &nodes);
    let old = Arc::clone(&model.prices);
    let known: IndexMap<_, _, FxBuildHasher> = old
        .types
        .iter()
        .zip(used)
        .map(|(priced, used)| (priced.kind, (priced.price, used)))
        .collect();
    let mut types: Vec<Priced> = Vec::with_capacity(mix.len());
    for &(kind, popularity) in mix {
        let price = known.get(&kind).map_or(0.0, |&(price, _)| price);
        types.push(Priced {
            kind,
            popularity,
            price,
        });
    }
    if let Some(wanted) = wanted(&types, snapshot) {
        for (priced, wanted) in types.iter_mut().zip(wanted) {
            if let Some(&(_, used)) = known.get(&priced.kind) {
                priced.adjust(used, wanted, RATE);
            }
        }
    }
    PriceTable {
        grid: grid(mix, snapshot),
        types,
        arrived: snapshot.arrivals().iter().sum(),
        steps: old.steps + 1,
    }
}

fn grid(mix: &Mix, snapshot: &Snapshot) -> Grid {
    let names_models = |kind: &crate::sched::fragmentation::TaskKind| {
        kind.gpus > 0 && kind.models != ModelSet::ANY
    };
    Grid::of(snapshot, mix.iter().any(|(kind, _)| names_models(kind)))
}

/// The nodes that a step looks at, alike ones together, with how many nodes each stands for.
fn sample(snapshot: &Snapshot, step: u64) -> Vec<(Arc<Node>, f64)> {
    let stride = snapshot.nodes().len().div_ceil(NODES_A_STEP).max(1);
    let offset = usize::try_from(step % stride as u64).expect("below a number of nodes");
    let mut alike: IndexMap<(ShapeId, &NodeState), (&Arc<Node>, f64), FxBuildHasher> =
        IndexMap::default();
    for node in snapshot.nodes().iter().skip(offset).step_by(stride) {
        if is_ready(node) {
            alike
                .entry((node.shape_id, &node.state))
                .or_insert((node, 0.0))
                .1 += stride as f64;
        }
    }
    alike
        .into_values()
        .map(|(node, times)| (Arc::clone(node), times))
        .collect()
}

fn used(model: &mut Model, nodes: &[(Arc<Node>, f64)]) -> Vec<f64> {
    let mut census = Census::default();
    for (node, times) in nodes {
        model.count(&mut census, node, *times);
    }
    model.expected_use(&census)
}

fn wanted(types: &[Priced], snapshot: &Snapshot) -> Option<Vec<f64>> {
    let ready = || snapshot.nodes().iter().filter(|node| is_ready(node));
    let open = ready().flat_map(|node| &node.state.gpus);
    let idle: GpuUnits = open.map(crate::model::gpu::GpuState::open_compute).sum();
    demand(types, idle.milli_f64(), snapshot.gpu_capacity().milli_f64())
}
