//! The cluster as filters see it: nodes with their pods, namespaces, storage.
//!
//! Invariant: nodes are sorted by name, and what is summed over a node's pods is what its pods
//! hold; whoever adds or removes a pod does it through this module. Not here: anything that waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::facts::Text;
use super::facts::inventory::Devices;
use super::facts::label::Labels;
use super::facts::node::{NodeDrivers, NodeFacts};
use super::facts::pod::PodFacts;
use super::facts::resources::Resources;
use super::facts::storage::{
    Attachment, ClaimFacts, ClaimKey, CsiDriver, PodVolume, StorageClass, StorageRoom, VolumeFacts,
};
use crate::time::Time;

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
        pods.iter().filter(|pod| !pod.anti_affinity.is_empty())
    }

    /// This node with one pod more, for a question that changes nothing.
    pub fn add(&mut self, pod: Arc<PodFacts>) {
        self.held.add(pod.held());
        self.with_anti_affinity += usize::from(!pod.anti_affinity.is_empty());
        self.pods.push(pod);
    }

    fn remove(&mut self, uid: &str) -> Option<Arc<PodFacts>> {
        let index = self.pods.iter().position(|pod| pod.uid == uid)?;
        let pod = self.pods.remove(index);
        self.held.take(pod.held());
        self.with_anti_affinity -= usize::from(!pod.anti_affinity.is_empty());
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
    /// Attachments by node.
    pub attachments: BTreeMap<Text, Vec<Attachment>>,
}

/// The cluster.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    /// Labels of namespaces by name.
    pub namespaces: BTreeMap<Text, Labels>,
    pub storage: Storage,
    pub devices: Devices,
    /// The instant of this picture; devices have deadlines by which they must be ready.
    pub now: Time,
    nodes: Vec<NodeEntry>,
    /// How many volumes of running pods name each claim.
    claim_users: BTreeMap<ClaimKey, usize>,
}

impl Cluster {
    /// Every node, by name.
    #[must_use]
    pub fn nodes(&self) -> &[NodeEntry] {
        &self.nodes
    }

    /// The node called `name`.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&NodeEntry> {
        let index = self.index(name).ok()?;
        Some(&self.nodes[index])
    }

    /// The node called `name`, to be given other facts, drivers or nominated pods.
    pub fn node_mut(&mut self, name: &str) -> Option<&mut NodeEntry> {
        let index = self.index(name).ok()?;
        Some(&mut self.nodes[index])
    }

    /// Adds a node, or gives the one of that name other facts.
    pub fn set_node(&mut self, facts: Arc<NodeFacts>) {
        match self.index(&facts.name) {
            Ok(index) => self.nodes[index].facts = facts,
            Err(index) => self.nodes.insert(index, NodeEntry::new(facts)),
        }
    }

    /// Takes a node away, with its pods.
    pub fn remove_node(&mut self, name: &str) {
        if let Ok(index) = self.index(name) {
            let entry = self.nodes.remove(index);
            for pod in entry.pods {
                self.count_claims(&pod, |users| users.saturating_sub(1));
            }
        }
    }

    /// Puts a running pod on the node called `name`; nothing happens if there is no such node.
    pub fn add_pod(&mut self, name: &str, pod: Arc<PodFacts>) {
        let Ok(index) = self.index(name) else {
            return;
        };
        self.count_claims(&pod, |users| users + 1);
        self.nodes[index].add(pod);
    }

    /// Takes the pod with this UID off the node called `name`.
    pub fn remove_pod(&mut self, name: &str, uid: &str) {
        let Ok(index) = self.index(name) else {
            return;
        };
        if let Some(pod) = self.nodes[index].remove(uid) {
            self.count_claims(&pod, |users| users.saturating_sub(1));
        }
    }

    /// Whether a running pod uses the claim by its name.
    #[must_use]
    pub fn is_claim_used(&self, key: &ClaimKey) -> bool {
        self.claim_users.contains_key(key)
    }

    /// The names of the namespaces whose labels pass.
    pub fn namespaces_where(&self, passes: impl Fn(&Labels) -> bool) -> BTreeSet<Text> {
        let chosen = self.namespaces.iter().filter(|(_, labels)| passes(labels));
        chosen.map(|(name, _)| name.clone()).collect()
    }

    fn index(&self, name: &str) -> Result<usize, usize> {
        self.nodes
            .binary_search_by(|entry| entry.facts.name.as_str().cmp(name))
    }

    fn count_claims(&mut self, pod: &PodFacts, change: impl Fn(usize) -> usize) {
        for volume in &pod.volumes {
            let PodVolume::Claim { name } = volume else {
                continue;
            };
            let key = ClaimKey {
                namespace: pod.namespace.clone(),
                name: name.clone(),
            };
            let users = change(self.claim_users.get(&key).copied().unwrap_or(0));
            if users == 0 {
                self.claim_users.remove(&key);
            } else {
                self.claim_users.insert(key, users);
            }
        }
    }
}
