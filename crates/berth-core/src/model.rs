//! The world as the core sees it: devices, nodes, requests, pods, gangs, machines and queues.
//!
//! Invariant: everything in a [`Snapshot`](snapshot::Snapshot) is immutable; changes are made to a
//! [`Draft`](draft::Draft), which keeps the books (what is free, who is charged) in step. Not here:
//! wire formats; feeds lower those by hand.

pub mod catalog;
pub mod draft;
pub mod gang;
pub mod gpu;
pub mod mig;
pub mod node;
pub mod pod;
pub mod queue;
pub mod request;
pub mod snapshot;
pub mod vgpu;
pub mod vm;
