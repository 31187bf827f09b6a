//! Kubeflow's profiles and notebooks.

use super::pod::PodTemplate;
use crate::dump::Record;
use crate::dump::lenient::{Pairs, object, record};
use crate::dump::meta::Condition;
use crate::dump::text::Text;

object! {
    /// A profile: a namespace, its owner, and a quota.
    pub struct Profile {
        /// What is wanted.
        pub spec: ProfileSpec,
    }
}

object! {
    /// A notebook.
    pub struct Notebook {
        /// What is wanted.
        pub spec: NotebookSpec,
        /// What there is.
        pub status: NotebookStatus,
    }
}

record! {
    /// `spec` of a profile.
    pub struct ProfileSpec {
        /// Owner.
        pub owner: super::rbac::Subject,
        /// Quota; amounts stay as written.
        pub resource_quota_spec: ProfileQuota,
    }

    /// Quota of a profile.
    pub struct ProfileQuota {
        /// Limits by key.
        pub hard: Pairs<Text>,
    }

    /// `spec` of a notebook.
    pub struct NotebookSpec {
        /// What its pod looks like.
        pub template: PodTemplate,
    }

    /// `status` of a notebook.
    pub struct NotebookStatus {
        /// Replicas that are ready.
        pub ready_replicas: crate::dump::lenient::Number,
        /// Conditions.
        pub conditions: Vec<Condition>,
    }
}

impl Record for Profile {}

impl Record for Notebook {
    fn redact(&mut self) {
        self.spec.template.redact();
    }
}
