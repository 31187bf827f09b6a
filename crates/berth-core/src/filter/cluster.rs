//! The cluster as filters see it: nodes with their pods, namespaces, storage.
//!
//! Invariant: what is summed over a node's pods is what its pods hold; whoever adds or removes a pod
//! does it through this module. Pods may come before their node and outlast it. Not here: anything
//! that waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::dynamic_resources::{self, extended};
use super::facts::Text;
use super::facts::inventory::Devices;
use super::facts::label::Labels;
use super::facts::node::{NodeDrivers, NodeFacts};
use super::facts::pod::PodFacts;
use super::facts::resources::Resources;
use super::facts::storage::{
    Attachment, ClaimFacts, ClaimKey, CsiDriver, PodVolume, StorageClass, StorageRoom,
    VolumeDecision, VolumeFacts,
};
use super::volume_binding;
use crate::cow::CowVec;
use crate::time::Time;

/// Whether the cluster has a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Here,
    /// It has yet to come, or has gone.
    Gone,
}

/// A node and what runs there.
#[derive(Debug, Clone)]
pub struct NodeEntry {
    pub facts: Arc<NodeFacts>,
    /// Its CSI drivers; `None` while it has published none.
    pub drivers: Option<Arc<NodeDrivers>>,
    /// Pods that preemption has promised a place here.
    pub nominated: Vec<Arc<PodFacts>>,
    pods: Vec<Arc<PodFacts>>,
    held: Resources,
    with_anti_affinity: usize,
    presence: Presence,
}

impl NodeEntry {
    /// A node on which nothing runs.
    #[must_use]
    pub fn new(facts: Arc<NodeFacts>) -> Self {
        Self {
            facts,
            drivers: None,
            nominated: Vec::new(),
            pods: Vec::new(),
            held: Resources::default(),
            with_anti_affinity: 0,
            presence: Presence::Here,
        }
    }

    /// The pods here, in the order in which they came.
    #[must_use]
    pub fn pods(&self) -> &[Arc<PodFacts>] {
        &self.pods
    }

    /// What the pods here hold, summed.
    #[must_use]
    pub fn held(&self) -> &Resources {
        &self.held
    }

    /// The pods here that have required anti-affinity.
    pub fn pods_with_anti_affinity(&self) -> impl Iterator<Item = &Arc<PodFacts>> {
        let pods = if self.with_anti_affinity == 0 {
            &[]
        } else {
            self.pods.as_slice()
        };
        pods.iter()
            .filter(|pod| !pod.template.anti_affinity.is_empty())
    }

    /// This node with one pod more, for a question that changes nothing.
    pub fn add(&mut self, pod: Arc<PodFacts>) {
        self.held.add(pod.held());
        self.with_anti_affinity += usize::from(!pod.template.anti_affinity.is_empty());
        self.pods.push(pod);
    }

    fn remove(&mut self, uid: &str) -> Option<Arc<PodFacts>> {
        let index = self.pods.iter().position(|pod| pod.uid == uid)?;
        let pod = self.pods.remove(index);
        self.held.take(pod.held());
        self.with_anti_affinity -= usize::from(!pod.template.anti_affinity.is_empty());
        Some(pod)
    }
}

/// Claims, volumes and whatever makes them.
#[derive(Debug, Clone, Default)]
pub struct Storage {
    pub claims: BTreeMap<ClaimKey, ClaimFacts>,
    pub volumes: BTreeMap<Text, VolumeFacts>,
    pub classes: BTreeMap<Text, StorageClass>,
    pub drivers: BTreeMap<Text, CsiDriver>,
    pub rooms: Vec<StorageRoom>,
    /// What has been decided for claims that wait for a node, until they say so themselves.
    pub decided: BTreeMap<ClaimKey, VolumeDecision>,
    /// Attachments by node.
    pub attachments: BTreeMap<Text, Vec<Attachment>>,
}

/// The cluster. A clone shares structure: it costs a handful of pointers.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// Labels of namespaces by name.
    pub namespaces: Arc<BTreeMap<Text, Labels>>,
    pub storage: Arc<Storage>,
    pub devices: Arc<Devices>,
    /// The instant of this picture; devices have deadlines by which they must be ready.
    pub now: Time,
    entries: CowVec<Arc<NodeEntry>>,
    /// Where each node that has ever been seen is in `entries`.
    places: Arc<BTreeMap<Text, usize>>,
    /// Nodes with pods that have required anti-affinity.
    with_anti_affinity: Arc<BTreeSet<Text>>,
    /// For each claim the nodes of the pods that name it, once for each time.
    claim_users: Arc<BTreeMap<ClaimKey, Vec<Text>>>,
}

impl Cluster {
    /// Every node, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeEntry> {
        let entries = self.places.values().map(|&place| self.entry(place));
        entries.filter(|entry| entry.presence == Presence::Here)
    }

    /// The node called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeEntry> {
        let entry = self.entry(*self.places.get(name)?);
        (entry.presence == Presence::Here).then_some(entry)
    }

    /// Nodes with pods that have required anti-affinity, by name.
    pub fn nodes_with_anti_affinity(&self) -> impl Iterator<Item = &NodeEntry> {
        let names = self.with_anti_affinity.iter();
        names.filter_map(|name| self.node(name))
    }

    /// Adds a node, or gives the one of that name other facts. Pods that were seen there before the
    /// node was, or while it had gone, are on it.
    pub fn set_node(&mut self, facts: Arc<NodeFacts>) {
        let place = self.place_of(&facts.name);
        let entry = self.entry_mut(place);
        if entry.presence == Presence::Here && entry.facts == facts {
            return;
        }
        entry.facts = facts;
        entry.presence = Presence::Here;
    }

    /// Gives the node called `name` its CSI drivers.
    pub fn set_drivers(&mut self, name: &str, drivers: Option<Arc<NodeDrivers>>) {
        let place = self.place_of(name);
        self.entry_mut(place).drivers = drivers;
    }

    /// Promises a pod a place on the node called `name`, as preemption does.
    pub fn nominate(&mut self, name: &str, pod: Arc<PodFacts>) {
        let place = self.place_of(name);
        self.entry_mut(place).nominated.push(pod);
    }

    /// Takes the promise to the pod with this UID back.
    pub fn unnominate(&mut self, name: &str, uid: &str) {
        let place = self.place_of(name);
        self.entry_mut(place).nominated.retain(|pod| pod.uid != uid);
    }

    /// Takes a node away. Its pods stay with it for as long as they are not taken away themselves.
    pub fn remove_node(&mut self, name: &str) {
        if self.node(name).is_some() {
            let place = self.place_of(name);
            self.entry_mut(place).presence = Presence::Gone;
        }
    }

    /// Puts a running pod on the node called `name`.
    pub fn add_pod(&mut self, name: &str, pod: Arc<PodFacts>) {
        let place = self.place_of(name);
        let name = self.entry(place).facts.name.clone();
        self.change_users(&pod, |users| users.push(name.clone()));
        if !pod.template.anti_affinity.is_empty() {
            Arc::make_mut(&mut self.with_anti_affinity).insert(name);
        }
        self.entry_mut(place).add(pod);
    }

    /// Takes the pod with this UID off the node called `name`.
    pub fn remove_pod(&mut self, name: &str, uid: &str) {
        let place = self.place_of(name);
        let entry = self.entry_mut(place);
        let Some(pod) = entry.remove(uid) else { return };
        let is_last = !pod.template.anti_affinity.is_empty() && entry.with_anti_affinity == 0;
        if is_last {
            Arc::make_mut(&mut self.with_anti_affinity).remove(name);
        }
        self.change_users(&pod, |users| {
            if let Some(index) = users.iter().position(|user| *user == name) {
                users.swap_remove(index);
            }
        });
    }

    fn allocate_volumes(&mut self, name: &str, pod: &PodFacts) {
        if pod.template.volumes.is_empty() {
            return;
        }
        let Some(node) = self.node(name) else { return };
        let decided = volume_binding::decide(&self.storage, pod, &node.facts);
        if !decided.is_empty() {
            Arc::make_mut(&mut self.storage).decided.extend(decided);
        }
    }

    /// Gives the device claims of a pod that is to run on the node called `name` what the filter finds
    /// for them there, and the pod a claim for extended resources that devices stand for.
    pub fn allocate(&mut self, name: &str, pod: &PodFacts) {
        self.allocate_volumes(name, pod);
        if pod.template.device_claims.is_empty() && pod.template.containers.is_empty() {
            return;
        }
        let Some(node) = self.node(name) else { return };
        let decided = dynamic_resources::decide(self, pod, &node.facts);
        if decided.claims.is_empty() && decided.made.is_none() {
            return;
        }
        let devices = Arc::make_mut(&mut self.devices);
        for (key, allocation) in decided.claims {
            devices.allocate(&key, allocation);
        }
        if let Some(claim) = decided.made {
            devices.set_claim(claim);
        }
    }

    /// Takes back what has been decided for the claims of a pod, and not been carried out.
    pub fn take_back(&mut self, pod: &PodFacts) {
        for key in pod.volume_claims() {
            if self.storage.decided.contains_key(&key) {
                Arc::make_mut(&mut self.storage).decided.remove(&key);
            }
        }
        if !pod.template.containers.is_empty() {
            let key = extended::claim_key(pod);
            if self.devices.is_decided(&key) {
                Arc::make_mut(&mut self.devices).remove_claim(&key);
            }
        }
        for key in pod.device_claim_keys() {
            if self.devices.is_decided(&key) {
                Arc::make_mut(&mut self.devices).take_back(&key);
            }
        }
    }

    /// Whether a running pod uses the claim by its name.
    #[must_use]
    pub fn is_claim_used(&self, key: &ClaimKey) -> bool {
        let users = self.claim_users.get(key);
        users.is_some_and(|users| users.iter().any(|name| self.node(name).is_some()))
    }

    /// The names of the namespaces whose labels pass.
    pub fn namespaces_where(&self, passes: impl Fn(&Labels) -> bool) -> BTreeSet<Text> {
        let chosen = self.namespaces.iter().filter(|(_, labels)| passes(labels));
        chosen.map(|(name, _)| name.clone()).collect()
    }

    fn entry(&self, place: usize) -> &NodeEntry {
        self.entries.get(place).expect("places are of entries")
    }

    fn entry_mut(&mut self, place: usize) -> &mut NodeEntry {
        let entry = self.entries.get_mut(place);
        Arc::make_mut(entry.expect("places are of entries"))
    }

    /// The place of a node, which may have yet to be seen.
    fn place_of(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let facts = NodeFacts {
            name: Text::from(name),
            ..NodeFacts::default()
        };
        let entry = NodeEntry {
            presence: Presence::Gone,
            ..NodeEntry::new(Arc::new(facts))
        };
        let place = self.entries.push(Arc::new(entry));
        Arc::make_mut(&mut self.places).insert(Text::from(name), place);
        place
    }

    fn change_users(&mut self, pod: &PodFacts, change: impl Fn(&mut Vec<Text>)) {
        for volume in &pod.template.volumes {
            let PodVolume::Claim { name } = volume else {
                continue;
            };
            let key = ClaimKey {
                namespace: pod.namespace.clone(),
                name: name.clone(),
            };
            let all = Arc::make_mut(&mut self.claim_users);
            let users = all.entry(key.clone()).or_default();
            change(users);
            if users.is_empty() {
                all.remove(&key);
            }
        }
    }
}
