//! Random: a uniform draw among the nodes that fit, and among the GPUs that fit.

use super::{Entry, Place, Policy, Score, Selection};
use crate::model::gpu::GpuGrant;
use crate::model::request::GpuRequest;
use crate::sched::fit;
use crate::stream::Stream;

pub(super) const ENTRY: Entry = Entry {
    name: "random",
    summary: "a uniform draw among the nodes that fit",
    manual: "One of the nodes that fit is drawn uniformly; a share goes to a uniformly drawn GPU \
             among those that fit.\n\
             In the published experiment this policy depended on thread timing, so only its mean \
             can be compared.",
    selection: Selection::UniformDraw,
    build: |_| Box::new(Random),
};

#[derive(Debug)]
struct Random;

impl Policy for Random {
    fn score(&mut self, _place: &Place<'_>) -> Score {
        0
    }

    fn grant(&mut self, place: &Place<'_>, stream: &mut Stream) -> GpuGrant {
        let Place {
            catalog,
            request,
            shape,
            state,
        } = *place;
        match request.gpu {
            GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {
                let cards: Vec<usize> =
                    fit::fitting_cards(catalog, request, shape, state).collect();
                let drawn = stream.below(cards.len() as u64);
                let index = cards[usize::try_from(drawn).expect("at most 32 cards")];
                fit::grant_on(catalog, request, shape, state, index)
            }
            GpuRequest::None | GpuRequest::Whole { .. } | GpuRequest::Passthrough { .. } => {
                fit::best_fit_grant(catalog, request, shape, state)
            }
        }
    }
}
