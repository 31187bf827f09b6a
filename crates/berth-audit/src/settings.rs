//! Thresholds of a site, in one typed table, and the profiles that set them together.

use berth_core::time::Span;
use serde::{Deserialize, Serialize};

/// Thresholds that rules compare with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Settings {
    /// People who are to use the cluster; each may have a notebook with a Service of its own.
    pub users: i64,
    /// Longest loss of the API that is acceptable when a host fails.
    pub failover_max: Span,
    /// Use of an address pool, in percent, from which it counts as nearly full.
    pub pool_full_percent: i64,
    /// Use of a disk, in percent, from which it counts as nearly full.
    pub disk_full_percent: i64,
    /// Age below which an allocation without a pod may still be on its way.
    pub leak_grace: Span,
    /// Time for which a volume may be degraded while it is rebuilt.
    pub degraded_max: Span,
    /// Time without use after which a notebook counts as idle.
    pub idle_max: Span,
    /// Version of Kubernetes that the cluster is to move to, for removed APIs.
    pub target_minor: i64,
}

/// A named set of thresholds.
#[derive(Debug)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub about: &'static str,
    settings: fn() -> Settings,
}

/// Every profile; the first is the default.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "default",
        about: "a shared cluster of some dozen people",
        settings: Settings::default,
    },
    Profile {
        name: "gpu-1000-users",
        about: "a thousand people on far fewer GPUs",
        settings: gpu_1000_users,
    },
];

impl Default for Settings {
    fn default() -> Self {
        Self {
            users: 50,
            failover_max: Span::from_secs(60),
            pool_full_percent: 80,
            disk_full_percent: 85,
            leak_grace: Span::from_mins(15),
            degraded_max: Span::from_hours(2),
            idle_max: Span::from_hours(24),
            target_minor: 34,
        }
    }
}

impl Profile {
    /// The profile with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// Its thresholds.
    #[must_use]
    pub fn settings(&self) -> Settings {
        (self.settings)()
    }
}

fn gpu_1000_users() -> Settings {
    Settings {
        users: 1000,
        failover_max: Span::from_secs(1),
        pool_full_percent: 70,
        idle_max: Span::from_hours(4),
        ..Settings::default()
    }
}
