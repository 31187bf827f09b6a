//! Namespaces.

use crate::dump::Record;
use crate::dump::lenient::{object, record};
use crate::dump::meta::Condition;
use crate::dump::text::Text;

object! {
    /// A namespace.
    pub struct Namespace {
        /// Its phase.
        pub status: NamespaceStatus,
    }
}

record! {
    /// `status` of a namespace.
    pub struct NamespaceStatus {
        /// `Active` or `Terminating`.
        pub phase: Text,
        /// What keeps it from ending.
        pub conditions: Vec<Condition>,
    }
}

impl Record for Namespace {}
