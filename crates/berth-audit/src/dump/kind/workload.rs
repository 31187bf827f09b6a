//! Workloads that make pods, and the budgets that protect them.

use super::pod::PodTemplate;
use crate::dump::Record;
use crate::dump::lenient::{Number, Truth, object, record};
use crate::dump::meta::{Condition, Selector};
use crate::dump::text::Text;

object! {
    /// A DaemonSet.
    pub struct DaemonSet {
        /// What is wanted.
        pub spec: WorkloadSpec,
        /// What there is.
        pub status: DaemonSetStatus,
    }
}

object! {
    /// A Deployment.
    pub struct Deployment {
        /// What is wanted.
        pub spec: WorkloadSpec,
        /// What there is.
        pub status: WorkloadStatus,
    }
}

object! {
    /// A StatefulSet.
    pub struct StatefulSet {
        /// What is wanted.
        pub spec: WorkloadSpec,
        /// What there is.
        pub status: WorkloadStatus,
    }
}

object! {
    /// A Job.
    pub struct Job {
        /// What is wanted.
        pub spec: JobSpec,
    }
}

object! {
    /// A CronJob.
    pub struct CronJob {
        /// What is wanted.
        pub spec: CronJobSpec,
    }
}

object! {
    /// A pod disruption budget.
    pub struct DisruptionBudget {
        /// What is wanted.
        pub spec: DisruptionBudgetSpec,
        /// What there is.
        pub status: DisruptionBudgetStatus,
    }
}

record! {
    /// `spec` of a workload.
    pub struct WorkloadSpec {
        /// Pods wanted; 1 where it is not said.
        pub replicas: Option<Number>,
        /// Which pods are its own.
        pub selector: Selector,
        /// What they look like.
        pub template: PodTemplate,
    }

    /// `status` of a workload.
    pub struct WorkloadStatus {
        /// Pods.
        pub replicas: Number,
        /// Pods that are ready.
        pub ready_replicas: Number,
        /// Conditions.
        pub conditions: Vec<Condition>,
    }

    /// `status` of a DaemonSet.
    pub struct DaemonSetStatus {
        /// Nodes that should run it.
        pub desired_number_scheduled: Number,
        /// Nodes on which it is ready.
        pub number_ready: Number,
    }

    /// `spec` of a Job.
    pub struct JobSpec {
        /// Pods at once.
        pub parallelism: Option<Number>,
        /// Pods that must succeed.
        pub completions: Option<Number>,
        /// Seconds after which it is removed.
        pub ttl_seconds_after_finished: Option<Number>,
        /// True where it is held back.
        pub suspend: Truth,
        /// What its pods look like.
        pub template: PodTemplate,
    }

    /// `spec` of a CronJob.
    pub struct CronJobSpec {
        /// Template of its jobs.
        pub job_template: JobTemplate,
    }

    /// Template of a Job.
    pub struct JobTemplate {
        /// What is wanted.
        pub spec: JobSpec,
    }

    /// `spec` of a budget.
    pub struct DisruptionBudgetSpec {
        /// Pods that must stay.
        pub min_available: Text,
        /// Pods that may go.
        pub max_unavailable: Text,
        /// Which pods it protects; absent protects none.
        pub selector: Option<Selector>,
        /// Whether pods that are not ready may be evicted in any case.
        pub unhealthy_pod_eviction_policy: Text,
    }

    /// `status` of a budget.
    pub struct DisruptionBudgetStatus {
        /// Pods that may go now.
        pub disruptions_allowed: Number,
        /// Pods that must be healthy.
        pub desired_healthy: Number,
        /// Pods that are.
        pub current_healthy: Number,
        /// Pods that are protected.
        pub expected_pods: Number,
    }
}

macro_rules! templated {
    ($($name:ty: $($path:ident).+),*) => {$(
        impl Record for $name {
            fn redact(&mut self) {
                self.$($path).+.redact();
            }
        }
    )*};
}

templated!(
    DaemonSet: spec.template,
    Deployment: spec.template,
    StatefulSet: spec.template,
    Job: spec.template,
    CronJob: spec.job_template.spec.template
);

impl Record for DisruptionBudget {}
