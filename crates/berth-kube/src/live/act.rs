//! The actuator: carries decisions out, and tells what became of each.
//!
//! Invariant: an order is carried out once or comes back as refused; what can't be told from the
//! answer is looked up, so a bind that got through is never taken back. Retries, time and concurrency
//! are bounded. Without the right to write ([`Fence`]) nothing is sent. Not here: decisions.

pub mod claims;
mod events;
pub mod grants;
mod pods;
mod queues;
mod request;
pub mod volumes;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use berth_core::filter::facts::Text;
use berth_core::filter::facts::pod::PodFacts;
use berth_core::limits;
use kube::Client;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{JoinError, JoinSet};

use super::change::{Change, Outcome};
use super::queue_status::Said;
use claims::ClaimOrder;
use events::{Events, Happened};
use grants::{Desk, Record};
pub use request::MANAGER;
use request::trouble;
use volumes::VolumeOrder;

/// Writes under way at one time: enough to keep an API server busy, few enough for it to stay fair.
const WRITES_MAX: usize = 64;

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

/// A pod goes to a node; Berth's own gate is taken away and its claims get their devices and volumes
/// first.
#[derive(Debug, Clone)]
pub struct Bind {
    pub pod: PodName,
    pub node: Text,
    /// Whether Berth's own gate is still on it.
    pub is_gated: bool,
    pub claims: Vec<ClaimOrder>,
    pub volumes: Vec<VolumeOrder>,
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Order {
    /// A pod goes to a node.
    Bind(Bind),
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
        /// The token of why it waits.
        token: String,
    },
    /// The markers of a pod name different gangs.
    TellDisagreement { pod: PodName, message: String },
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

/// Carries out orders until nobody gives any; `instance` is who does, for the events.
pub async fn carry_out(
    client: Client,
    mut orders: Receiver<Order>,
    changes: Sender<Change>,
    fence: Fence,
    instance: String,
) {
    let (events, told) = Events::channel();
    let mut writer = JoinSet::new();
    writer.spawn(events::write(client.clone(), told, instance, fence.clone()));
    let mut actor = Actor {
        client,
        changes,
        fence,
        slots: Arc::new(Semaphore::new(WRITES_MAX)),
        writes: JoinSet::new(),
        desk: Desk::default(),
        events,
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
    events: Events,
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
        let (fence, events) = (self.fence.clone(), self.events.clone());
        self.writes.spawn(async move {
            let told = carry_out_one(&client, order, &fence, &events).await;
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
                    if let Order::Bind(Bind { pod, .. }) = order {
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

async fn carry_out_one(
    client: &Client,
    order: Order,
    fence: &Fence,
    events: &Events,
) -> Option<Change> {
    match order {
        Order::Bind(bind) => {
            let outcome = match prepare(client, &bind, fence).await {
                Ok(()) => pods::bind(client, &bind.pod, &bind.node, fence).await,
                Err(outcome) => outcome,
            };
            let Bind { pod, node, .. } = bind;
            if matches!(outcome, Outcome::Bound) {
                events.tell(&pod, Happened::Scheduled { node });
            }
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
            pods::evict(client, &pod, cause, &message, fence).await;
            events.tell(&pod, Happened::Preempted { message });
            None
        }
        Order::Tell {
            pod,
            version,
            reason,
            message,
            token,
        } => {
            let condition = pods::condition("PodScheduled", "False", &reason, &message);
            pods::tell(client, &pod, &version, condition, fence).await;
            events.tell(&pod, Happened::Waits { token, message });
            None
        }
        Order::TellDisagreement { pod, message } => {
            events.tell(&pod, Happened::MarkersDisagree { message });
            None
        }
        Order::TellQueue { queue, said } => {
            queues::tell(client, &queue, said, fence).await;
            None
        }
    }
}

/// What a pod needs before it can be bound.
async fn prepare(client: &Client, bind: &Bind, fence: &Fence) -> Result<(), Outcome> {
    if bind.is_gated {
        pods::open_gate(client, &bind.pod, fence).await?;
    }
    claims::write(client, &bind.pod, &bind.claims, fence).await?;
    volumes::write(client, &bind.pod, &bind.node, &bind.volumes, fence).await
}
