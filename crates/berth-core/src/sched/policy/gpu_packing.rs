//! GPU packing: part-used GPUs first, then part-used nodes, then empty ones.

use super::{Entry, Place, Policy, Score, Selection};
use crate::amount::GpuUnits;
use crate::sched::fit;

pub(super) const ENTRY: Entry = Entry {
    name: "gpu-packing",
    summary: "part-used GPUs before free GPUs before empty nodes (published baseline)",
    manual: "On a node whose n GPUs are all free: max(33 - n, n).\n\
             Else, taking the GPUs with the least free compute that fit: if some taken GPU is \
             free, max(50 - (free GPUs taken), 33); otherwise max(100 - (free percent of the taken \
             GPUs)/10, 50).\n\
             Requests without GPU score 0.\n\
             Source: GpuPacking of the FGD experiment (USENIX ATC 2023).",
    selection: Selection::HighestScore,
    build: |_| Box::new(GpuPacking),
};

#[derive(Debug)]
struct GpuPacking;

impl Policy for GpuPacking {
    fn score(&mut self, place: &Place<'_>) -> Score {
        let Place {
            catalog,
            request,
            shape,
            state,
        } = *place;
        if !request.wants_gpu() {
            return 0;
        }
        let free = |index: usize| state.gpus[index].open_compute();
        let n_free = state
            .gpus
            .iter()
            .filter(|gpu| gpu.open_compute() == GpuUnits::ONE_GPU);
        let n_free = Score::try_from(n_free.count()).expect("at most 32 GPUs");
        if n_free as usize == state.gpus.len() {
            return (33 - n_free).max(n_free);
        }
        let needed = usize::from(request.whole_gpus()).max(1);
        let mut cards: Vec<usize> = fit::fitting_cards(catalog, request, shape, state).collect();
        cards.sort_by_key(|&index| free(index));
        cards.truncate(needed);
        let free_taken = cards
            .iter()
            .filter(|&&index| free(index) == GpuUnits::ONE_GPU)
            .count();
        if free_taken > 0 {
            return (50 - Score::try_from(free_taken).expect("at most 32 GPUs")).max(33);
        }
        let percent: i64 = cards.iter().map(|&index| free(index).0 / 100).sum();
        (100 - Score::try_from(percent / 10).expect("at most 320")).max(50)
    }
}
