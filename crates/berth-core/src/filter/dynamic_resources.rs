//! `DynamicResources`: devices for the pod's claims can be had on the node (KEP-4381).
//!
//! Invariant: the answer depends on claims as they are allocated and on slices as drivers publish
//! them; nothing is allocated here. Deliberately not here, since their gates are off in 1.37: derived
//! attributes, lists as attributes, compatibility groups, node-allocatable resources.

mod capacity;
mod constraint;
pub mod extended;
mod pools;
mod search;

use search::{Outcome, Wish, search};

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::device::{
    Access, Allocation, Choice, DeviceClaim, PodClaim, Readiness, Request, Says,
};
use super::facts::node::NodeFacts;
use super::facts::node_selector::NodeSelector;
use super::facts::pod::PodFacts;
use super::facts::storage::ClaimKey;
use super::verdict::{Failure, Reason, Refusal, Verdict};
use super::{Filter, Judge, Outset, Reach};
use crate::time::Time;

pub(super) const FILTER: Filter = Filter {
    name: "DynamicResources",
    reach: Reach::Dynamic,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    cluster: &'a Cluster,
    pod: &'a PodFacts,
    claims: Vec<&'a DeviceClaim>,
    extended: Extended,
}

/// Whether devices may have to stand for extended resources of the pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extended {
    No,
    /// Node by node, as far as the node doesn't offer the resource itself.
    Perhaps,
    /// A claim for that is left over from an earlier attempt; it has to go first.
    LeftOver,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let claims = match claims_of(cluster, pod) {
        Ok(claims) => claims,
        Err(reason) => return Outset::Refused(Refusal::whatever_leaves(reason)),
    };
    let extended = extended_of(cluster, pod);
    if claims.is_empty() && extended == Extended::No {
        return Outset::Idle;
    }
    for claim in &claims {
        match examine(cluster, claim) {
            Ok(()) => {}
            Err(Objection::Refused(reason)) => {
                return Outset::Refused(Refusal::whatever_leaves(reason));
            }
            Err(Objection::Failed(failure)) => return Outset::Failed(failure),
        }
    }
    Outset::Judge(Box::new(Ready {
        cluster,
        pod,
        claims,
        extended,
    }))
}

/// The claims that the pod names, if all are there.
fn claims_of<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Result<Vec<&'a DeviceClaim>, Reason> {
    let mut claims = Vec::new();
    for one in &pod.template.device_claims {
        let key = |name: &Text| ClaimKey {
            namespace: pod.namespace.clone(),
            name: name.clone(),
        };
        let (key, must_own) = match one {
            PodClaim::Named(name) => (key(name), false),
            PodClaim::Made(name) => (key(name), true),
            PodClaim::Pending(name) => return Err(Reason::ClaimMissing(key(name))),
        };
        let Some(claim) = cluster.devices.claims().get(&key) else {
            return Err(Reason::ClaimMissing(key));
        };
        if claim.is_terminating {
            return Err(Reason::ClaimTerminating(key));
        }
        if must_own && claim.owner.as_ref() != Some(&pod.uid) {
            return Err(Reason::ClaimOfAnother(key));
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn extended_of(cluster: &Cluster, pod: &PodFacts) -> Extended {
    if !extended::concerns(cluster, pod) {
        return Extended::No;
    }
    let mut claims = cluster.devices.claims().values();
    let left_over = claims.any(|claim| {
        claim.is_for_extended
            && claim.owner.as_ref() == Some(&pod.uid)
            && !claim.requests.is_empty()
    });
    if left_over {
        Extended::LeftOver
    } else {
        Extended::Perhaps
    }
}

/// What is decided for the claims of a pod.
#[derive(Debug, Default)]
pub(super) struct Decided {
    pub(super) claims: Vec<(ClaimKey, Allocation)>,
    /// The claim that stands for extended resources, which has yet to be made.
    pub(super) made: Option<DeviceClaim>,
}

/// What the pod's claims get on a node that has passed: the devices that the filter found, which are
/// the same as long as nothing has changed. Claims that have theirs are left out.
pub(super) fn decide(cluster: &Cluster, pod: &PodFacts, node: &NodeFacts) -> Decided {
    let claims = claims_of(cluster, pod).unwrap_or_default();
    let extended = extended_of(cluster, pod);
    let ready = Ready {
        cluster,
        pod,
        claims,
        extended,
    };
    let Ok(for_resources) = ready.for_resources(node) else {
        return Decided::default();
    };
    let (claims, wishes) = ready.wishes(for_resources.as_deref());
    if wishes.is_empty() {
        return Decided::default();
    }
    let Ok(Outcome::Found(found)) = search(&cluster.devices, node, &wishes) else {
        return Decided::default();
    };
    let allocation = |wish: usize| {
        let of = |access: Access| {
            let mine = found
                .iter()
                .filter(|one| one.wish == wish && one.access == access);
            mine.map(|one| one.device.clone()).collect()
        };
        Allocation {
            says: Says::Decision,
            devices: of(Access::Use),
            looked_after: of(Access::Admin),
            nodes: Some(NodeSelector::named(node.name.clone())),
            readiness: Readiness::Ready,
        }
    };
    let keys = claims.iter().enumerate();
    let keys = keys.map(|(wish, claim)| (claim.key.clone(), allocation(wish)));
    let made = for_resources.clone().map(|requests| DeviceClaim {
        key: extended::claim_key(pod),
        uid: Text::new(),
        is_terminating: false,
        owner: Some(pod.uid.clone()),
        is_for_extended: true,
        requests: requests.into_boxed_slice(),
        constraints: Box::default(),
        allocation: Some(allocation(claims.len())),
    });
    Decided {
        claims: keys.collect(),
        made,
    }
}

enum Objection {
    Refused(Reason),
    Failed(Failure),
}

/// Whether the classes of a claim without devices exist. Any number of pods may share one that has
/// some.
fn examine(cluster: &Cluster, claim: &DeviceClaim) -> Result<(), Objection> {
    if claim.allocation.is_some() {
        return Ok(());
    }
    let check = |class: &Text| {
        if class.is_empty() {
            Err(Objection::Failed(Failure::UnknownRequest))
        } else if cluster.devices.classes.contains_key(class) {
            Ok(())
        } else {
            let class = class.clone();
            Err(Objection::Refused(Reason::ClassMissing { class }))
        }
    };
    for request in &claim.requests {
        match &request.choice {
            Choice::Exactly(ask) => check(&ask.class)?,
            Choice::FirstAvailable(alternatives) => {
                for (_, ask) in alternatives {
                    check(&ask.class)?;
                }
            }
            Choice::Unknown => {
                return Err(Objection::Refused(Reason::NoDevices));
            }
        }
    }
    Ok(())
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let node: &NodeFacts = &node.facts;
        let for_resources = match self.for_resources(node) {
            Ok(requests) => requests,
            Err(verdict) => return verdict,
        };
        if for_resources.is_none() && self.claims.is_empty() {
            return Verdict::Fits;
        }
        // kube-scheduler looks for devices first and refuses for allocated claims afterwards, so
        // that a failure of the search comes out even then.
        let (_, wishes) = self.wishes(for_resources.as_deref());
        if !wishes.is_empty() {
            match search(&self.cluster.devices, node, &wishes) {
                Ok(Outcome::Found(_)) => {}
                Ok(Outcome::None) => return Verdict::whatever_leaves(Reason::NoDevices),
                Ok(Outcome::NoneAndInvalid) => {
                    return Verdict::whatever_leaves(Reason::PoolInvalid);
                }
                Err(failure) => return Verdict::Failed(failure),
            }
        }
        let allocations = self.claims.iter().filter_map(|one| one.allocation.as_ref());
        let is_usable = |one: &Allocation| is_usable(one, node, self.cluster.now);
        if allocations.into_iter().all(is_usable) {
            Verdict::Fits
        } else {
            Verdict::whatever_leaves(Reason::DevicesElsewhere)
        }
    }
}

impl<'a> Ready<'a> {
    /// What devices are looked for: for the claims without any, and for extended resources.
    fn wishes<'w>(
        &'w self,
        for_resources: Option<&'w [Request]>,
    ) -> (Vec<&'w DeviceClaim>, Vec<Wish<'w>>) {
        let without = |claim: &&&'a DeviceClaim| claim.allocation.is_none();
        let claims: Vec<&DeviceClaim> = self.claims.iter().filter(without).copied().collect();
        let wish = |claim: &&'w DeviceClaim| Wish {
            requests: &claim.requests,
            constraints: &claim.constraints,
        };
        let mut wishes: Vec<Wish<'_>> = claims.iter().map(wish).collect();
        wishes.extend(for_resources.map(|requests| Wish {
            requests,
            constraints: &[],
        }));
        (claims, wishes)
    }

    /// The requests that stand for the pod's extended resources on this node, if there are any to
    /// be made.
    fn for_resources(&self, node: &NodeFacts) -> Result<Option<Vec<Request>>, Verdict> {
        match self.extended {
            Extended::No => return Ok(None),
            Extended::LeftOver => return Err(Verdict::whatever_leaves(Reason::ClaimLeftOver)),
            Extended::Perhaps => {}
        }
        let Some(by_devices) = extended::for_node(self.cluster, self.pod, node) else {
            return Err(Verdict::whatever_leaves(Reason::NoDevices));
        };
        let is_needed = !by_devices.is_empty();
        Ok(is_needed.then(|| extended::requests(self.pod, &by_devices)))
    }
}

/// Whether the node can use allocated devices, and they are or may still become ready.
fn is_usable(allocation: &Allocation, node: &NodeFacts, now: Time) -> bool {
    let nodes = allocation.nodes.as_ref();
    nodes.is_none_or(|nodes| nodes.matches(node.subject()))
        && match allocation.readiness {
            Readiness::Ready => true,
            Readiness::Waiting(until) => until.is_none_or(|until| now <= until),
            Readiness::Failed => false,
        }
}
