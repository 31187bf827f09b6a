//! Multi-Instance GPU: profiles, where on the card they may start, and what is taken.
//!
//! A card has 8 memory slices and 7 compute slices; an instance covers adjacent memory slices from
//! one of the start positions that the driver allows for its profile (NVIDIA MIG User Guide,
//! "Placements"; `nvidia-smi mig -lgipp`). Since every allowed placement keeps compute within its
//! own memory slices, instances are compatible exactly when their memory slices don't overlap.
//! Invariant: no two instances in use share a slice. Not here: when to reshape a card.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::amount::{Bytes, GpuUnits};
use crate::model::gpu::ModelSet;

/// Compute slices of a card.
pub const COMPUTE_SLICES: i64 = 7;

/// A set of a card's 8 memory slices.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MigSlices(u8);

impl MigSlices {
    /// No slice.
    pub const NONE: Self = Self(0);

    /// `n` adjacent slices from `start`; `None` if they would reach beyond the eighth.
    #[must_use]
    pub fn span(start: u8, n: u8) -> Option<Self> {
        let end = start.checked_add(n)?;
        if n == 0 || end > 8 {
            return None;
        }
        // 1 to 8 ones, shifted to the start: fits since end <= 8.
        Some(Self((((1u16 << n) - 1) << start) as u8))
    }

    /// Whether the two sets share a slice.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets together.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// One bit a slice, the first slice lowest.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Number of slices.
    #[must_use]
    pub const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether no slice is in the set.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// A MIG profile, as the catalogue interned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MigProfileId(pub u16);

/// A kind of MIG instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MigProfile {
    /// Name as NVIDIA writes it (`1g.10gb`).
    pub name: Arc<str>,
    /// Models that offer it.
    pub models: ModelSet,
    /// Compute slices, 1 to 7.
    pub compute_slices: u8,
    /// Memory slices, 1 to 8.
    pub memory_slices: u8,
    /// Memory of the instance.
    pub memory: Bytes,
    /// Memory slices at which an instance may start.
    pub starts: Vec<u8>,
}

impl MigProfile {
    /// The charge in physical-GPU equivalents: compute slices of 7, rounded down so that a full card
    /// never sums to more than one.
    #[must_use]
    pub fn equivalents(&self) -> GpuUnits {
        GpuUnits(i64::from(self.compute_slices) * GpuUnits::ONE_GPU.0 / COMPUTE_SLICES)
    }

    /// The first allowed place for an instance beside those that cover `used`.
    #[must_use]
    pub fn place(
        &self,
        used: MigSlices,
        geometry: &MigGeometry,
        id: MigProfileId,
    ) -> Option<MigSlices> {
        let open = |slices: &MigSlices| !slices.overlaps(used);
        match geometry {
            MigGeometry::Dynamic => self
                .starts
                .iter()
                .filter_map(|&start| MigSlices::span(start, self.memory_slices))
                .find(open),
            MigGeometry::Fixed(instances) => instances
                .iter()
                .filter(|instance| instance.profile == id)
                .map(|instance| instance.slices)
                .find(open),
        }
    }
}

/// Which instances may exist on a card.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigGeometry {
    /// Instances are created as requests come.
    #[default]
    Dynamic,
    /// Only these instances exist; requests take one that is not in use.
    Fixed(Arc<[MigInstance]>),
}

/// One instance of a fixed geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MigInstance {
    /// Its profile.
    pub profile: MigProfileId,
    /// The memory slices that it covers.
    pub slices: MigSlices,
}

/// The profiles of an 80 GB A100 or H100 class card, for `models`.
///
/// Source: NVIDIA MIG User Guide, tables "GPU Instance Profiles" and "Placements" (A100-SXM4-80GB,
/// H100-SXM5-80GB).
#[must_use]
pub fn profiles_80gb(models: ModelSet) -> Vec<MigProfile> {
    let profile = |name: &str, compute_slices, memory_slices, gib, starts: &[u8]| MigProfile {
        name: name.into(),
        models,
        compute_slices,
        memory_slices,
        memory: Bytes::from_gib(gib),
        starts: starts.to_vec(),
    };
    vec![
        profile("1g.10gb", 1, 1, 10, &[0, 1, 2, 3, 4, 5, 6]),
        profile("1g.20gb", 1, 2, 20, &[0, 2, 4, 6]),
        profile("2g.20gb", 2, 2, 20, &[0, 2, 4]),
        profile("3g.40gb", 3, 4, 40, &[0, 4]),
        profile("4g.40gb", 4, 4, 40, &[0]),
        profile("7g.80gb", 7, 8, 80, &[0]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_stay_on_the_card() {
        assert_eq!(MigSlices::span(4, 4).map(MigSlices::len), Some(4));
        assert_eq!(MigSlices::span(0, 8).map(MigSlices::len), Some(8));
        assert_eq!(MigSlices::span(5, 4), None);
        assert_eq!(MigSlices::span(0, 0), None);
        assert_eq!(MigSlices::span(255, 1), None);
    }

    #[test]
    fn seven_small_instances_fill_a_card_and_an_eighth_finds_no_place() {
        let profiles = profiles_80gb(ModelSet::ANY);
        let (small, id) = (&profiles[0], MigProfileId(0));
        let mut used = MigSlices::NONE;
        for _ in 0..7 {
            let slices = small
                .place(used, &MigGeometry::Dynamic, id)
                .expect("room for seven");
            assert!(!slices.overlaps(used));
            used = used.union(slices);
        }
        assert_eq!(small.place(used, &MigGeometry::Dynamic, id), None);
    }

    #[test]
    fn a_fixed_geometry_gives_only_what_exists() {
        let profiles = profiles_80gb(ModelSet::ANY);
        let half = MigInstance {
            profile: MigProfileId(3),
            slices: MigSlices::span(4, 4).expect("on the card"),
        };
        let geometry = MigGeometry::Fixed([half].into());
        assert_eq!(
            profiles[0].place(MigSlices::NONE, &geometry, MigProfileId(0)),
            None
        );
        let taken = profiles[3].place(MigSlices::NONE, &geometry, MigProfileId(3));
        assert_eq!(taken, Some(half.slices));
        assert_eq!(
            profiles[3].place(half.slices, &geometry, MigProfileId(3)),
            None
        );
    }
}
