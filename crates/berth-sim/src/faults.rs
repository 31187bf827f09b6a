//! Fault plans: how often nodes and GPUs fail, and how long repair takes.
//!
//! Each node and each GPU draws from a stream of its own name, so adding a node never shifts the
//! faults of another. Invariant: rates are per hour of existence, failures are Poisson. Not here:
//! correlated faults (racks, driver roll-outs) and lemons.

use berth_core::stream::Stream;
use berth_core::time::Span;
use serde::{Deserialize, Serialize};

/// How often things fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultPlan {
    /// Nothing fails.
    #[default]
    None,
    /// As often as published clusters report.
    Light,
    /// Fifty times as often as that, to see a month of trouble in half a day. The factor is an
    /// assumption.
    Heavy,
}

/// Mean rates and durations of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FaultRates {
    /// Node losses per node-hour. Published: 6.5 per 1,000 node-days of eight A100s (arXiv:2410.21680,
    /// "Revisiting Reliability in Large-Scale Machine Learning Research Clusters", RSC-1).
    pub node_per_hour: f64,
    /// GPU failures per GPU-hour. Published: 268 GPU-caused interruptions in 21.23 million
    /// GPU-hours ("The Llama 3 Herd of Models", 2024, table 5, by its counts).
    pub gpu_per_hour: f64,
    /// Mean time until a lost node is back, exponential. Published: 2.2 h including validation
    /// (arXiv:2503.11901, study of NCSA Delta, 2025).
    pub node_repair: Span,
    /// Time of a repair by reset or reboot. Assumption: 15 minutes, the slow end of a reboot.
    pub gpu_reset: Span,
    /// Time until a card is swapped. Assumption: four days, parts in house.
    pub gpu_swap: Span,
    /// Failures that need a swap, in thousandths; a reset suffices for the rest. Assumption: half.
    pub gpu_swap_permille: u64,
}

impl FaultPlan {
    /// Every plan, mildest first.
    pub const ALL: [Self; 3] = [Self::None, Self::Light, Self::Heavy];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Light => "light",
            Self::Heavy => "heavy",
        }
    }

    /// The plan called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plan| plan.name() == name)
    }

    /// The plan's rates; `None` where nothing fails.
    #[must_use]
    pub fn rates(self) -> Option<FaultRates> {
        let published = FaultRates {
            node_per_hour: 6.5 / 1000.0 / 24.0,
            gpu_per_hour: 268.0 / 21.23e6,
            node_repair: Span::from_mins(132),
            gpu_reset: Span::from_mins(15),
            gpu_swap: Span::from_days(4),
            gpu_swap_permille: 500,
        };
        match self {
            Self::None => None,
            Self::Light => Some(published),
            Self::Heavy => Some(FaultRates {
                node_per_hour: published.node_per_hour * 50.0,
                gpu_per_hour: published.gpu_per_hour * 50.0,
                ..published
            }),
        }
    }
}

impl FaultRates {
    /// Time until a node is lost next.
    #[must_use]
    pub fn node_loss(&self, stream: &mut Stream) -> Span {
        exponential(stream, 3.6e6 / self.node_per_hour)
    }

    /// Time until a lost node is back.
    #[must_use]
    pub fn node_return(&self, stream: &mut Stream) -> Span {
        exponential(stream, self.node_repair.0 as f64)
    }

    /// Time until a GPU fails next.
    #[must_use]
    pub fn gpu_failure(&self, stream: &mut Stream) -> Span {
        exponential(stream, 3.6e6 / self.gpu_per_hour)
    }

    /// Time until a failed GPU is repaired.
    #[must_use]
    pub fn gpu_repair(&self, stream: &mut Stream) -> Span {
        if stream.below(1000) < self.gpu_swap_permille {
            self.gpu_swap
        } else {
            self.gpu_reset
        }
    }
}

fn exponential(stream: &mut Stream, mean_ms: f64) -> Span {
    // At least a millisecond, so that no two faults of one device share an instant.
    Span((stream.exponential(mean_ms) as i64).max(1))
}
