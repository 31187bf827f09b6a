//! GPU clustering: keep pods of one size together.

use super::{Entry, PUBLISHED_GPU_MAX, Place, Policy, Score, Selection};

pub(super) const ENTRY: Entry = Entry {
    name: "gpu-clustering",
    summary: "nodes that host pods of the same size first (published baseline)",
    manual: "score = 25 (8000 - R)/8000, in integers, with free GPU R of the node, plus 75 if the \
             node hosts only pods of the request's size class, 50 if it hosts such pods among \
             others, 25 if it hosts no GPU pod, 0 otherwise.\n\
             Size classes: a share, 1, 2, 3-4, 5-8, more GPUs. Requests without GPU score 0.\n\
             Source: GpuClustering of the FGD experiment (USENIX ATC 2023).",
    selection: Selection::HighestScore,
    build: |_| Box::new(GpuClustering),
};

#[derive(Debug)]
struct GpuClustering;

impl Policy for GpuClustering {
    fn score(&mut self, place: &Place<'_>) -> Score {
        let Some(class) = place.request.size_class() else {
            return 0;
        };
        let hosted = &place.state.gpu_pods;
        let same = hosted[class.index()];
        let all: u16 = hosted.iter().sum();
        let affinity = match (same, all) {
            (_, 0) => 25,
            (0, _) => 0,
            (same, all) if same == all => 75,
            _ => 50,
        };
        let used =
            (25.0 * (PUBLISHED_GPU_MAX - place.free_gpu_milli()) / PUBLISHED_GPU_MAX).trunc();
        used as Score + affinity
    }
}
