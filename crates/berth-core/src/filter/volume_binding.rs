//! `VolumeBinding`: bound volumes can be reached, and the rest can be found or made for this node.
//!
//! Claims of classes with `WaitForFirstConsumer` are matched with free volumes, smallest claim first
//! and smallest volume that does, as the volume controllers will; what is left over must be possible
//! to make. Of equal volumes kube-scheduler takes any, here it is the first by name.
//! Not here: the binding itself, which follows the decision.

use std::collections::BTreeSet;

use super::cluster::{Cluster, NodeEntry, Storage};
use super::facts::Text;
use super::facts::exact::Exact;
use super::facts::node::NodeFacts;
use super::facts::pod::PodFacts;
use super::facts::storage::{
    BindingMode, ClaimFacts, ClaimKey, ClaimPhase, PodVolume, StorageClass, VolumeDecision,
    VolumeFacts,
};
use super::verdict::{Reason, Refusal, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "VolumeBinding",
    reach: Reach::Dynamic,
    prepare,
};

/// The provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

#[derive(Debug)]
struct Ready<'a> {
    storage: &'a Storage,
    bound: Vec<&'a ClaimFacts>,
    /// Claims that wait for a node and have none yet, smallest first.
    open: Vec<Open<'a>>,
    /// Claims for which a volume is being made for a node.
    in_making: Vec<(&'a ClaimFacts, &'a Text)>,
    /// Claims for which a volume of a node has been decided on.
    decided: Vec<(&'a ClaimFacts, &'a Text)>,
}

/// A claim that waits for a node, and the volumes that it may get.
#[derive(Debug)]
struct Open<'a> {
    claim: &'a ClaimFacts,
    volumes: Vec<&'a VolumeFacts>,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    match claims_of(&cluster.storage, pod) {
        Err(refusal) => Outset::Refused(refusal),
        Ok(claims) if claims.is_empty() => Outset::Idle,
        Ok(claims) => match sort_out(&cluster.storage, claims) {
            Ok(ready) => Outset::Judge(Box::new(ready)),
            Err(refusal) => Outset::Refused(refusal),
        },
    }
}

/// What the pod's claims that wait for a node get on one that has passed: the volumes that the filter
/// found, or a new one.
pub(super) fn decide(
    storage: &Storage,
    pod: &PodFacts,
    node: &NodeFacts,
) -> Vec<(ClaimKey, VolumeDecision)> {
    let ready = claims_of(storage, pod).and_then(|claims| sort_out(storage, claims));
    let Ok(ready) = ready else {
        return Vec::new();
    };
    let matched = ready.matched(node).into_iter();
    let decided = matched.map(|(claim, volume)| {
        let decision = VolumeDecision {
            node: node.name.clone(),
            volume: volume.map(|volume| volume.name.clone()),
        };
        (claim.key.clone(), decision)
    });
    decided.collect()
}

/// The pod's claims in its order, if all are fit for use.
fn claims_of<'a>(storage: &'a Storage, pod: &'a PodFacts) -> Result<Vec<&'a ClaimFacts>, Refusal> {
    let mut claims = Vec::new();
    for volume in &pod.template.volumes {
        let (name, is_ephemeral) = match volume {
            PodVolume::Claim { name } => (name, false),
            PodVolume::Ephemeral { claim_name } => (claim_name, true),
            PodVolume::Disk(_) => continue,
        };
        let key = ClaimKey {
            namespace: pod.namespace.clone(),
            name: name.clone(),
        };
        let Some(claim) = storage.claims.get(&key) else {
            return Err(Refusal::whatever_leaves(Reason::ClaimMissing(key)));
        };
        let reason = match claim.phase {
            ClaimPhase::Lost => Reason::ClaimLost(key),
            ClaimPhase::Terminating => Reason::ClaimTerminating(key),
            ClaimPhase::Alive if is_ephemeral && claim.owner.as_ref() != Some(&pod.uid) => {
                Reason::ClaimOfAnother(key)
            }
            ClaimPhase::Alive => {
                claims.push(claim);
                continue;
            }
        };
        return Err(Refusal::whatever_leaves(reason));
    }
    Ok(claims)
}

fn sort_out<'a>(storage: &'a Storage, claims: Vec<&'a ClaimFacts>) -> Result<Ready<'a>, Refusal> {
    let mut ready = Ready {
        storage,
        bound: Vec::new(),
        open: Vec::new(),
        in_making: Vec::new(),
        decided: Vec::new(),
    };
    let promised: BTreeSet<&Text> = storage
        .decided
        .values()
        .filter_map(|decision| decision.volume.as_ref())
        .collect();
    for claim in claims {
        let class = storage.classes.get(&claim.class);
        let waits = class.is_some_and(|class| class.binding == BindingMode::WaitForFirstConsumer);
        if !claim.volume.is_empty() && claim.is_bound {
            ready.bound.push(claim);
        } else if !waits || !claim.volume.is_empty() {
            let reason = Reason::ClaimUnbound(claim.key.clone());
            return Err(Refusal::whatever_leaves(reason));
        } else if let Some(decision) = storage.decided.get(&claim.key) {
            ready.decided.push((claim, &decision.node));
        } else if let Some(node) = &claim.selected_node {
            ready.in_making.push((claim, node));
        } else {
            let of_class = |volume: &&VolumeFacts| {
                volume.class == claim.class && !promised.contains(&volume.name)
            };
            let volumes = storage.volumes.values().filter(of_class).collect();
            ready.open.push(Open { claim, volumes });
        }
    }
    ready.open.sort_by_key(|open| size(open.claim));
    Ok(ready)
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let node: &NodeFacts = &node.facts;
        let reason = self.bound_elsewhere(node).or_else(|| {
            let elsewhere = |(_, made_for): &&(&ClaimFacts, &Text)| **made_for != node.name;
            let mut made_elsewhere = self.in_making.iter().chain(&self.decided);
            if let Some((claim, _)) = made_elsewhere.find(elsewhere) {
                return Some(Reason::NoVolume(claim.key.clone()));
            }
            let in_making = self.in_making.iter().map(|(claim, _)| *claim);
            let mut unmade: Vec<&ClaimFacts> = in_making.collect();
            unmade.extend(self.unmatched(node));
            unmade.iter().find_map(|claim| self.unmakable(claim, node))
        });
        reason.map_or(Verdict::Fits, Verdict::whatever_leaves)
    }
}

impl<'a> Ready<'a> {
    /// The first bound volume that is missing or can't be reached.
    fn bound_elsewhere(&self, node: &NodeFacts) -> Option<Reason> {
        self.bound.iter().find_map(|claim| {
            let volume = claim.volume.clone();
            match self.storage.volumes.get(&claim.volume) {
                None => Some(Reason::VolumeMissing { volume }),
                Some(facts) if reaches(facts, node) => None,
                Some(_) => Some(Reason::VolumeElsewhere { volume }),
            }
        })
    }

    /// The claims for which no free volume is left on this node.
    fn unmatched(&self, node: &NodeFacts) -> Vec<&'a ClaimFacts> {
        let matched = self.matched(node).into_iter();
        let left = matched.filter(|(_, volume)| volume.is_none());
        left.map(|(claim, _)| claim).collect()
    }

    /// The volume on this node for each claim that waits for a node.
    fn matched(&self, node: &NodeFacts) -> Vec<(&'a ClaimFacts, Option<&'a VolumeFacts>)> {
        let mut taken: Vec<&Text> = Vec::new();
        let mut matched = Vec::new();
        for open in &self.open {
            let free = open
                .volumes
                .iter()
                .filter(|one| !taken.contains(&&one.name));
            let volume = best_volume(open.claim, free.copied(), node);
            taken.extend(volume.map(|volume| &volume.name));
            matched.push((open.claim, volume));
        }
        matched
    }

    /// Why no volume can be made for `claim` on this node.
    fn unmakable(&self, claim: &ClaimFacts, node: &NodeFacts) -> Option<Reason> {
        let class = self.storage.classes.get(&claim.class);
        let class = class.expect("only claims of a known class wait for a node");
        let is_made_by_hand = class.provisioner.is_empty() || class.provisioner == NO_PROVISIONER;
        if is_made_by_hand || !is_in_topology(class, node) {
            return Some(Reason::NoVolume(claim.key.clone()));
        }
        let has_room = self.has_room(claim, class, node);
        (!has_room).then(|| Reason::NoStorage(claim.key.clone()))
    }

    /// Whether the driver has room, if it says how much it has (KEP-1472).
    fn has_room(&self, claim: &ClaimFacts, class: &StorageClass, node: &NodeFacts) -> bool {
        let driver = self.storage.drivers.get(&class.provisioner);
        let (Some(size), Some(true)) = (claim.size, driver.map(|driver| driver.tracks_capacity))
        else {
            return true;
        };
        self.storage.rooms.iter().any(|room| {
            room.class == class.name
                && room.volume_max.is_some_and(|max| max >= size.units())
                && room
                    .nodes
                    .as_ref()
                    .is_some_and(|nodes| nodes.matches(&node.labels))
        })
    }
}

/// The volume that `claim` gets: one that is promised to it, else the smallest that does.
fn best_volume<'a>(
    claim: &ClaimFacts,
    volumes: impl Iterator<Item = &'a VolumeFacts>,
    node: &NodeFacts,
) -> Option<&'a VolumeFacts> {
    let mut best: Option<&VolumeFacts> = None;
    for volume in volumes {
        let is_promised = volume.is_for(claim);
        if volume.owner.is_some() && !is_promised
            || volume.size < size(claim)
            || volume.mode != claim.mode
            || volume.attributes_class != claim.attributes_class
            || volume.is_terminating
        {
            continue;
        }
        let is_reachable = reaches(volume, node);
        if is_promised {
            return is_reachable.then_some(volume);
        }
        let selects = claim.selector.as_ref();
        let does = volume.is_available
            && selects.is_none_or(|selector| selector.matches(&volume.labels))
            && is_reachable
            && volume.access.include(claim.access);
        if does && best.is_none_or(|best| volume.size < best.size) {
            best = Some(volume);
        }
    }
    best
}

fn size(claim: &ClaimFacts) -> Exact {
    claim.size.unwrap_or(Exact::ZERO)
}

fn reaches(volume: &VolumeFacts, node: &NodeFacts) -> bool {
    let affinity = volume.node_affinity.as_ref();
    affinity.is_none_or(|affinity| affinity.matches(node.labels_only()))
}

fn is_in_topology(class: &StorageClass, node: &NodeFacts) -> bool {
    class.topologies.is_empty()
        || class.topologies.iter().any(|one| {
            !one.is_empty()
                && one
                    .iter()
                    .all(|requirement| requirement.matches(&node.labels))
        })
}
