//! The tests of berth-kube.

mod feed;
mod lowering;
mod question;
mod recorded;
