//! What a pod asks of one node.
//!
//! Invariant: two pods with equal requests are interchangeable to filters and scores, so a request
//! is interned once and its id, the task type, keys every cache. Not here: who asks, and when.

use serde::{Deserialize, Serialize};

use crate::amount::{Bytes, GpuUnits, MilliCpu};
use crate::limits;
use crate::model::gpu::ModelSet;
use crate::model::mig::MigProfileId;
use crate::model::vgpu::VgpuProfileId;

/// What a pod asks of one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Request {
    /// CPU time.
    pub cpu: MilliCpu,
    /// Host memory.
    pub memory: Bytes,
    /// GPUs or a part of one.
    pub gpu: GpuRequest,
    /// GPU models that will do. Meaningless, and `ANY`, where no GPU is asked for.
    pub models: ModelSet,
}

/// GPUs or a part of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GpuRequest {
    /// No GPU.
    None,
    /// Whole cards of one node.
    Whole {
        /// How many, 1 to 32.
        count: u8,
    },
    /// A share of one card.
    Share {
        /// Compute, up to one whole GPU.
        compute: GpuUnits,
        /// GPU memory.
        memory: Bytes,
    },
    /// One MIG instance.
    Mig {
        /// Its profile.
        profile: MigProfileId,
    },
    /// One vGPU, for a virtual machine.
    Vgpu {
        /// Its profile.
        profile: VgpuProfileId,
    },
    /// Whole cards handed through to a virtual machine.
    Passthrough {
        /// How many, 1 to 32.
        count: u8,
    },
}

/// Why a request is refused before it is queued.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// An amount is below zero.
    #[error("{what} is negative ({value}); ask for zero or more")]
    Negative {
        /// Which amount.
        what: &'static str,
        /// The amount, in its own unit.
        value: i64,
    },
    /// An amount is larger than any machine has.
    #[error("{what} of {value} is beyond the bound of {bound}; check the unit")]
    TooLarge {
        /// Which amount.
        what: &'static str,
        /// The amount, in its own unit.
        value: i64,
        /// The largest accepted amount.
        bound: i64,
    },
    /// A share asks for nothing at all.
    #[error("a GPU share asks for neither compute nor GPU memory; ask for at least one of them")]
    EmptyShare,
    /// A whole-GPU request asks for none.
    #[error("a request for whole GPUs asks for none; leave the GPU out or ask for at least one")]
    NoGpus,
    /// A GPU is asked for and no model would do.
    #[error("no known GPU model would do; name at least one model that the cluster has")]
    NoModel,
}

impl Request {
    /// A request without GPU.
    #[must_use]
    pub const fn cpu_only(cpu: MilliCpu, memory: Bytes) -> Self {
        Self {
            cpu,
            memory,
            gpu: GpuRequest::None,
            models: ModelSet::ANY,
        }
    }

    /// Checks every amount against zero and the bounds of [`limits`].
    ///
    /// # Errors
    /// The first amount that is out of range.
    pub fn validate(&self) -> Result<(), RequestError> {
        within("CPU (mCPU)", self.cpu.0, limits::CPU_MAX.0)?;
        within("memory (bytes)", self.memory.0, limits::MEMORY_MAX.0)?;
        match self.gpu {
            GpuRequest::None => return Ok(()),
            GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
                within("GPUs", i64::from(count), limits::GPUS_PER_NODE_MAX as i64)?;
                if count == 0 {
                    return Err(RequestError::NoGpus);
                }
            }
            GpuRequest::Share { compute, memory } => {
                within("GPU compute (1/10,000 GPU)", compute.0, GpuUnits::ONE_GPU.0)?;
                within("GPU memory (bytes)", memory.0, limits::MEMORY_MAX.0)?;
                if compute.is_zero() && memory.is_zero() {
                    return Err(RequestError::EmptyShare);
                }
            }
            GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {}
        }
        if self.models == ModelSet::NONE {
            Err(RequestError::NoModel)
        } else {
            Ok(())
        }
    }

    /// Whether any GPU or part of one is asked for.
    #[must_use]
    pub const fn wants_gpu(&self) -> bool {
        !matches!(self.gpu, GpuRequest::None)
    }

    /// Whole cards (of any kind) that the request needs; zero for shares and instances.
    #[must_use]
    pub const fn whole_gpus(&self) -> u8 {
        match self.gpu {
            GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => count,
            GpuRequest::None
            | GpuRequest::Share { .. }
            | GpuRequest::Mig { .. }
            | GpuRequest::Vgpu { .. } => 0,
        }
    }

    /// The request's size class, see [`GpuSizeClass`]; `None` without a GPU.
    #[must_use]
    pub fn size_class(&self) -> Option<GpuSizeClass> {
        match self.gpu {
            GpuRequest::None => None,
            GpuRequest::Share { .. } | GpuRequest::Mig { .. } | GpuRequest::Vgpu { .. } => {
                Some(GpuSizeClass::PART)
            }
            GpuRequest::Whole { count } | GpuRequest::Passthrough { count } => {
                Some(GpuSizeClass::of_count(count))
            }
        }
    }
}

/// Pods sorted by how much GPU they hold: a part of a card, 1, 2, 3-4, 5-8, or more cards.
///
/// For the sizes 1, 2, 4 and 8 these are the classes of GpuClustering in the FGD experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuSizeClass(u8);

impl GpuSizeClass {
    /// Number of classes.
    pub const COUNT: usize = 6;
    /// A part of one card.
    pub const PART: Self = Self(0);

    /// The class of `count` whole cards.
    #[must_use]
    pub fn of_count(count: u8) -> Self {
        match count {
            0 | 1 => Self(1),
            2 => Self(2),
            3..=4 => Self(3),
            5..=8 => Self(4),
            _ => Self(5),
        }
    }

    /// Position in a table of `COUNT` entries.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

fn within(what: &'static str, value: i64, bound: i64) -> Result<(), RequestError> {
    if value < 0 {
        return Err(RequestError::Negative { what, value });
    }
    if value > bound {
        Err(RequestError::TooLarge { what, value, bound })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_out_of_range_are_refused_by_name() {
        let fine = Request {
            cpu: MilliCpu(4000),
            memory: Bytes::from_gib(16),
            gpu: GpuRequest::Share {
                compute: GpuUnits(5000),
                memory: Bytes::ZERO,
            },
            models: ModelSet::ANY,
        };
        assert_eq!(fine.validate(), Ok(()));
        let check = |request: Request, part: &str| {
            let text = request.validate().expect_err("out of range").to_string();
            assert!(text.contains(part), "{text}");
        };
        check(
            Request {
                cpu: MilliCpu(-1),
                ..fine
            },
            "CPU (mCPU) is negative",
        );
        check(
            Request {
                memory: Bytes::MAX,
                ..fine
            },
            "memory (bytes)",
        );
        check(
            Request {
                gpu: GpuRequest::Whole { count: 33 },
                ..fine
            },
            "GPUs of 33",
        );
        check(
            Request {
                gpu: GpuRequest::Whole { count: 0 },
                ..fine
            },
            "asks for none",
        );
        let empty = GpuRequest::Share {
            compute: GpuUnits::ZERO,
            memory: Bytes::ZERO,
        };
        check(
            Request { gpu: empty, ..fine },
            "neither compute nor GPU memory",
        );
        check(
            Request {
                models: ModelSet::NONE,
                ..fine
            },
            "no known GPU model",
        );
    }
}
