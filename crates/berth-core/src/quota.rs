//! Quota: who may hold how much, who may borrow from whom, and who has had how much.
//!
//! Invariant: every amount is in physical units whatever it is spent on, a pod or a virtual
//! machine; what a queue is charged is the sum of the charges of the bound work in it and below it.
//! Not here: what happens when quota and capacity disagree (that is preemption's matter).

mod meter;
mod tree;
mod usage;

pub use meter::{Charge, Meter, Meters};
pub use tree::{Account, Beside, Blocked, Quota, entitled, reclaimable, room_for};
pub(crate) use tree::{charge, charge_all, recount, requota};
pub use usage::{DEFAULT_HALF_LIFE, Usage};
