//! Watches all bound pods and moves those on our nodes through their lives.
//!
//! One task owns everything: events come in, actions become due, a bounded number of them run.
//! Invariant: a pod has at most one planned action; a failed one is tried again, a bounded number of
//! times.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event, watcher};
use tokio_util::time::DelayQueue;

use crate::ledger::Ledger;
use crate::object::GPU_RESOURCE;
use crate::pod::{Action, Phase, PodView};

/// Requests in flight: an API server answers about a thousand status writes a second with this.
const ACTIONS_IN_FLIGHT: usize = 64;
/// Pause before a failed action is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Five minutes of trying: longer than any restart of an API server in a test.
const RETRIES_MAX: u32 = 300;

/// Runs until the watch ends, which it does not by itself.
pub(crate) async fn live(client: &Client, ledger: Ledger) -> anyhow::Result<()> {
    let pods = Api::<Pod>::all(client.clone());
    // Pods that wait for a node are none of a kubelet's business, and there may be very many.
    let bound = watcher::Config::default().fields("spec.nodeName!=");
    let mut events = std::pin::pin!(watcher(pods, bound).default_backoff());
    let mut life = Life::new(ledger);
    let mut running = FuturesUnordered::new();
    loop {
        while running.len() < ACTIONS_IN_FLIGHT
            && let Some(task) = life.ready.pop_front()
        {
            running.push(perform(client.clone(), task));
        }
        tokio::select! {
            event = events.next() => match event.context("the watch of pods has ended")? {
                Ok(event) => life.observe(event),
                Err(error) => eprintln!("the watch of pods failed and starts again: {error}"),
            },
            Some(due) = life.due.next(), if !life.due.is_empty() => {
                life.ready.push_back(due.into_inner());
            }
            Some(failed) = running.next(), if !running.is_empty() => life.settle(failed),
        }
    }
}

/// One action on one pod.
#[derive(Debug)]
struct Task {
    pod: PodView,
    action: Action,
    address: String,
    attempts: u32,
}

#[derive(Debug)]
struct Life {
    ledger: Ledger,
    /// The action last planned for each pod, by UID.
    planned: HashMap<String, Action>,
    due: DelayQueue<Task>,
    ready: VecDeque<Task>,
    n_addresses: u32,
}

impl Life {
    fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
            planned: HashMap::new(),
            due: DelayQueue::new(),
            ready: VecDeque::new(),
            n_addresses: 0,
        }
    }

    fn observe(&mut self, event: Event<Pod>) {
        match event {
            Event::Apply(pod) | Event::InitApply(pod) => {
                if let Some(view) = PodView::of(pod) {
                    self.plan(view, Timestamp::now());
                }
            }
            Event::Delete(pod) => {
                if let Some(uid) = pod.metadata.uid {
                    self.ledger.release(&uid);
                    self.planned.remove(&uid);
                }
            }
            Event::Init | Event::InitDone => {}
        }
    }

    fn plan(&mut self, pod: PodView, now: Timestamp) {
        if !self.ledger.has_node(&pod.node) {
            return; // a real node's
        }
        let is_admitted = match pod.phase {
            Phase::Ended => {
                self.ledger.release(&pod.uid);
                true
            }
            Phase::Pending | Phase::Running => self.ledger.admit(&pod.uid, &pod.node, pod.gpus),
        };
        let Some((mut action, wait)) = pod.next(now) else {
            return;
        };
        if action == Action::Start && !is_admitted {
            action = Action::Refuse(GPU_RESOURCE.to_owned());
        }
        if self.planned.get(&pod.uid) == Some(&action) {
            return;
        }
        self.planned.insert(pod.uid.clone(), action.clone());
        let address = self.address();
        let task = Task {
            pod,
            action,
            address,
            attempts: 0,
        };
        if wait.is_zero() {
            self.ready.push_back(task);
        } else {
            self.due.insert(task, wait);
        }
    }

    /// Plans a failed action again, unless it has failed too often.
    fn settle(&mut self, failed: Option<Task>) {
        match failed {
            None => {}
            Some(task) if task.attempts < RETRIES_MAX => {
                self.due.insert(task, RETRY_AFTER);
            }
            Some(task) => {
                self.planned.remove(&task.pod.uid); // the next event plans it afresh
            }
        }
    }

    /// Addresses of pods need only differ for a while: 10.0.0.0/8 has 16 million.
    fn address(&mut self) -> String {
        self.n_addresses = self.n_addresses.wrapping_add(1);
        let [_, a, b, c] = self.n_addresses.to_be_bytes();
        format!("10.{a}.{b}.{c}")
    }
}

/// Does the task; gives it back if it is to be tried again.
async fn perform(client: Client, mut task: Task) -> Option<Task> {
    let pods = Api::<Pod>::namespaced(client, &task.pod.namespace);
    let name = &task.pod.name;
    let patch = task
        .pod
        .patch(&task.action, Timestamp::now(), &task.address);
    let result = match patch {
        Some(patch) => pods
            .patch_status(name, &PatchParams::default(), &Patch::Strategic(patch))
            .await
            .map(|_| ()),
        None => pods.delete(name, &gone(&task.pod.uid)).await.map(|_| ()),
    };
    match result {
        Ok(()) => None,
        // The pod is gone, or another one has its name.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => None,
        Err(error) => {
            eprintln!(
                "{:?} of pod {name} failed and is tried again: {error}",
                task.action
            );
            task.attempts += 1;
            Some(task)
        }
    }
}

/// The kubelet's last word on a pod that has stopped.
fn gone(uid: &str) -> DeleteParams {
    DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions {
            uid: Some(uid.to_owned()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    }
}
