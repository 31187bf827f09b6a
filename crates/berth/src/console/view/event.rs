//! Events as lines.

use serde::Serialize;

use berth_core::model::gpu::GpuHealth;
use berth_core::model::node::Readiness;
use berth_core::time::Time;

use super::words;
use crate::service::events::{Event, EventKind};

/// An event as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EventRow {
    /// Virtual milliseconds since the start.
    pub(crate) at_ms: i64,
    /// The same for people.
    #[serde(skip)]
    pub(crate) clock: String,
    /// Whether it is trouble.
    pub(crate) severity: Severity,
    /// What happened.
    pub(crate) text: String,
}

/// Whether an event is trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// Everyday business.
    Normal,
    /// Something broke or somebody lost a place.
    Trouble,
}

impl EventRow {
    /// The row of `event`, its time counted from `start`.
    pub(crate) fn of(event: &Event, start: Time) -> Self {
        let since = event.at.since(start);
        let (severity, text) = match &event.kind {
            EventKind::Started { pod, node } => {
                (Severity::Normal, format!("{pod} starts on {node}"))
            }
            EventKind::Evicted { pod, cause } => {
                let cause = cause.token();
                (Severity::Trouble, format!("{pod} loses its place: {cause}"))
            }
            EventKind::Node { node, readiness } => match readiness {
                Readiness::Ready => (Severity::Normal, format!("node {node} takes work again")),
                Readiness::Cordoned => {
                    (Severity::Trouble, format!("node {node} takes no new work"))
                }
                Readiness::Lost => (Severity::Trouble, format!("node {node} is lost")),
            },
            EventKind::Gpu { node, gpu, health } => match health {
                GpuHealth::Healthy => {
                    (Severity::Normal, format!("GPU {gpu} of {node} works again"))
                }
                GpuHealth::Degraded => (Severity::Trouble, format!("GPU {gpu} of {node} degrades")),
                GpuHealth::Failed => (Severity::Trouble, format!("GPU {gpu} of {node} fails")),
            },
        };
        Self {
            at_ms: since.0,
            clock: words::clock(since),
            severity,
            text,
        }
    }
}
