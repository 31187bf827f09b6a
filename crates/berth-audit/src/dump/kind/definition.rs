//! Custom resource definitions: which kinds the cluster knows at all.

use crate::dump::Record;
use crate::dump::lenient::{Truth, object, record};
use crate::dump::text::Text;

object! {
    /// A custom resource definition.
    pub struct ResourceDefinition {
        /// What it defines.
        pub spec: DefinitionSpec,
    }
}

record! {
    /// `spec` of a definition.
    pub struct DefinitionSpec {
        /// Group.
        pub group: Text,
        /// Names.
        pub names: DefinitionNames,
        /// Versions.
        pub versions: Vec<DefinitionVersion>,
    }

    /// Names of a defined kind.
    pub struct DefinitionNames {
        /// Kind.
        pub kind: Text,
        /// Plural.
        pub plural: Text,
    }

    /// A version of a defined kind.
    pub struct DefinitionVersion {
        /// Name.
        pub name: Text,
        /// Served.
        pub served: Truth,
        /// Stored.
        pub storage: Truth,
    }
}

impl Record for ResourceDefinition {}
