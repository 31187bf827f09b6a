//! The catalogue of scheduling policies: one file each, one line in [`POLICIES`].
//!
//! A policy says how good a place is; it never says what is possible (that is [`super::fit`]) and
//! never sees names, pods or other nodes, so what it says of a node state can be remembered.

use std::fmt;
use std::sync::Arc;

use crate::model::catalog::Catalog;
use crate::model::gpu::GpuGrant;
use crate::model::node::{NodeState, Shape};
use crate::model::request::Request;
use crate::model::snapshot::Snapshot;
use crate::sched::fit;
use crate::sched::profile::Profile;
use crate::stream::Stream;

mod berth;
mod best_fit;
mod dot_product;
mod fgd;
mod first_fit;
mod gpu_clustering;
mod gpu_packing;
mod random;

pub use berth::PriceTable;

/// Every policy, in the order in which they are listed to people.
pub const POLICIES: &[&Entry] = &[
    &berth::ENTRY,
    &fgd::ENTRY,
    &best_fit::ENTRY,
    &gpu_packing::ENTRY,
    &gpu_clustering::ENTRY,
    &dot_product::ENTRY,
    &random::ENTRY,
    &first_fit::ENTRY,
];

/// The policy called `name`.
#[must_use]
pub fn named(name: &str) -> Option<&'static Entry> {
    POLICIES.iter().copied().find(|entry| entry.name == name)
}

/// A policy's entry in the catalogue.
#[derive(Debug)]
pub struct Entry {
    /// Name on the command line and in profiles.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The manual page, in Markdown: what it does, how it scores, where it comes from.
    pub manual: &'static str,
    /// How the node is chosen among those that fit.
    pub selection: Selection,
    /// Makes the policy for a profile.
    pub build: fn(&Profile) -> Box<dyn Policy>,
}

/// How a node is chosen among those that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// The highest score; the lowest name among equals.
    HighestScore,
    /// A uniform draw; scores are not asked for.
    UniformDraw,
}

/// A score; higher is better. [`Score::MIN`](i32::MIN) is reserved for "doesn't fit".
pub type Score = i32;

/// Where a request might go: all that a policy may look at.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Interned descriptions.
    pub catalog: &'a Catalog,
    /// What is asked for.
    pub request: &'a Request,
    /// What is fixed about the node.
    pub shape: &'a Shape,
    /// What is free on it.
    pub state: &'a NodeState,
}

/// How good places are.
///
/// Scores and grants are asked for only where the request fits, and depend on nothing but the place,
/// what was learned, and, for [`Policy::grant`], the stream.
pub trait Policy: fmt::Debug + Send {
    /// How good the node is for the request. A policy may remember intermediate results.
    fn score(&mut self, place: &Place<'_>) -> Score;

    /// Which GPUs of the node the request gets.
    fn grant(&mut self, place: &Place<'_>, _stream: &mut Stream) -> GpuGrant {
        fit::best_fit_grant(place.catalog, place.request, place.shape, place.state)
    }

    /// Takes in what has arrived and what is free, at the beginning of a cycle, and says whether
    /// scores given so far still hold. Must depend on the snapshot and on what was learned before,
    /// and on nothing else.
    fn learn(&mut self, _snapshot: &Snapshot) -> Learned {
        Learned::Nothing
    }

    /// What has been learned so far, for a profile that makes another policy go on from here.
    fn prices(&self) -> Option<Arc<PriceTable>> {
        None
    }
}

/// Whether a policy has changed its mind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learned {
    /// Scores given so far still hold.
    Nothing,
    /// Scores must be asked for anew.
    NewScores,
}

impl Place<'_> {
    /// Free compute on all GPUs of the node that serve containers, in thousandths.
    pub(crate) fn free_gpu_milli(&self) -> f64 {
        let open = self
            .state
            .gpus
            .iter()
            .map(crate::model::gpu::GpuState::open_compute);
        open.sum::<crate::amount::GpuUnits>().milli_f64()
    }

    /// Compute that the request takes on all its GPUs together, in thousandths.
    pub(crate) fn wanted_gpu_milli(&self) -> f64 {
        self.catalog.equivalents(self.request).milli_f64()
    }
}

/// CPU of the largest node of the published experiment, in mCPU; scores are normalised by it.
pub(crate) const PUBLISHED_CPU_MAX: f64 = 128_000.0;

/// GPU of the largest node of the published experiment, in thousandths.
pub(crate) const PUBLISHED_GPU_MAX: f64 = 8_000.0;
