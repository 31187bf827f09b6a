//! What is said of pods that a cycle doesn't see: one reason each, whoever is told.
//!
//! Invariant: a pod's own status and those who ask get the same words. Not here: pods in the index,
//! whose reasons are the core's.

use berth_api::mark;
use berth_core::filter::facts::Text;

use super::change::Refuser;
use super::feed::{Apart, PodState, Standing};
use Audience::{Everybody, WhoAsks};

/// A reason and what it means here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The token, as in conditions.
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
    pub audience: Audience,
}

/// Who is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Everybody: it is written into the pod's status.
    Everybody,
    /// Those who ask: somebody else writes this pod's status, or there is nothing to change.
    WhoAsks,
}

/// Why a pod that holds no place is not in the index; `None` if it is.
#[must_use]
pub fn words(pod: &PodState) -> Option<Words> {
    let (reason, message, audience) = match &pod.standing {
        Standing::In(_) | Standing::Assumed(..) => return None,
        Standing::Leaving => (
            "Evicted",
            "it has been evicted and is about to go.".to_owned(),
            WhoAsks,
        ),
        Standing::Resting { why, by, .. } => match by {
            Refuser::Admission => ("BindRejected", why.to_string(), Everybody),
            Refuser::Trouble => {
                let message = format!("it is tried again: {why}");
                ("SchedulerError", message, Everybody)
            }
        },
        Standing::Apart(apart) => of_apart(apart, pod),
    };
    Some(Words {
        reason,
        message,
        audience,
    })
}

fn of_apart(apart: &Apart, pod: &PodState) -> (&'static str, String, Audience) {
    match apart {
        Apart::QueueMissing(queue) => {
            let message = format!(
                "there is no queue {queue}, or it hangs below one that doesn't exist; name one \
                 that exists, or make it."
            );
            ("Misconfigured", message, Everybody)
        }
        Apart::GangUnknown(gang) => {
            let message = format!("nobody says how large gang {gang} is; make its PodGroup.");
            ("Misconfigured", message, Everybody)
        }
        Apart::ClaimMissing(claim) => {
            let message = format!("device claim {claim} doesn't exist yet.");
            ("NodeRules", message, Everybody)
        }
        Apart::Full(why) => ("SchedulerError", why.to_string(), Everybody),
        Apart::NotOurs => {
            let message = format!(
                "its spec.schedulerName is {}, and that scheduler places it.",
                pod.record.scheduler
            );
            ("OtherScheduler", message, WhoAsks)
        }
        Apart::Gated => {
            let gates = pod.record.gates.iter();
            let gates = gates.filter(|gate| **gate != mark::QUOTA_GATE);
            let gates: Vec<&str> = gates.map(Text::as_str).collect();
            let gates = gates.join(", ");
            let message = format!(
                "whoever set the scheduling gate {gates} has to take it away before it is scheduled."
            );
            ("SchedulingGated", message, WhoAsks)
        }
        Apart::Terminating => {
            let message = "it is being deleted, so it starts no more.".to_owned();
            ("Terminating", message, WhoAsks)
        }
        Apart::NodeUnknown(node) => {
            let message = format!("it runs on {node}, which the cluster doesn't have.");
            ("NodeUnknown", message, WhoAsks)
        }
    }
}
