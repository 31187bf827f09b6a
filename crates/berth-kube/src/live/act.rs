//! The actuator: carries decisions out, and tells what became of each.
//!
//! Invariant: an order is carried out once or comes back as refused; what can't be told from the
//! answer is looked up, so a bind that got through is never taken back. Retries, time and concurrency
//! are bounded. Without the right to write ([`Fence`]) nothing is sent. Not here: decisions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use berth_core::filter::facts::Text;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::mpsc::{Sender, UnboundedReceiver};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::change::{Change, Outcome, Refuser};

/// Writes under way at one time: enough to keep an API server busy, few enough for it to stay fair.
const WRITES_MAX: usize = 64;

/// Attempts at one write, with a pause that doubles from the first.
const ATTEMPTS_MAX: u32 = 5;
const PAUSE: Duration = Duration::from_millis(50);

/// The longest that one write may take.
const WRITE_TIME_MAX: Duration = Duration::from_secs(10);

/// The field manager of everything that the scheduler writes.
pub const MANAGER: &str = "berth-scheduler";

/// Who a pod is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodName {
    pub namespace: Text,
    pub name: Text,
    pub uid: Text,
}

impl PodName {
    /// Its key in the index.
    #[must_use]
    pub fn key(&self) -> Text {
        Text::from(format!("{}/{}", self.namespace, self.name))
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Order {
    /// A pod goes to a node; gates of Berth's own are taken away first.
    Bind {
        pod: PodName,
        node: Text,
        ungate: Option<Vec<Text>>,
    },
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
    mut orders: UnboundedReceiver<Order>,
    changes: Sender<Change>,
    fence: Fence,
) {
    let slots = Arc::new(Semaphore::new(WRITES_MAX));
    let mut writes = JoinSet::new();
    while let Some(order) = orders.recv().await {
        let slot = Arc::clone(&slots).acquire_owned().await;
        let slot = slot.expect("the semaphore is never closed");
        let (client, changes, fence) = (client.clone(), changes.clone(), fence.clone());
        writes.spawn(async move {
            let told = carry_out_one(&client, order, &fence).await;
            // The slot is free before the index is told: it may be waiting for nothing else.
            drop(slot);
            if let Some(change) = told {
                let _ = changes.send(change).await;
            }
        });
        while writes.try_join_next().is_some() {}
    }
    while writes.join_next().await.is_some() {}
}

/// A channel for orders. There is at most one order a pod at a time, so pods bound it.
#[must_use]
pub fn channel() -> (mpsc::UnboundedSender<Order>, UnboundedReceiver<Order>) {
    mpsc::unbounded_channel()
}

async fn carry_out_one(client: &Client, order: Order, fence: &Fence) -> Option<Change> {
    match order {
        Order::Bind { pod, node, ungate } => {
            let outcome = bind(client, &pod, &node, ungate.as_deref(), fence).await;
            let (key, uid) = (pod.key(), pod.uid);
            Some(Change::Bind { key, uid, outcome })
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
    }
}

async fn bind(
    client: &Client,
    pod: &PodName,
    node: &Text,
    ungate: Option<&[Text]>,
    fence: &Fence,
) -> Outcome {
    let pods: Api<api::Pod> = Api::namespaced(client.clone(), &pod.namespace);
    if let Some(left) = ungate
        && let Err(outcome) = take_gates_away(&pods, pod, left, fence).await
    {
        return outcome;
    }
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
        match timeout(WRITE_TIME_MAX, write).await {
            Ok(Ok(_)) => return Outcome::Bound,
            Ok(Err(kube::Error::Api(status))) => match status.code {
                404 => return Outcome::Overtaken,
                409 => return look(&pods, pod, node).await,
                429 | 500..=599 => last = status.message.clone(),
                _ => {
                    let (why, by) = (status.message.clone(), Refuser::Admission);
                    return Outcome::Refused { why, by };
                }
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
    match timeout(WRITE_TIME_MAX, pods.get_opt(&pod.name)).await {
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

fn trouble(why: String) -> Outcome {
    let by = Refuser::Trouble;
    Outcome::Refused { why, by }
}

/// Leaves a pod only the gates in `left`.
async fn take_gates_away(
    pods: &Api<api::Pod>,
    pod: &PodName,
    left: &[Text],
    fence: &Fence,
) -> Result<(), Outcome> {
    if fence.is_closed() {
        return Err(trouble("the right to write was lost".to_owned()));
    }
    let left: Vec<_> = left
        .iter()
        .map(|gate| json!({ "name": gate.as_str() }))
        .collect();
    let patch = Patch::Merge(json!({
        "metadata": { "uid": pod.uid.as_str() },
        "spec": { "schedulingGates": left },
    }));
    let parameters = parameters();
    let write = pods.patch(&pod.name, &parameters, &patch);
    match timeout(WRITE_TIME_MAX, write).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(Outcome::Overtaken),
        Ok(Err(error)) => Err(trouble(error.to_string())),
        Err(_) => Err(trouble("the API server did not answer".to_owned())),
    }
}

fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PatchParams::default()
    }
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
        if let Ok(Err(why)) = timeout(WRITE_TIME_MAX, marking).await {
            tracing::debug!(pod = %pod.name, %why, "can't be marked as disrupted");
        }
        let delete = pods.delete(&pod.name, &parameters_of_delete);
        match timeout(WRITE_TIME_MAX, delete).await {
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
    if let Ok(Err(why)) = timeout(WRITE_TIME_MAX, write).await {
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
