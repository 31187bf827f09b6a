//! Typed identities. Two kinds of ids can't be mixed up, and none is a bare integer or string.
//!
//! Invariant: an id is only ever given out by the snapshot or catalogue that owns the thing it
//! names. Not here: names; those live beside the thing.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in the owner's table.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of the thing at `index` in its owner's table.
            ///
            /// # Panics
            /// If the table has outgrown 32 bits, far above every bound in [`crate::limits`].
            #[must_use]
            pub fn at(index: usize) -> Self {
                Self(u32::try_from(index).expect("tables are bounded far below 2^32 entries"))
            }
        }
    };
}

id! {
    /// A node of the cluster. Kept for the life of the snapshot's lineage, also while the node is
    /// away.
    NodeId
}
id! {
    /// A GPU model (`H100`, `T4`), as the catalogue interned it.
    GpuModelId
}
id! {
    /// A task type: one distinct request, as the catalogue interned it.
    TaskTypeId
}
id! {
    /// A queue of the queue tree.
    QueueId
}
id! {
    /// A person or service account that submits work.
    UserId
}
id! {
    /// A gang: pods that start together or not at all.
    GangId
}
id! {
    /// A virtual machine, whose identity outlives the pods that carry it.
    VmId
}

/// A pod. The slot is reused after the pod has gone; the generation is not, so an action that
/// speaks of a pod that has gone is refused instead of hitting its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodId {
    /// Position in the pod table.
    pub slot: u32,
    /// How many pods have had this slot before.
    pub generation: u32,
}
