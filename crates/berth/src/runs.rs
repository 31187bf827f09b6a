//! What commands work out: many runs of the simulator side by side, and looks at a live cluster.
//!
//! Invariant: results stand in the order of what was asked, whatever thread was first. Not here:
//! what a run does (that is `berth_sim`) and how it is shown (that is [`crate::output`]).

pub(crate) mod bound;
pub(crate) mod crew;
pub(crate) mod fuzz;
pub(crate) mod greed;
pub(crate) mod played;
pub(crate) mod ps;
pub(crate) mod published;
pub(crate) mod quality;
pub(crate) mod queues;
pub(crate) mod scenario;
pub(crate) mod seen;
pub(crate) mod spread;
pub(crate) mod suite;
pub(crate) mod why;
