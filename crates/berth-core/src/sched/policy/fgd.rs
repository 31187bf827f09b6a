//! Fragmentation gradient descent: the place that adds the least fragmentation.

use std::sync::Arc;

use super::{Entry, Place, Policy, Score, Selection};
use crate::amount::GpuUnits;
use crate::model::gpu::GpuGrant;
use crate::model::request::GpuRequest;
use crate::sched::fit;
use crate::sched::fragmentation::{Residuals, TargetWorkload};
use crate::stream::Stream;

pub(super) const ENTRY: Entry = Entry {
    name: "fgd",
    summary: "fragmentation gradient descent, as published (USENIX ATC 2023)",
    manual: "With F the GPU that a task of the target workload can't use, in expectation, in \
             thousandths: score = trunc(100 sigmoid((F before - F after)/1000)).\n\
             A share tries every GPU that fits and takes the best, the first on ties; whole GPUs \
             are taken by lowest index.\n\
             The truncation is part of the policy: near zero one point is about 40 thousandths of \
             F, and nodes within a point of each other are filled first-fit by name.\n\
             Source: Weng et al., \"Beware of Fragmentation\", USENIX ATC 2023.",
    selection: Selection::HighestScore,
    build: |profile| {
        Box::new(Fgd {
            workload: Arc::clone(&profile.workload),
        })
    },
};

#[derive(Debug)]
struct Fgd {
    workload: Arc<TargetWorkload>,
}

impl Policy for Fgd {
    fn score(&mut self, place: &Place<'_>) -> Score {
        match place.request.gpu {
            GpuRequest::Share { .. } => self.best_card(place).0,
            GpuRequest::None
            | GpuRequest::Whole { .. }
            | GpuRequest::Mig { .. }
            | GpuRequest::Vgpu { .. }
            | GpuRequest::Passthrough { .. } => {
                let grant = default_grant(place);
                let mut after = Residuals::of(place.state);
                if let GpuGrant::Whole { gpus } = grant {
                    for index in gpus.iter() {
                        let open = place.state.gpus[index].open_compute();
                        after = after.less(index, open);
                    }
                }
                self.points(place, self.before(place), &after)
            }
        }
    }

    fn grant(&mut self, place: &Place<'_>, _stream: &mut Stream) -> GpuGrant {
        match place.request.gpu {
            GpuRequest::Share { .. } => {
                let Place {
                    catalog,
                    request,
                    shape,
                    state,
                } = *place;
                fit::grant_on(catalog, request, shape, state, self.best_card(place).1)
            }
            GpuRequest::None
            | GpuRequest::Whole { .. }
            | GpuRequest::Mig { .. }
            | GpuRequest::Vgpu { .. }
            | GpuRequest::Passthrough { .. } => default_grant(place),
        }
    }
}

impl Fgd {
    fn before(&self, place: &Place<'_>) -> f64 {
        self.workload.node_fragmentation(place.shape, place.state)
    }

    fn points(&self, place: &Place<'_>, before: f64, after: &Residuals) -> Score {
        let cpu = place.state.free_cpu - place.request.cpu;
        let after = self.workload.fragmentation(place.shape, cpu, after);
        let gain = (before - after) / 1000.0;
        (100.0 / (1.0 + libm::exp(-gain))) as Score
    }

    /// The best score of a share on any card that fits, and the first such card.
    fn best_card(&self, place: &Place<'_>) -> (Score, usize) {
        let Place {
            catalog,
            request,
            shape,
            state,
        } = *place;
        let before = self.before(place);
        let residuals = Residuals::of(state);
        let mut best = (Score::MIN, 0);
        let mut tried: smallvec::SmallVec<[i32; 8]> = smallvec::SmallVec::new();
        for index in fit::fitting_cards(catalog, request, shape, state) {
            // Cards of one model with the same free compute give the same sum.
            let open = residuals.as_slice()[index];
            if shape.models().len() == 1 && tried.contains(&open) {
                continue;
            }
            tried.push(open);
            let after = residuals.less(index, share_compute(place, index));
            let points = self.points(place, before, &after);
            if points > best.0 {
                best = (points, index);
            }
        }
        best
    }
}

fn share_compute(place: &Place<'_>, index: usize) -> GpuUnits {
    let GpuRequest::Share { compute, memory } = place.request.gpu else {
        return GpuUnits::ZERO;
    };
    fit::share_of(compute, memory, &place.shape.gpus()[index]).0
}

fn default_grant(place: &Place<'_>) -> GpuGrant {
    fit::best_fit_grant(place.catalog, place.request, place.shape, place.state)
}
