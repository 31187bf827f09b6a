//! The live cluster: watches feed the index, decisions are carried out.
//!
//! Data flows one way: API server, [`watch`] (lowered to compact records), a bounded channel, the
//! [`feed`] on the scheduler's own thread, decisions, the [`act`]or's channel, API server. What
//! becomes of a decision comes back as a change like any other. Invariant: one thread owns the index;
//! watches and the actuator only send it values.

pub mod act;
pub mod apart;
pub mod change;
pub mod clock;
pub mod cluster;
pub mod feed;
pub mod lease;
mod leaving;
pub mod look;
pub mod queue_status;
pub mod tell;
pub mod told;
pub mod watch;
