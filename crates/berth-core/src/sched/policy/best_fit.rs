//! Best fit: the node that is left with the least CPU and GPU.

use super::{Entry, PUBLISHED_CPU_MAX, PUBLISHED_GPU_MAX, Place, Policy, Score, Selection};

pub(super) const ENTRY: Entry = Entry {
    name: "best-fit",
    summary: "the node left with the least free CPU and GPU (published baseline)",
    manual: "score = trunc(100 (1 - (0.5 (C - c)/128000 + 0.5 (R - g)/8000))) with free CPU C and \
             free GPU R of the node, CPU c and GPU g of the request, in thousandths.\n\
             Source: BestFit of the FGD experiment (USENIX ATC 2023).",
    selection: Selection::HighestScore,
    build: |_| Box::new(BestFit),
};

#[derive(Debug)]
struct BestFit;

impl Policy for BestFit {
    fn score(&mut self, place: &Place<'_>) -> Score {
        points(place)
    }
}

/// The score; also that of policies which have yet to learn what they need.
pub(super) fn points(place: &Place<'_>) -> Score {
    let cpu_left = (place.state.free_cpu - place.request.cpu).0 as f64;
    let gpu_left = place.free_gpu_milli() - place.wanted_gpu_milli();
    let left = 0.5 * cpu_left / PUBLISHED_CPU_MAX + 0.5 * gpu_left / PUBLISHED_GPU_MAX;
    (100.0 * (1.0 - left)) as Score
}
