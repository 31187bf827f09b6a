//! Scheduling: which waiting pod starts where, and why the others wait.
//!
//! [`turns`] says who goes first, [`fit`] what is possible, a [`policy`] what is good; the [`index`]
//! remembers the last two, the [`engine`] decides, [`cycle`] is the engine without a memory,
//! [`explain`] tells why, [`holders`] who has what is short, [`next`] what would change it, and the
//! [`scheduler`] is the loop around it all.

mod classes;
pub mod cycle;
pub mod decisions;
pub mod engine;
pub mod explain;
pub mod fit;
pub mod fragmentation;
mod gate;
pub mod holders;
pub mod index;
pub mod next;
pub mod policy;
pub mod profile;
pub mod room;
pub mod scheduler;
pub mod turns;
