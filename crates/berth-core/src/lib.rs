//! The decision core of Berth: a snapshot of the cluster in, decisions out.
//!
//! Data flows one way. A feed (a Kubernetes watch, a simulated world) keeps a
//! [`Draft`](model::draft::Draft) in step with what it observes; a
//! [`Snapshot`](model::snapshot::Snapshot) of it goes into a [cycle](sched::cycle); out come
//! [`Decisions`](sched::decisions::Decisions), which an actuator applies.
//!
//! Invariants, mostly of absence: no IO, no clock, no entropy, no async, no Kubernetes types, no
//! iteration over hash maps. `now` is a parameter, randomness comes from a [`Stream`](stream::Stream),
//! amounts are fixed point, ties break by name. A negative answer is a value, not an error.

pub mod amount;
pub mod cow;
pub mod filter;
pub mod id;
pub mod invariant;
pub mod limits;
pub mod model;
pub mod numa;
pub mod quota;
pub mod sched;
pub mod stream;
pub mod time;
