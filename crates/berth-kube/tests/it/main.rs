//! The tests of berth-kube.

mod lowering;
mod question;
mod recorded;
