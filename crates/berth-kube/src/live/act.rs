//! The actuator: carries decisions out, and tells what became of each.
//!
//! Invariant: an order is carried out once or comes back as refused; what can't be told from the
//! answer is looked up, so a bind that got through is never taken back. Retries, time and concurrency
//! are bounded. Without the right to write ([`Fence`]) nothing is sent. Not here: decisions.

pub mod claims;
pub mod grants;
mod queues;
mod request;
pub mod volumes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::pod::PodFacts;
use berth_core::limits;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

use super::change::{Change, Outcome};
use super::queue_status::Said;
use claims::ClaimOrder;
use grants::{Desk, Record};
pub use request::MANAGER;
use request::{REQUEST_TIME_MAX, parameters, refused, trouble, within};
use volumes::VolumeOrder;

/// Writes under way at one time: enough to keep an API server busy, few enough for it to stay fair.
const WRITES_MAX: usize = 64;

/// Attempts at one write, with a pause that doubles from the first.
const ATTEMPTS_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// Orders that wait: a bind and a record a pod at the most, and as much again for everything else,
/// which can be left out.
const ORDERS_MAX: usize = 2 * limits::PODS_MAX;

/// Who a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodName {
    pub namespace: Text,
    pub name: Text,
    pub uid: Text,
}

impl PodName {
    /// Who the pod of these facts is.
    #[must_use]
    pub fn of(facts: &PodFacts) -> Self {
        Self {
            namespace: facts.namespace.clone(),
            name: facts.name.clone(),
            uid: facts.uid.clone(),
        }
    }

    /// Its key in the index.
    #[must_use]
    pub fn key(&self) -> Text {
        Text::from(format!("{}/{}", self.namespace, self.name))
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Order {
    /// A pod goes to a node; Berth's own gate is taken away and its claims get their devices and
    /// volumes first.
    Bind {
        pod: PodName,
        node: Text,
        /// Whether Berth's own gate is still on it.
        is_gated: bool,
        claims: Vec<ClaimOrder>,
        volumes: Vec<VolumeOrder>,
    },
    /// The claim of an earlier attempt to bind a pod goes, with its devices.
    Unmake { namespace: Text, name: Text },
    /// Who has which GPU of a node is recorded.
    Record { node: Text, record: Record },
    /// A pod has to go, for a reason that its owner is told.
    Evict {
        pod: PodName,
        cause: &'static str,
        message: String,
    },
    /// A pod is told why it waits, unless it has changed since `version`.
    Tell {
        pod: PodName,
        version: Text,
        reason: String,
        message: String,
    },
    /// A queue is told how it stands.
    TellQueue { queue: Text, said: Said },
}

/// The right to write. Once lost it does not come back.
#[derive(Debug, Clone, Default)]
pub struct Fence(Arc<AtomicBool>);

impl Fence {
    /// Takes the right away.
    pub fn close(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether it has been taken away.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Carries out orders until nobody gives any.
pub async fn carry_out(
    client: Client,
    mut orders: Receiver<Order>,
    changes: Sender<Change>,
    fence: Fence,
) {
    let mut actor = Actor {
        client,
        changes,
        fence,
        slots: Arc::new(Semaphore::new(WRITES_MAX)),
        writes: JoinSet::new(),
        desk: Desk::default(),
    };
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(order) => actor.begin(order).await,
                None => break,
            },
            Some(done) = actor.writes.join_next() => actor.follow_up(done).await,
        }
    }
    while let Some(done) = actor.writes.join_next().await {
        actor.follow_up(done).await;
    }
}

struct Actor {
    client: Client,
    changes: Sender<Change>,
    fence: Fence,
    slots: Arc<Semaphore>,
    writes: JoinSet<Done>,
    desk: Desk,
}

/// What a write leaves to be done.
enum Done {
    Nothing,
    /// The GPUs of a node are recorded, and these follow.
    Recorded {
        node: Text,
        then: Vec<Order>,
    },
}

impl Actor {
    async fn begin(&mut self, order: Order) {
        match order {
            Order::Record { node, record } => {
                if let Some(record) = self.desk.submit(&node, record) {
                    self.record(node, record).await;
                }
            }
            order => self.write(order).await,
        }
    }

    async fn write(&mut self, order: Order) {
        let slot = self.slot().await;
        let (client, changes) = (self.client.clone(), self.changes.clone());
        let fence = self.fence.clone();
        self.writes.spawn(async move {
            let told = carry_out_one(&client, order, &fence).await;
            // The slot is free before the index is told: it may be waiting for nothing else.
            drop(slot);
            if let Some(change) = told {
                let _ = changes.send(change).await;
            }
            Done::Nothing
        });
    }

    async fn record(&mut self, node: Text, record: Record) {
        let slot = self.slot().await;
        let (client, changes) = (self.client.clone(), self.changes.clone());
        let fence = self.fence.clone();
        self.writes.spawn(async move {
            let written = grants::write(&client, &node, &record, &fence).await;
            drop(slot);
            let mut then = record.then;
            if let Err(why) = written {
                for order in std::mem::take(&mut then) {
                    if let Order::Bind { pod, .. } = order {
                        let outcome = trouble(why.clone());
                        let (key, uid) = (pod.key(), pod.uid);
                        let _ = changes.send(Change::Bind { key, uid, outcome }).await;
                    }
                }
            }
            Done::Recorded { node, then }
        });
    }

    async fn follow_up(&mut self, done: Result<Done, JoinError>) {
        match done {
            Ok(Done::Nothing) => {}
            Ok(Done::Recorded { node, then }) => {
                for order in then {
                    self.write(order).await;
                }
                if let Some(record) = self.desk.finish(&node) {
                    self.record(node, record).await;
                }
            }
            Err(error) => tracing::error!(%error, "a write has panicked"),
        }
    }

    async fn slot(&self) -> OwnedSemaphorePermit {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        slot.expect("the semaphore is never closed")
    }
}

/// A channel for orders.
#[must_use]
pub fn channel() -> (Sender<Order>, Receiver<Order>) {
    mpsc::channel(ORDERS_MAX)
}

async fn carry_out_one(client: &Client, order: Order, fence: &Fence) -> Option<Change> {
    match order {
        Order::Bind {
            pod,
            node,
            is_gated,
            claims,
            volumes,
        } => {
            let prepared = async {
                if is_gated {
                    open_gate(client, &pod, fence).await?;
                }
                claims::write(client, &pod, &claims, fence).await?;
                volumes::write(client, &pod, &node, &volumes, fence).await
            };
            let outcome = match prepared.await {
                Ok(()) => bind(client, &pod, &node, fence).await,
                Err(outcome) => outcome,
            };
            let (key, uid) = (pod.key(), pod.uid);
            Some(Change::Bind { key, uid, outcome })
        }
        Order::Record { .. } => None,
        Order::Unmake { namespace, name } => {
            if !fence.is_closed()
                && claims::extended::unmake(client, &namespace, &name)
                    .await
                    .is_err()
            {
                tracing::debug!(%namespace, %name, "a claim that was left over stays for now");
            }
            None
        }
        Order::Evict {
            pod,
            cause,
            message,
        } => {
            evict(client, &pod, cause, &message, fence).await;
            None
        }
        Order::Tell {
            pod,
            version,
            reason,
            message,
        } => {
            let condition = condition("PodScheduled", "False", &reason, &message);
            tell(client, &pod, &version, condition, fence).await;
            None
        }
        Order::TellQueue { queue, said } => {
            queues::tell(client, &queue, said, fence).await;
            None
        }
    }
}

async fn bind(client: &Client, pod: &PodName, node: &Text, fence: &Fence) -> Outcome {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let binding = api::Binding {
        metadata: ObjectMeta {
            name: Some(pod.name.to_string()),
            namespace: Some(pod.namespace.to_string()),
            uid: Some(pod.uid.to_string()),
            ..ObjectMeta::default()
        },
        target: api::ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(node.to_string()),
            ..api::ObjectReference::default()
        },
    };
    let parameters = PostParams::default();
    let mut pause = PAUSE;
    let mut last = String::new();
    for _ in 0..ATTEMPTS_MAX {
        if fence.is_closed() {
            return trouble("the right to write was lost".to_owned());
        }
        let write = pods.create_subresource::<_, serde_json::Value>(
            "binding",
            &pod.name,
            &parameters,
            &binding,
        );
        match timeout(REQUEST_TIME_MAX, write).await {
            Ok(Ok(_)) => return Outcome::Bound,
            Ok(Err(kube::Error::Api(status))) => match status.code {
                404 => return Outcome::Overtaken,
                409 => return look(&pods, pod, node).await,
                429 | 500..=599 => last = status.message.clone(),
                _ => return refused(&status),
            },
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = "the API server did not answer".to_owned(),
        }
        sleep(pause).await;
        pause *= 2;
    }
    match look(&pods, pod, node).await {
        Outcome::Refused { .. } => trouble(last),
        other => other,
    }
}

/// Whether a pod is bound after all.
async fn look(pods: &Api<api::Pod>, pod: &PodName, node: &Text) -> Outcome {
    match timeout(REQUEST_TIME_MAX, pods.get_opt(&pod.name)).await {
        Ok(Ok(Some(found))) => {
            let is_same = found.metadata.uid.as_deref() == Some(&*pod.uid);
            let place = found
                .spec
                .as_ref()
                .and_then(|spec| spec.node_name.as_deref());
            match place.filter(|place| !place.is_empty()) {
                _ if !is_same => Outcome::Overtaken,
                Some(place) if place == node.as_str() => Outcome::Bound,
                Some(_) => Outcome::Overtaken,
                None => trouble("it was changed at the same time".to_owned()),
            }
        }
        Ok(Ok(None)) => Outcome::Overtaken,
        Ok(Err(error)) => trouble(error.to_string()),
        Err(_) => trouble("the API server did not answer".to_owned()),
    }
}

/// Takes Berth's own gate off a pod, which has no other.
async fn open_gate(client: &Client, pod: &PodName, fence: &Fence) -> Result<(), Outcome> {
    if fence.is_closed() {
        return Err(trouble("the right to write was lost".to_owned()));
    }
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let patch = Patch::Merge(json!({
        "metadata": { "uid": pod.uid.as_str() },
        "spec": { "schedulingGates": [] },
    }));
    within(pods.patch(&pod.name, &parameters(), &patch)).await?;
    Ok(())
}

/// Marks a pod as disrupted and deletes it.
async fn evict(client: &Client, pod: &PodName, cause: &str, message: &str, fence: &Fence) {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let mark = Patch::Strategic(json!({
        "metadata": { "uid": pod.uid.as_str() },
        "status": { "conditions": [condition("DisruptionTarget", "True", cause, message)] },
    }));
    let parameters = parameters();
    let parameters_of_delete = DeleteParams {
        preconditions: Some(Preconditions {
            uid: Some(pod.uid.to_string()),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    let mut pause = PAUSE;
    for _ in 0..ATTEMPTS_MAX {
        if fence.is_closed() {
            return;
        }
        // Without the mark the eviction is as good; only its reason is missing.
        let marking = pods.patch_status(&pod.name, &parameters, &mark);
        if let Ok(Err(why)) = timeout(REQUEST_TIME_MAX, marking).await {
            tracing::debug!(pod = %pod.name, %why, "can't be marked as disrupted");
        }
        let delete = pods.delete(&pod.name, &parameters_of_delete);
        match timeout(REQUEST_TIME_MAX, delete).await {
            Ok(Ok(_)) => return,
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => return,
            Ok(Err(why)) => tracing::warn!(pod = %pod.name, %why, "can't be evicted"),
            Err(_) => tracing::warn!(pod = %pod.name, "eviction got no answer"),
        }
        sleep(pause).await;
        pause *= 2;
    }
}

/// Writes into a pod's status why it waits. Best effort: the next change writes it again. With the
/// version as the lock it can't reach a pod that has been bound in the meantime.
async fn tell(
    client: &Client,
    pod: &PodName,
    version: &Text,
    condition: serde_json::Value,
    fence: &Fence,
) {
    if fence.is_closed() {
        return;
    }
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    let patch = Patch::Strategic(json!({
        "metadata": { "uid": pod.uid.as_str(), "resourceVersion": version.as_str() },
        "status": { "conditions": [condition] },
    }));
    let parameters = parameters();
    let write = pods.patch_status(&pod.name, &parameters, &patch);
    if let Ok(Err(why)) = timeout(REQUEST_TIME_MAX, write).await {
        tracing::debug!(pod = %pod.name, %why, "can't be told why it waits");
    }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> serde_json::Value {
    let now = k8s_openapi::jiff::Timestamp::now();
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
    })
}
