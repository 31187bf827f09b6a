//! How prices come about: the first ones, and a step at a time from there.
//!
//! Invariant: both are bounded by steps and nodes, never by time; the same snapshots make the same
//! prices. Not here: what a price means.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::descent::{Slope, minimise};
use super::mix::{self, Heard, Mix};
use super::model::{Census, Model};
use super::prices::{PriceTable, Priced, TEMPERATURE_MILLI, demand};
use super::view::{Grid, is_ready};
use crate::amount::GpuUnits;
use crate::model::gpu::{GpuState, ModelSet};
use crate::model::node::{Node, NodeState, ShapeId};
use crate::model::snapshot::Snapshot;
use crate::sched::fragmentation::{TargetWorkload, TaskKind};

/// Evaluations of the dual function to the first prices: enough that twice as many change nothing.
const FIRST_EVALUATIONS: u32 = 40;

/// Nodes looked at in one step.
const NODES_A_STEP: usize = 4_096;

/// The first prices, for the cluster as it is found: those that minimise
///
/// ```text
/// sum over nodes of tau ln Z + sum over types of d (price + price^2 / (2 E))
/// ```
///
/// whose slope is what is wanted less what is used. A mix that is known from a few arrivals alone
/// isn't worth as much: there all prices begin at zero.
pub(super) fn first(workload: &TargetWorkload, snapshot: &Snapshot) -> PriceTable {
    let mut table = renewed(workload, None, snapshot);
    if workload.is_empty() {
        return table;
    }
    let Some(demands) = demands(&table.types, snapshot) else {
        return table;
    };
    let nodes = sample(snapshot, 0);
    // Second derivatives are about use by temperature, and use comes to about the demand.
    let scale = |demand: &f64| libm::sqrt((demand + 1.0) / TEMPERATURE_MILLI);
    let scales: Vec<f64> = demands.iter().map(scale).collect();
    let bounds = table.types.iter().zip(&scales).map(|(priced, scale)| {
        let (low, high) = priced.bounds();
        (low * scale, high * scale)
    });
    let bounds: Vec<_> = bounds.collect();
    let start = vec![0.0; scales.len()];
    let found = minimise(start, &bounds, FIRST_EVALUATIONS, |point| {
        set_prices(&mut table.types, point, &scales);
        let mut model = Model::new(Arc::new(table.clone()));
        let (ln_total, used) = used(&mut model, &nodes);
        let mut value = TEMPERATURE_MILLI * ln_total;
        let mut slope = Vec::with_capacity(used.len());
        for (((priced, demand), used), scale) in
            table.types.iter().zip(&demands).zip(used).zip(&scales)
        {
            value += priced.paid(*demand);
            slope.push((priced.wanted(*demand) - used) / scale);
        }
        Slope { value, slope }
    });
    set_prices(&mut table.types, &found, &scales);
    table
}

fn set_prices(types: &mut [Priced], point: &[f64], scales: &[f64]) {
    for ((priced, x), scale) in types.iter_mut().zip(point).zip(scales) {
        priced.price = priced.bounded(x / scale);
    }
}

/// The prices after one step from those of `model`.
pub(super) fn step(
    workload: &TargetWorkload,
    model: &mut Model,
    snapshot: &Snapshot,
) -> PriceTable {
    let nodes = sample(snapshot, model.prices.steps);
    let (_, used) = used(model, &nodes);
    let known = model.prices.types.iter().zip(used);
    let used: IndexMap<TaskKind, f64, FxBuildHasher> =
        known.map(|(priced, used)| (priced.kind, used)).collect();
    let mut table = renewed(workload, Some(&model.prices), snapshot);
    table.steps += 1;
    if let Some(demands) = demands(&table.types, snapshot) {
        for (priced, demand) in table.types.iter_mut().zip(demands) {
            if let Some(&used) = used.get(&priced.kind) {
                priced.adjust(used, demand);
            }
        }
    }
    table
}

/// The table for what has arrived and what there is now, with the prices as they were.
fn renewed(
    workload: &TargetWorkload,
    before: Option<&PriceTable>,
    snapshot: &Snapshot,
) -> PriceTable {
    let (heard, mix) = if workload.is_empty() {
        let nothing = Heard::default();
        let heard = before
            .map_or(&nothing, |before| &before.heard)
            .with_news(snapshot);
        let mix = heard.mix();
        (heard, mix)
    } else {
        (Heard::default(), mix::expected(workload))
    };
    let known = before.into_iter().flat_map(|before| &before.types);
    let known: IndexMap<TaskKind, f64, FxBuildHasher> =
        known.map(|priced| (priced.kind, priced.price)).collect();
    let types = mix.iter().map(|&(kind, popularity)| {
        let priced = Priced {
            kind,
            popularity,
            price: 0.0,
        };
        let price = known.get(&kind).map_or(0.0, |&price| priced.bounded(price));
        Priced { price, ..priced }
    });
    PriceTable {
        grid: grid(&mix, snapshot),
        heard,
        types: types.collect(),
        arrived: snapshot.arrivals().iter().sum(),
        steps: before.map_or(0, |before| before.steps),
    }
}

fn grid(mix: &Mix, snapshot: &Snapshot) -> Grid {
    let names_models = |kind: &TaskKind| kind.gpus > 0 && kind.models != ModelSet::ANY;
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
            let (first, times) = alike
                .entry((node.shape_id, &node.state))
                .or_insert((node, 0.0));
            if node.name < first.name {
                *first = node;
            }
            *times += stride as f64;
        }
    }
    // By name: sums of floats must not depend on the order in which nodes were listed.
    let mut sample: Vec<(Arc<Node>, f64)> = alike
        .into_values()
        .map(|(node, times)| (Arc::clone(node), times))
        .collect();
    sample.sort_unstable_by(|a, b| a.0.name.cmp(&b.0.name));
    sample
}

/// The logarithms of Z of `nodes` together, and the expected number of tasks of each type.
fn used(model: &mut Model, nodes: &[(Arc<Node>, f64)]) -> (f64, Vec<f64>) {
    let mut census = Census::default();
    for (node, times) in nodes {
        model.count(&mut census, node, *times);
    }
    model.expected_use(&census)
}

fn demands(types: &[Priced], snapshot: &Snapshot) -> Option<Vec<f64>> {
    let ready = || snapshot.nodes().iter().filter(|node| is_ready(node));
    let open = ready().flat_map(|node| &node.state.gpus);
    let idle: GpuUnits = open.map(GpuState::open_compute).sum();
    demand(types, idle.milli_f64(), snapshot.gpu_capacity().milli_f64())
}
