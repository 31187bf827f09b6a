//! Events on pods: what became of them, for whoever runs `kubectl describe`.
//!
//! Best effort, as events are: what the rate below has no room for is left out, news of a bind
//! first, since the pod itself shows it. Invariant: nothing waits for an event, and an API server that
//! takes none costs nothing but them. Not here: the pod's condition, which says the same and stays.

use std::time::Duration;

use berth_core::filter::facts::Text;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::{Instant, sleep, timeout};

use super::request::REQUEST_TIME_MAX;
use super::{Fence, MANAGER, PodName};

/// Events a second, and at once after a quiet time: what kube-scheduler allows itself by default.
const RATE: f64 = 50.0;
const BURST: f64 = 100.0;

/// Events that wait for their turn.
const EVENTS_MAX: usize = 1_024;

/// The longest note that the API takes.
const NOTE_BYTES_MAX: usize = 1_024;

/// What happened to a pod.
#[derive(Debug, Clone)]
pub(super) enum Happened {
    Scheduled {
        node: Text,
    },
    /// With the token of the reason.
    Waits {
        token: String,
        message: String,
    },
    Preempted {
        message: String,
    },
    /// With the markers that count and that don't.
    MarkersDisagree {
        message: String,
    },
}

/// Where events are given in.
#[derive(Debug, Clone)]
pub(super) struct Events(Sender<(PodName, Happened)>);

impl Events {
    /// Somewhere to give events in, and the other end.
    pub(super) fn channel() -> (Self, Receiver<(PodName, Happened)>) {
        let (sender, receiver) = mpsc::channel(EVENTS_MAX);
        (Self(sender), receiver)
    }

    /// Tells of it, if there is room.
    pub(super) fn tell(&self, pod: &PodName, happened: Happened) {
        let can_be_seen = matches!(happened, Happened::Scheduled { .. });
        if can_be_seen && self.0.capacity() < EVENTS_MAX / 2 {
            return;
        }
        // Full, or nobody writes any more: left out either way.
        let _ = self.0.try_send((pod.clone(), happened));
    }
}

/// Writes events until nobody gives any.
pub(super) async fn write(
    client: Client,
    mut events: Receiver<(PodName, Happened)>,
    instance: String,
    fence: Fence,
) {
    let reporter = Reporter {
        controller: MANAGER.to_owned(),
        instance: Some(instance),
    };
    let recorder = Recorder::new(client, reporter);
    let mut rate = Rate::full(Instant::now());
    while let Some((pod, happened)) = events.recv().await {
        sleep(rate.take(Instant::now())).await;
        if fence.is_closed() {
            return;
        }
        let event = event(happened);
        let regarding = reference(&pod);
        let published = recorder.publish(&event, &regarding);
        match timeout(REQUEST_TIME_MAX, published).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => tracing::debug!(pod = %pod.name, %why, "an event can't be written"),
            Err(_) => tracing::debug!(pod = %pod.name, "writing an event got no answer"),
        }
    }
}

/// Tokens that come at [`RATE`] up to [`BURST`].
#[derive(Debug)]
struct Rate {
    /// Below zero while some are owed.
    tokens: f64,
    at: Instant,
}

impl Rate {
    fn full(at: Instant) -> Self {
        Self { tokens: BURST, at }
    }

    /// Takes one; how long until it is there.
    fn take(&mut self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + since * RATE).min(BURST) - 1.0;
        self.at = now;
        Duration::from_secs_f64((-self.tokens / RATE).max(0.0))
    }
}

/// The event in the words of the API. A series of it is one of the same reason and action, so the
/// action of whoever waits is the token of why: another reason is another event.
fn event(happened: Happened) -> Event {
    let (type_, reason, action, note) = match happened {
        Happened::Scheduled { node } => {
            let note = format!("Assigned to {node}");
            (EventType::Normal, "Scheduled", "Binding".to_owned(), note)
        }
        Happened::Waits { token, message } => {
            (EventType::Warning, "FailedScheduling", token, message)
        }
        Happened::Preempted { message } => (
            EventType::Normal,
            "Preempted",
            "Preempting".to_owned(),
            message,
        ),
        Happened::MarkersDisagree { message } => {
            let reason = "GangMarkersDisagree";
            (EventType::Warning, reason, "Reading".to_owned(), message)
        }
    };
    Event {
        type_,
        reason: reason.to_owned(),
        note: Some(cut(note)),
        action,
        secondary: None,
    }
}

/// At most as long as the API takes, cut between two characters.
fn cut(mut note: String) -> String {
    if note.len() > NOTE_BYTES_MAX {
        let mut end = NOTE_BYTES_MAX;
        while !note.is_char_boundary(end) {
            end -= 1;
        }
        note.truncate(end);
    }
    note
}

fn reference(pod: &PodName) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(pod.namespace.to_string()),
        name: Some(pod.name.to_string()),
        uid: Some(pod.uid.to_string()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> PodName {
        PodName {
            namespace: Text::from("team-a"),
            name: Text::from("train"),
            uid: Text::from("1"),
        }
    }

    #[test]
    fn a_burst_is_free_and_then_the_rate_holds() {
        let start = Instant::now();
        let mut rate = Rate::full(start);
        for _ in 0..100 {
            assert_eq!(rate.take(start), Duration::ZERO);
        }
        assert_eq!(rate.take(start), Duration::from_millis(20));
        assert_eq!(rate.take(start), Duration::from_millis(40));
        let later = start + Duration::from_secs(60);
        assert_eq!(rate.take(later), Duration::ZERO);
    }

    #[test]
    fn news_of_binds_give_way_and_nothing_blocks() {
        let (events, mut receiver) = Events::channel();
        for _ in 0..2 * EVENTS_MAX {
            let node = Text::from("n1");
            events.tell(&pod(), Happened::Scheduled { node });
        }
        let message = "makes room for team-b/urgent".to_owned();
        events.tell(&pod(), Happened::Preempted { message });
        let mut binds = 0;
        while let Ok((_, happened)) = receiver.try_recv() {
            match happened {
                Happened::Scheduled { .. } => binds += 1,
                other => assert!(matches!(other, Happened::Preempted { .. }), "{other:?}"),
            }
        }
        assert_eq!(binds, EVENTS_MAX / 2 + 1);
        drop(receiver);
        let node = Text::from("n1");
        events.tell(&pod(), Happened::Scheduled { node });
    }

    #[test]
    fn a_note_is_cut_between_characters() {
        let long = "ä".repeat(NOTE_BYTES_MAX);
        assert_eq!(cut(long).len(), NOTE_BYTES_MAX);
        let odd = format!("x{}", "ä".repeat(NOTE_BYTES_MAX));
        assert_eq!(cut(odd).len(), NOTE_BYTES_MAX - 1);
    }

    #[test]
    fn another_reason_is_another_event() {
        let waits = |token: &str| {
            event(Happened::Waits {
                token: token.to_owned(),
                message: "m".to_owned(),
            })
        };
        assert_ne!(waits("NoRoom").action, waits("QuotaReached").action);
        assert_eq!(waits("NoRoom").reason, "FailedScheduling");
    }
}
