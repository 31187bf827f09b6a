//! Everything of Berth that speaks Kubernetes.
//!
//! Invariant: nothing here decides anything; objects become the core's facts, and decisions become
//! writes.

pub mod connect;
pub mod install;
pub mod live;
pub mod lower;
pub mod quantity;
pub mod survey;
