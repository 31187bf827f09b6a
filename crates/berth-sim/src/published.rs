//! The published FGD experiment, to the digit: arrivals, tuning, node names, measures.
//!
//! Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023, and the simulator
//! `hkust-adsl/kubernetes-scheduler-simulator`. Pods are offered one at a time; each is placed or
//! fails for good; nothing ends and nothing moves. The placing is done by Berth's own scheduler:
//! only the arrivals and the measures are of this module. Invariant: the draws from Go's generator
//! come in the published order. Not here: the published policies; they are the core's.

mod arrivals;
mod demand;
mod expected;
mod go_rand;
mod measure;
mod protocol;

pub use demand::demand;
pub use expected::{ExpectedTable, expected};
pub use go_rand::GoRand;
pub use measure::Column;
pub use protocol::{Check, Inputs, Run, RunError, run};

/// The seeds of the published runs.
pub const SEEDS: std::ops::RangeInclusive<u64> = 42..=51;

/// The policies of the published runs with their labels in the published tables; all but the last
/// are deterministic.
pub const POLICIES: [(&str, &str); 6] = [
    ("fgd", "06-FGD"),
    ("best-fit", "05-BestFit"),
    ("gpu-packing", "04-GpuPacking"),
    ("gpu-clustering", "03-GpuClustering"),
    ("dot-product", "02-DotProd"),
    ("random", "01-Random"),
];
