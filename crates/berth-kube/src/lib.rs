//! Everything of Berth that speaks Kubernetes.
//!
//! Invariant: nothing here decides anything; objects become the core's facts. Not here yet: watches
//! and the carrying out of decisions.

pub mod lower;
pub mod quantity;
