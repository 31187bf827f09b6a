//! What the filters know of nodes, pods and volumes: plain values without Kubernetes' types.
//!
//! Invariant: a fact is what kube-scheduler would read out of the API object, after defaults; two
//! objects with equal facts are the same to every filter. Not here: wire formats and quantities
//! as text (whoever watches the API lowers those), and anything that only a score needs.

pub mod device;
pub mod exact;
pub mod inventory;
pub mod label;
pub mod node;
pub mod node_selector;
pub mod pod;
pub mod resources;
pub mod storage;
pub mod taint;

/// A word of an open vocabulary: a name, a label's key or value, a driver.
///
/// Cheap to clone, and equal words that were made once compare by address.
pub type Text = arcstr::ArcStr;
