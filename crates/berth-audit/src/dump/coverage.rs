//! What a dump holds and what it lacks, kind by kind.
//!
//! Invariant: a kind that nothing spoke of is absent, never empty; a gap is never dropped without
//! being counted.

use std::collections::BTreeMap;

use serde::Serialize;

use super::kinds::Kind;
use super::place::{Location, Place};
use super::text::Text;
use crate::limits::GAPS_MAX;

/// How much of a kind a dump holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Extent {
    /// Nothing, and nothing says that there is none.
    Absent,
    /// Some, or all of some namespaces.
    Partial,
    /// All, as far as the source can say.
    Complete,
}

/// What is known of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindCoverage {
    /// How much.
    pub extent: Extent,
    /// Names of the sources, sorted.
    pub sources: Vec<&'static str>,
    /// Gaps that concern this kind.
    pub n_gaps: u64,
}

/// Something that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// What is missing, in a few words: `Pod`, `archive`, `args/kubelet`.
    pub what: Text,
    /// Where.
    pub place: Place,
    /// Why, in one sentence.
    pub why: Text,
}

/// A gap as reports carry it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct GapView {
    /// What is missing.
    pub what: Text,
    /// Where, if in a file.
    pub location: Option<Location>,
    /// Why.
    pub why: Text,
}

/// Coverage of a dump.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    kinds: BTreeMap<Kind, KindCoverage>,
    gaps: Vec<Gap>,
    /// Gaps beyond [`GAPS_MAX`].
    pub n_gaps_uncounted: u64,
    /// Objects that were seen and are of no kind that a rule reads, by kind as written.
    pub unread: BTreeMap<Text, u64>,
    /// Names of the sources that were recognised, with the roots at which they began.
    pub sources: BTreeMap<Text, &'static str>,
    /// Bytes read after unpacking.
    pub n_bytes: u64,
    /// Files seen.
    pub n_files: u64,
}

impl Coverage {
    /// How much of `kind` there is.
    #[must_use]
    pub fn extent(&self, kind: Kind) -> Extent {
        self.kinds
            .get(&kind)
            .map_or(Extent::Absent, |known| known.extent)
    }

    /// What is known of `kind`.
    #[must_use]
    pub fn kind(&self, kind: Kind) -> Option<&KindCoverage> {
        self.kinds.get(&kind)
    }

    /// Every gap that is kept.
    #[must_use]
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// A source holds this much of a kind; the most that any source says counts.
    pub fn claim(&mut self, kind: Kind, extent: Extent, source: &'static str) {
        let known = self.kinds.entry(kind).or_insert(KindCoverage {
            extent,
            sources: Vec::new(),
            n_gaps: 0,
        });
        known.extent = known.extent.max(extent);
        if let Err(at) = known.sources.binary_search(&source) {
            known.sources.insert(at, source);
        }
    }

    /// Something could not be read.
    pub fn gap(&mut self, what: &str, place: Place, why: impl Into<Text>) {
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(Gap {
                what: what.into(),
                place,
                why: why.into(),
            });
        } else {
            self.n_gaps_uncounted += 1;
        }
    }

    /// Something of a kind could not be read, so the kind is partial at best.
    pub fn kind_gap(&mut self, kind: Kind, place: Place, why: impl Into<Text>) {
        let known = self.kinds.entry(kind).or_insert(KindCoverage {
            extent: Extent::Partial,
            sources: Vec::new(),
            n_gaps: 0,
        });
        known.n_gaps += 1;
        self.gap(kind.spec().name, place, why);
    }

    /// Gaps make a kind partial, whatever its source promised.
    pub(crate) fn settle(&mut self) {
        for known in self.kinds.values_mut().filter(|known| known.n_gaps > 0) {
            known.extent = known.extent.min(Extent::Partial);
        }
    }
}
