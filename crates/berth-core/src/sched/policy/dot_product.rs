//! Dot product: the node whose free resources line up least with the request.

use super::{Entry, PUBLISHED_CPU_MAX, PUBLISHED_GPU_MAX, Place, Policy, Score, Selection};

pub(super) const ENTRY: Entry = Entry {
    name: "dot-product",
    summary: "the smallest dot product of free and requested resources (published baseline)",
    manual: "score = trunc(100 (1 - (C c/128000^2 + R g/8000^2)/2)) with free CPU C and free GPU R \
             of the node, CPU c and GPU g of the request, in thousandths.\n\
             Source: DotProd of the FGD experiment (USENIX ATC 2023).",
    selection: Selection::HighestScore,
    build: |_| Box::new(DotProduct),
};

#[derive(Debug)]
struct DotProduct;

impl Policy for DotProduct {
    fn score(&mut self, place: &Place<'_>) -> Score {
        let cpu = (place.state.free_cpu.0 as f64 / PUBLISHED_CPU_MAX)
            * (place.request.cpu.0 as f64 / PUBLISHED_CPU_MAX);
        let gpu = (place.free_gpu_milli() / PUBLISHED_GPU_MAX)
            * (place.wanted_gpu_milli() / PUBLISHED_GPU_MAX);
        (100.0 * (1.0 - (cpu + gpu) / 2.0)) as Score
    }
}
