//! Cluster roles and their bindings.

use crate::dump::Record;
use crate::dump::lenient::{object, record};
use crate::dump::text::Text;

object! {
    /// A cluster role.
    pub struct ClusterRole {
        /// Rights.
        pub rules: Vec<PolicyRule>,
    }
}

object! {
    /// A binding of a cluster role.
    pub struct ClusterRoleBinding {
        /// The role.
        pub role_ref: Subject,
        /// Who gets it.
        pub subjects: Vec<Subject>,
    }
}

record! {
    /// Rights.
    pub struct PolicyRule {
        /// Verbs.
        pub verbs: Vec<Text>,
        /// Groups.
        pub api_groups: Vec<Text>,
        /// Resources.
        pub resources: Vec<Text>,
        /// Names; empty for all.
        pub resource_names: Vec<Text>,
    }

    /// A role, user, group or service account.
    pub struct Subject {
        /// Kind.
        pub kind: Text,
        /// Namespace.
        pub namespace: Text,
        /// Name.
        pub name: Text,
    }
}

impl Record for ClusterRole {}
impl Record for ClusterRoleBinding {}
