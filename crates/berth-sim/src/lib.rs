//! A virtual cluster around Berth's core.
//!
//! A [`Workload`](workload::Workload) says what a cluster is made of and what is asked of it; trace
//! readers and generators make workloads; a world plays them on virtual time behind the core's
//! [`Scheduler`](berth_core::sched::scheduler::Scheduler); a report says how it went.
//!
//! Invariants: same workload and seed, same event log; no IO (readers take bytes), no clock, no
//! threads. What runs here provably needs no cluster.

pub mod bound;
pub mod faults;
pub mod fuzz;
pub mod published;
pub mod report;
pub mod scenario;
pub mod simulate;
pub mod site;
pub mod target;
pub mod trace;
pub mod units;
pub mod workload;
pub mod world;
