//! Meters: the kinds of amounts that queues are charged in.
//!
//! Invariant: the meter of physical-GPU equivalents always comes first and is always on; others are
//! on once some queue has a rule about them, so that a site pays only for what it limits.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::id::GpuModelId;
use crate::model::catalog::Catalog;
use crate::model::gpu::GpuGrant;
use crate::model::node::Shape;
use crate::model::request::Request;
use crate::model::snapshot::Carrier;

/// A kind of amount that a queue is charged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Meter {
    /// Physical GPUs of any model, in 1/10,000 of a card.
    Gpu,
    /// Physical GPUs of one model, in 1/10,000 of a card.
    GpuModel(GpuModelId),
    /// CPU time, in thousandths of a core.
    Cpu,
    /// Host memory, in bytes.
    Memory,
    /// Virtual machines, by count.
    Machines,
}

/// The meters that are on, [`Meter::Gpu`] first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Meters(SmallVec<[Meter; 4]>);

/// What one piece of work is charged, meter by meter.
pub type Charge = SmallVec<[i64; 4]>;

impl Default for Meters {
    fn default() -> Self {
        Self(SmallVec::from_slice(&[Meter::Gpu]))
    }
}

impl Meters {
    /// The meters in order.
    pub fn iter(&self) -> impl Iterator<Item = Meter> + '_ {
        self.0.iter().copied()
    }

    /// How many meters are on.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: GPUs are always counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The position of `meter`, if it is on.
    #[must_use]
    pub fn position(&self, meter: Meter) -> Option<usize> {
        self.0.iter().position(|&on| on == meter)
    }

    /// Turns `meter` on and returns its position.
    pub(crate) fn turn_on(&mut self, meter: Meter) -> usize {
        self.position(meter).unwrap_or_else(|| {
            self.0.push(meter);
            self.0.len() - 1
        })
    }

    /// What `request` is charged with `grant` on a node of `shape`.
    #[must_use]
    pub fn charge(
        &self,
        request: &Request,
        carrier: Carrier,
        shape: &Shape,
        grant: &GpuGrant,
    ) -> Charge {
        let of_model = |model: GpuModelId| {
            let gpus = grant.gpus();
            let of_model = gpus.iter().filter(|&at| shape.gpus()[at].model == model);
            grant
                .compute_each()
                .0
                .saturating_mul(of_model.count() as i64)
        };
        self.by_meter(request, carrier, grant.equivalents().0, of_model)
    }

    /// What `request` would be charged wherever it may go: amounts of one model count in full only
    /// if no other model will do.
    #[must_use]
    pub fn demand(&self, catalog: &Catalog, request: &Request, carrier: Carrier) -> Charge {
        let gpu = catalog.equivalents(request).0;
        let of_model = |model: GpuModelId| {
            let only = request.wants_gpu() && request.models.is_only(model);
            if only { gpu } else { 0 }
        };
        self.by_meter(request, carrier, gpu, of_model)
    }

    fn by_meter(
        &self,
        request: &Request,
        carrier: Carrier,
        gpu: i64,
        of_model: impl Fn(GpuModelId) -> i64,
    ) -> Charge {
        let amount = |meter| match meter {
            Meter::Gpu => gpu,
            Meter::GpuModel(model) => of_model(model),
            Meter::Cpu => request.cpu.0,
            Meter::Memory => request.memory.0,
            Meter::Machines => i64::from(carrier == Carrier::Machine),
        };
        self.iter().map(amount).collect()
    }
}
