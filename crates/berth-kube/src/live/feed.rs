//! The keeper of the index: changes in, a draft that shows them.
//!
//! Invariant: the draft is a function of what was told, whatever the order of telling: a pod that
//! names a queue, gang or node that has yet to come is considered again when it comes. A pod is in
//! the draft exactly if it holds a place or waits for one that this scheduler may give; everybody
//! else is [`Apart`], with a reason. Not here: decisions, clocks, and the API.

mod devices;
mod gangs;
mod nodes;
mod pods;
mod queues;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_api::grant::PodGrant;
use berth_core::filter::dynamic_resources::extended;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::pod::PodFacts;
use berth_core::filter::facts::storage::ClaimKey;
use berth_core::id::{GangId, NodeId, PodId, QueueId, UserId};
use berth_core::model::draft::Draft;
use berth_core::model::snapshot::Snapshot;
use berth_core::time::Time;

use super::act::claims::ClaimOrder;
use super::change::{Change, Kind, Object, Outcome, Refuser};
use crate::lower::{NodeRecord, PodRecord, QueueRecord};
use devices::DeviceObjects;

pub use standing::QueueStanding;

/// Whose pods a scheduler places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names(pub BTreeSet<Text>);

/// Why a pod that waits is not in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Apart {
    /// It is another scheduler's.
    NotOurs,
    /// Gates that others set keep it.
    Gated,
    /// It is being deleted.
    Terminating,
    /// The queue that it names doesn't exist, or hangs below one that doesn't.
    QueueMissing(Text),
    /// Nobody has said how large its gang is.
    GangUnknown(Text),
    /// It runs on a node that the cluster doesn't have.
    NodeUnknown(Text),
    /// A device claim that it names isn't there yet.
    ClaimMissing(Text),
    /// The index is full.
    Full(Arc<str>),
}

/// How a pod stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It waits in the index, or has its place there.
    In(PodId),
    /// It has been given a place, and is being bound.
    Assumed(PodId, NodeId),
    /// Binding it failed; it rests until it is tried again.
    Resting {
        until: Time,
        why: Arc<str>,
        by: Refuser,
    },
    /// It has been evicted, and is about to go.
    Leaving,
    /// It is not in the index.
    Apart(Apart),
}

/// A pod that has not ended.
#[derive(Debug, Clone)]
pub struct PodState {
    pub record: PodRecord,
    pub standing: Standing,
    /// How often binding it has failed in a row.
    failures: u32,
}

/// The first rest after a failed bind, doubled with each more, and the longest.
const REST_MS: (i64, i64) = (1_000, 60_000);

/// Attempts at binding a member of a gang, whose place is held meanwhile: a minute in all. Its gang
/// would lose all that it has by one refusal otherwise.
const GANG_ATTEMPTS_MAX: u32 = 6;

/// The keeper of the index.
#[derive(Debug)]
pub struct Feed {
    names: Names,
    /// Behind a pointer each, since the nodes of a tree are half empty.
    pods: BTreeMap<Text, Box<PodState>>,
    keys: BTreeMap<PodId, Text>,
    nodes: BTreeMap<Text, NodeId>,
    node_records: BTreeMap<Text, NodeRecord>,
    /// The pod that is charged for the GPUs of each claim.
    claim_payers: BTreeMap<ClaimKey, Text>,
    /// Pods that are considered again when something of this name comes.
    waiting_for: BTreeMap<(Kind, Text), BTreeSet<Text>>,
    queues: BTreeMap<Text, (QueueRecord, Option<QueueId>)>,
    /// Queues that were deleted: they may still be charged.
    former_queues: BTreeMap<Text, QueueId>,
    default_queue: Option<QueueId>,
    gangs: BTreeMap<Text, GangId>,
    gang_sizes: BTreeMap<Text, u32>,
    users: BTreeMap<Text, UserId>,
    /// Grants by the pod's UID, as recorded.
    grants: BTreeMap<Text, PodGrant>,
    grants_of: BTreeMap<Text, Vec<Text>>,
    /// Nodes with pods whose GPUs nobody has recorded.
    unrecorded: BTreeSet<NodeId>,
    /// Claims for extended resources of pods that wait: left over from earlier attempts.
    left_over: BTreeSet<ClaimKey>,
    devices: DeviceObjects,
    resting: BTreeSet<(Time, Text)>,
    /// Pods to be bound once more where they are held a place.
    again: Vec<PodId>,
    synced: BTreeSet<Kind>,
    /// Changes of pods that came before all other kinds were told.
    early: Vec<Change>,
    /// Objects that can't be read.
    pub unreadable: BTreeMap<(Kind, Text), String>,
    /// Pods that have left since the last call of [`Feed::take_gone`].
    gone: Vec<Text>,
    /// Waiting pods whose markers name different gangs, and that have not been told so.
    disagreeing: BTreeSet<Text>,
    /// Pods that have come so far, and those of them that left a place.
    pub came: u64,
    pub ended: u64,
}

impl Feed {
    /// A feed for the pods that name one of these schedulers.
    #[must_use]
    pub fn new(names: Names) -> Self {
        Self {
            names,
            pods: BTreeMap::new(),
            keys: BTreeMap::new(),
            nodes: BTreeMap::new(),
            node_records: BTreeMap::new(),
            claim_payers: BTreeMap::new(),
            waiting_for: BTreeMap::new(),
            queues: BTreeMap::new(),
            former_queues: BTreeMap::new(),
            default_queue: None,
            gangs: BTreeMap::new(),
            gang_sizes: BTreeMap::new(),
            users: BTreeMap::new(),
            grants: BTreeMap::new(),
            grants_of: BTreeMap::new(),
            unrecorded: BTreeSet::new(),
            left_over: BTreeSet::new(),
            devices: DeviceObjects::default(),
            resting: BTreeSet::new(),
            again: Vec::new(),
            synced: BTreeSet::new(),
            early: Vec::new(),
            unreadable: BTreeMap::new(),
            gone: Vec::new(),
            disagreeing: BTreeSet::new(),
            came: 0,
            ended: 0,
        }
    }

    /// Whether every kind has been told.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.synced.len() == Kind::ALL.len()
    }

    /// The kinds that have yet to be told.
    pub fn unsynced(&self) -> impl Iterator<Item = Kind> {
        Kind::ALL
            .into_iter()
            .filter(|kind| !self.synced.contains(kind))
    }

    /// Every pod that has not ended, by name.
    pub fn pods(&self) -> impl ExactSizeIterator<Item = (&Text, &PodState)> {
        self.pods.iter().map(|(key, pod)| (key, &**pod))
    }

    /// The pod of this name, `namespace/name`.
    #[must_use]
    pub fn pod_named(&self, key: &str) -> Option<&PodState> {
        self.pods.get(key).map(|pod| &**pod)
    }

    /// The pod behind an id of the index.
    #[must_use]
    pub fn pod(&self, id: PodId) -> Option<(&Text, &PodState)> {
        let key = self.keys.get(&id)?;
        Some((key, self.pods.get(key)?))
    }

    /// What the device claims of a pod get, as the index has it decided.
    #[must_use]
    pub fn claim_orders(&self, index: &Snapshot, pod: &PodFacts) -> Vec<ClaimOrder> {
        if pod.template.device_claims.is_empty() && pod.template.containers.is_empty() {
            return Vec::new();
        }
        self.devices.orders(index, pod)
    }

    /// Pods that have gone or lost their place since the last call.
    pub fn take_gone(&mut self) -> Vec<Text> {
        std::mem::take(&mut self.gone)
    }

    /// Waiting pods whose markers name different gangs, since the last call.
    pub fn take_disagreeing(&mut self) -> BTreeSet<Text> {
        std::mem::take(&mut self.disagreeing)
    }

    /// Nodes on which pods were found whose GPUs nobody has recorded, since the last call.
    pub fn take_unrecorded(&mut self) -> BTreeSet<NodeId> {
        std::mem::take(&mut self.unrecorded)
    }

    /// Claims for extended resources that earlier attempts have left over, since the last call.
    pub fn take_left_over(&mut self) -> BTreeSet<ClaimKey> {
        std::mem::take(&mut self.left_over)
    }

    /// Notes whether the pod of this name waits although it has a claim for extended resources.
    fn note_left_over(&mut self, draft: &Draft, key: &Text) {
        let Some(pod) = self.pods.get(key) else {
            return;
        };
        let facts = &pod.record.facts;
        if pod.record.node.is_some() || facts.template.containers.is_empty() {
            return;
        }
        let claim = extended::claim_key(facts);
        let known = draft.facts().devices.claims().get(&claim);
        let is_told = known.is_some_and(|known| !known.uid.is_empty());
        if is_told && matches!(pod.standing, Standing::In(_) | Standing::Resting { .. }) {
            self.left_over.insert(claim);
        }
    }

    /// When the next pod that rests is to be tried again.
    #[must_use]
    pub fn next_rest(&self) -> Option<Time> {
        self.resting.first().map(|(until, _)| *until)
    }

    /// Lets the pods whose rest is over wait again. Returns whether there were any.
    pub fn wake(&mut self, draft: &mut Draft, now: Time) -> bool {
        let mut woken = false;
        while let Some((until, key)) = self.resting.pop_first() {
            if until > now {
                self.resting.insert((until, key));
                break;
            }
            match self.pods.get(&key).map(|pod| &pod.standing) {
                Some(&Standing::Assumed(id, _)) => self.again.push(id),
                Some(_) => {
                    self.enter(draft, &key, now);
                    woken = true;
                }
                None => {}
            }
        }
        woken
    }

    /// Pods to be bound once more to the nodes that they are held a place on, since the last call.
    pub fn take_again(&mut self) -> Vec<PodId> {
        std::mem::take(&mut self.again)
    }

    /// Takes in a change.
    pub fn apply(&mut self, draft: &mut Draft, change: Change, now: Time) {
        let is_early = match &change {
            Change::Set(_, Object::Pod(_)) | Change::Gone(Kind::Pod, _) => {
                !self.others_are_synced()
            }
            _ => false,
        };
        if is_early {
            self.early.push(change);
            return;
        }
        match change {
            Change::Set(key, object) => self.set(draft, &key, object, now),
            Change::Gone(kind, key) => self.remove(draft, kind, &key, now),
            Change::Unreadable(kind, key, why) => {
                tracing::warn!(?kind, %key, %why, "can't be read; it is left out");
                self.remove(draft, kind, &key, now);
                self.unreadable.insert((kind, key), why);
            }
            Change::Synced(kind) => {
                self.synced.insert(kind);
                if self.others_are_synced() {
                    for change in std::mem::take(&mut self.early) {
                        self.apply(draft, change, now);
                    }
                }
            }
            Change::Bind { key, uid, outcome } => {
                self.take_outcome(draft, &key, &uid, outcome, now);
            }
        }
    }

    fn others_are_synced(&self) -> bool {
        self.unsynced().all(|kind| kind == Kind::Pod)
    }

    fn set(&mut self, draft: &mut Draft, key: &Text, object: Object, now: Time) {
        match object {
            Object::Namespace(labels) => {
                let namespaces = &mut draft.facts_mut().namespaces;
                Arc::make_mut(namespaces).insert(key.clone(), labels);
            }
            Object::Node(record) => self.set_node(draft, *record, now),
            Object::CsiNode(drivers) => {
                draft.facts_mut().set_drivers(key, Some(Arc::new(drivers)));
            }
            Object::Queue(record) => self.set_queue(draft, record, now),
            Object::GpuGrant(grants) => self.set_grants(key, grants),
            Object::PodGroup(record) => self.set_gang_size(draft, key, record, now),
            Object::Pod(record) => self.set_pod(draft, key, *record, now),
            other => {
                let before = self.devices.node_of(key);
                let is_claim = matches!(other, Object::ResourceClaim(_));
                self.devices.set(draft, key, other);
                self.refresh_node(draft, before, now);
                self.refresh_node(draft, self.devices.node_of(key), now);
                if is_claim {
                    self.reconsider(draft, Kind::ResourceClaim, key, now);
                    if let Some(pod) = self.devices.pod_of(draft, key) {
                        self.note_left_over(draft, &pod);
                    }
                }
            }
        }
    }

    fn remove(&mut self, draft: &mut Draft, kind: Kind, key: &Text, now: Time) {
        self.unreadable.remove(&(kind, key.clone()));
        match kind {
            Kind::Namespace => {
                Arc::make_mut(&mut draft.facts_mut().namespaces).remove(key);
            }
            Kind::Node => self.remove_node(draft, key),
            Kind::CsiNode => draft.facts_mut().set_drivers(key, None),
            Kind::Queue => self.remove_queue(draft, key, now),
            Kind::GpuGrant => self.set_grants(key, Vec::new()),
            Kind::PodGroup(_) => {
                self.gang_sizes.remove(key);
            }
            Kind::Pod => self.remove_pod(draft, key, now),
            other => {
                let node = self.devices.node_of(key);
                self.devices.remove(draft, other, key);
                self.refresh_node(draft, node, now);
            }
        }
    }

    fn set_grants(&mut self, node: &Text, grants: Vec<PodGrant>) {
        for uid in self.grants_of.remove(node).unwrap_or_default() {
            self.grants.remove(&uid);
        }
        let uids = grants.iter().map(|grant| Text::from(grant.uid.as_str()));
        self.grants_of.insert(node.clone(), uids.collect());
        for grant in grants {
            self.grants.insert(Text::from(grant.uid.as_str()), grant);
        }
    }

    /// Notes that a pod is to be considered again when something of this name comes.
    fn wait_for(&mut self, kind: Kind, name: &Text, pod: &Text) {
        let waiting = self.waiting_for.entry((kind, name.clone())).or_default();
        waiting.insert(pod.clone());
    }

    /// Considers the pods again that have waited for something of this name.
    fn reconsider(&mut self, draft: &mut Draft, kind: Kind, name: &Text, now: Time) {
        for key in self
            .waiting_for
            .remove(&(kind, name.clone()))
            .unwrap_or_default()
        {
            let Some(pod) = self.pods.get(&key) else {
                continue;
            };
            match pod.standing {
                Standing::Apart(_) => self.enter(draft, &key, now),
                // It runs, and has been charged to nobody until now.
                Standing::In(_) if pod.record.node.is_some() => {
                    self.enter_again(draft, &key, now);
                }
                Standing::In(_)
                | Standing::Assumed(..)
                | Standing::Resting { .. }
                | Standing::Leaving => {}
            }
        }
    }

    fn take_outcome(
        &mut self,
        draft: &mut Draft,
        key: &Text,
        uid: &Text,
        outcome: Outcome,
        now: Time,
    ) {
        let Some(pod) = self.pods.get_mut(key) else {
            return;
        };
        if pod.record.facts.uid != *uid {
            return;
        }
        let Standing::Assumed(id, _) = pod.standing else {
            return;
        };
        match outcome {
            Outcome::Bound => pod.failures = 0,
            Outcome::Overtaken => {}
            Outcome::Refused { why, by } => {
                let doubled = REST_MS.0 << pod.failures.min(6);
                let until = Time(now.0.saturating_add(doubled.min(REST_MS.1)));
                pod.failures = pod.failures.saturating_add(1);
                if pod.record.gang.is_some() && pod.failures <= GANG_ATTEMPTS_MAX {
                    self.resting.insert((until, key.clone()));
                    return;
                }
                pod.standing = Standing::Resting {
                    until,
                    why: why.into(),
                    by,
                };
                self.resting.insert((until, key.clone()));
                self.leave(draft, id, now);
                self.gone.push(key.clone());
                self.note_left_over(draft, key);
            }
        }
    }

    /// Takes a pod out of the index.
    fn leave(&mut self, draft: &mut Draft, id: PodId, now: Time) {
        self.keys.remove(&id);
        draft
            .remove_pod(id, now)
            .expect("what is in the index is in the draft");
    }
}
