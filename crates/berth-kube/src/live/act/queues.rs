//! The status of queues.
//!
//! Best effort: what could not be written is written with the next change of it. Invariant: a condition
//! keeps the time of its last change, whoever has written it. Not here: what is said.

use berth_api::Queue;
use berth_api::queue::QueueStatus;
use berth_core::filter::facts::Text;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::api::Patch;
use kube::{Api, Client};
use serde_json::json;
use tokio::time::timeout;

use super::Fence;
use super::request::{REQUEST_TIME_MAX, parameters};
use crate::live::queue_status::Said;

const READY: &str = "Ready";

/// Writes the status of a queue.
pub(super) async fn tell(client: &Client, name: &Text, said: Said, fence: &Fence) {
    let api: Api<Queue> = Api::all(client.clone());
    let written = async {
        let Some(queue) = api.get_opt(name).await? else {
            return Ok(());
        };
        let before = queue.status.unwrap_or_default();
        let status = status(&before, said, Time(Timestamp::now()));
        if fence.is_closed() || status == before {
            return Ok(());
        }
        let patch = Patch::Merge(json!({
            "metadata": { "uid": queue.metadata.uid },
            "status": status,
        }));
        api.patch_status(name, &parameters(), &patch).await?;
        Ok::<_, kube::Error>(())
    };
    match timeout(REQUEST_TIME_MAX, written).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => tracing::debug!(queue = %name, %why, "its status can't be written"),
        Err(_) => tracing::debug!(queue = %name, "writing its status got no answer"),
    }
}

/// What follows the status before.
fn status(before: &QueueStatus, said: Said, now: Time) -> QueueStatus {
    let word = if said.is_ready { "True" } else { "False" };
    let mut others = before.conditions.clone();
    let at = others.iter().position(|one| one.type_ == READY);
    let same = at.map(|at| others.remove(at));
    let same = same.filter(|one| one.status == word);
    let (reason, message) = said.words;
    others.push(Condition {
        last_transition_time: same.map_or(now, |one| one.last_transition_time),
        message,
        observed_generation: Some(said.generation),
        reason: reason.to_owned(),
        status: word.to_owned(),
        type_: READY.to_owned(),
    });
    QueueStatus {
        conditions: others,
        gpus_held: Some(said.gpus_held),
        pending: Some(said.pending),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(is_ready: bool, held: &str) -> Said {
        Said {
            generation: 3,
            is_ready,
            words: ("Reason", "a sentence.".to_owned()),
            gpus_held: held.to_owned(),
            pending: 0,
        }
    }

    #[test]
    fn a_condition_keeps_its_time_until_it_turns() {
        let at = |second| Time(Timestamp::from_second(second).unwrap());
        let first = status(&QueueStatus::default(), said(true, "1"), at(10));
        let second = status(&first, said(true, "2"), at(20));
        assert_eq!(second.conditions[0].last_transition_time, at(10));
        assert_eq!(second.gpus_held.as_deref(), Some("2"));
        let third = status(&second, said(false, "2"), at(30));
        assert_eq!(third.conditions[0].last_transition_time, at(30));
        assert_eq!(third.conditions[0].observed_generation, Some(3));
    }

    #[test]
    fn conditions_of_others_stay() {
        let other = Condition {
            type_: "Audited".to_owned(),
            ..status(
                &QueueStatus::default(),
                said(true, "1"),
                Time(Timestamp::UNIX_EPOCH),
            )
            .conditions
            .remove(0)
        };
        let before = QueueStatus {
            conditions: vec![other.clone()],
            ..QueueStatus::default()
        };
        let after = status(&before, said(true, "1"), Time(Timestamp::UNIX_EPOCH));
        assert_eq!(after.conditions.len(), 2);
        assert!(after.conditions.contains(&other));
    }
}
