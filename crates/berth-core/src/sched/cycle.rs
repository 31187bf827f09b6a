//! One scheduling cycle as a pure function.

use crate::model::snapshot::Snapshot;
use crate::sched::decisions::Decisions;
use crate::sched::engine::Engine;
use crate::sched::profile::{Effort, Profile};
use crate::stream::Stream;
use crate::time::Time;

/// Decides what starts where.
///
/// This is the definition of a cycle. An [`Engine`] kept across cycles answers the same, only
/// faster; property tests hold the two together.
#[must_use]
pub fn run(
    snapshot: &Snapshot,
    profile: &Profile,
    effort: Effort,
    now: Time,
    stream: &mut Stream,
) -> Decisions {
    Engine::new(profile).run(snapshot, effort, now, stream)
}
