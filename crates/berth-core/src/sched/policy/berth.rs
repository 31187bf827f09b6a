//! Berth's own policy: the place that leaves the most ways to fill up the cluster.
//!
//! The score of a place is the change of `V = tau ln Z` of the node, with `Z` the weight of all
//! completions of what is left of it (see [`tables`]) under prices that are learned from what
//! arrives (see [`prices`]). Fragmentation asks whether the next task can use what is left; `V` asks
//! whether some sequence of tasks can, over all cards and the CPU beside them.
//!
//! Invariant: what is decided depends on the snapshot, the profile and the price table alone; the
//! tables are a memory of what follows from these. Not here: what fits.

use std::sync::Arc;

use super::{Entry, Learned, Place, Policy, Score, Selection, best_fit};
use crate::amount::GpuUnits;
use crate::model::gpu::GpuGrant;
use crate::model::request::GpuRequest;
use crate::model::snapshot::Snapshot;
use crate::sched::fit;
use crate::sched::fragmentation::TargetWorkload;
use crate::stream::Stream;

mod descent;
mod learning;
mod mix;
mod model;
mod prices;
mod tables;
#[cfg(test)]
mod tests;
mod view;

pub use prices::PriceTable;

use model::Model;
use prices::TEMPERATURE_MILLI;
use view::CardRoom;

pub(super) const ENTRY: Entry = Entry {
    name: "berth",
    summary: "the place that leaves the most ways to fill up the cluster",
    manual: "score = change of V = tau ln Z of the node, in steps of 10 thousandths of a GPU. Z is \
             the weight of all ways to fill up what is left of the node with tasks of the mix, over \
             its CPU and its cards together; a task weighs exp((GPU - price)/tau), tau = 15 \
             thousandths.\n\
             Prices make the tasks of random completions match the tasks to come; they follow what \
             arrives, a step for every 100 pods. Without a target workload the mix is that of what \
             has arrived, and the first 50 pods go where best-fit puts them.\n\
             Among cards of a node the best one is taken, the lowest index on ties.",
    selection: Selection::HighestScore,
    build: |profile| {
        Box::new(Berth {
            workload: Arc::clone(&profile.workload),
            learned: profile
                .prices
                .as_ref()
                .map(|prices| Model::new(Arc::clone(prices))),
        })
    },
};

/// Scores are in steps of so many thousandths of a GPU: what differs by less is filled by name.
const STEP_MILLI: f64 = 10.0;

/// Arrivals between two price steps.
const ARRIVALS_A_STEP: u64 = 100;

/// Arrivals before a mix is believed.
const ARRIVALS_FIRST: u64 = 50;

/// Part of the free compute of a card that its choice for an instance costs: MIG and vGPU
/// instances go where least is left, which keeps cards empty that may change their mode.
const INSTANCE_SPREAD: f64 = 0.05;

#[derive(Debug)]
struct Berth {
    workload: Arc<TargetWorkload>,
    learned: Option<Model>,
}

impl Policy for Berth {
    fn score(&mut self, place: &Place<'_>) -> Score {
        let Some(model) = &mut self.learned else {
            return best_fit::points(place);
        };
        let (gain, _) = best(model, place);
        // Far beyond every sum of cards, and clear of the scores that are reserved.
        (gain / STEP_MILLI + 0.5).floor().clamp(-1e9, 1e9) as Score
    }

    fn grant(&mut self, place: &Place<'_>, _stream: &mut Stream) -> GpuGrant {
        let Place {
            catalog,
            request,
            shape,
            state,
        } = *place;
        let card = match &mut self.learned {
            Some(model) => best(model, place).1,
            None => None,
        };
        match card {
            Some(card) => fit::grant_on(catalog, request, shape, state, card),
            None => fit::best_fit_grant(catalog, request, shape, state),
        }
    }

    fn learn(&mut self, snapshot: &Snapshot) -> Learned {
        let arrived: u64 = snapshot.arrivals().iter().sum();
        let prices = match &mut self.learned {
            None if self.workload.is_empty() && arrived < ARRIVALS_FIRST => {
                return Learned::Nothing;
            }
            None => learning::first(&self.workload, snapshot),
            Some(model) => {
                let known = model.prices.arrived;
                // A count that went back is of another cluster: prices go on from there.
                if (known..known + ARRIVALS_A_STEP).contains(&arrived) {
                    return Learned::Nothing;
                }
                learning::step(&self.workload, model, snapshot)
            }
        };
        self.learned = Some(Model::new(Arc::new(prices)));
        Learned::NewScores
    }

    fn prices(&self) -> Option<Arc<PriceTable>> {
        self.learned.as_ref().map(|model| Arc::clone(&model.prices))
    }
}

/// The change of `V` at the best place on the node, in thousandths of a GPU, and the card, where
/// that is this policy's to choose.
fn best(model: &mut Model, place: &Place<'_>) -> (f64, Option<usize>) {
    let Place {
        request,
        shape,
        state,
        ..
    } = *place;
    let mut sight = model.sight(shape, state, state.free_cpu - request.cpu);
    let (gain, card) = match request.gpu {
        GpuRequest::None | GpuRequest::Passthrough { .. } => (sight.after_host(), None),
        GpuRequest::Whole { count } => (sight.after_whole(usize::from(count)), None),
        GpuRequest::Share { compute, memory } => {
            let mut best = (f64::NEG_INFINITY, None);
            for index in fit::fitting_cards(place.catalog, request, shape, state) {
                let (spec, gpu) = (&shape.gpus()[index], &state.gpus[index]);
                let (compute, memory) = fit::share_of(compute, memory, spec);
                let left = view::units_left(
                    spec,
                    (gpu.free_compute - compute).0,
                    (gpu.free_memory - memory).0,
                );
                let gain = sight.after_share(CardRoom::of(spec, gpu), left);
                if gain > best.0 {
                    best = (gain, Some(index));
                }
            }
            best
        }
        GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {
            let cards = fit::fitting_cards(place.catalog, request, shape, state);
            let tightest = cards.map(|index| state.gpus[index].free_compute).min();
            let spread = INSTANCE_SPREAD * tightest.map_or(0.0, GpuUnits::milli_f64);
            (sight.after_host() - spread / TEMPERATURE_MILLI, None)
        }
    };
    let gain = TEMPERATURE_MILLI * gain;
    assert!(
        gain.is_finite(),
        "the tables are scaled, so every score is a number"
    );
    (gain, card)
}
