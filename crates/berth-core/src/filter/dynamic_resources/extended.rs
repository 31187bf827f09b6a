//! Extended resources that device classes stand for (KEP-5004): the claim that a pod would need.
//!
//! Invariant: a resource that the node offers by itself is not asked of devices. Init containers that
//! end may use what containers after them will use, so only what exceeds that is asked for.

use std::collections::BTreeMap;

use arcstr::format as text;

use crate::filter::cluster::Cluster;
use crate::filter::facts::Text;
use crate::filter::facts::device::{Access, Ask, Choice, ContainerAsk, Request, Wanted};
use crate::filter::facts::node::NodeFacts;
use crate::filter::facts::pod::PodFacts;
use crate::filter::facts::storage::ClaimKey;

/// The prefix of the resource that stands for a class by its name.
const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// The claim that stands for the extended resources of a pod: named after it, so that a second
/// attempt finds the first.
#[must_use]
pub fn claim_key(pod: &PodFacts) -> ClaimKey {
    /// Beyond this a name is cut, so that the whole is a name that Kubernetes takes.
    const POD_NAME_MAX: usize = 200;
    let name = pod.name.get(..POD_NAME_MAX).unwrap_or(&pod.name);
    let uid = pod.uid.get(..8).unwrap_or(&pod.uid);
    ClaimKey {
        namespace: pod.namespace.clone(),
        name: text!("{name}-extended-resources-{uid}"),
    }
}

/// Whether the pod asks for a resource that a class stands for.
pub(super) fn concerns(cluster: &Cluster, pod: &PodFacts) -> bool {
    let mut asked = pod.template.requests.scalars.iter();
    asked.any(|(name, amount)| {
        amount != 0 && is_extended(name) && cluster.devices.resources.contains_key(name)
    })
}

fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    !is_native || name.starts_with(CLASS_PREFIX)
}

/// The resources that devices have to provide on this node, and their classes; `None` if the node
/// can't provide some resource in any way.
pub(super) fn for_node<'a>(
    cluster: &'a Cluster,
    pod: &'a PodFacts,
    node: &NodeFacts,
) -> Option<BTreeMap<&'a Text, &'a Text>> {
    let mut by_devices = BTreeMap::new();
    for (name, amount) in pod.template.requests.scalars.iter() {
        if amount == 0 || !is_extended(name) {
            continue;
        }
        let class = cluster.devices.resources.get(name);
        let is_listed = node
            .allocatable
            .scalars
            .iter()
            .any(|(known, _)| known == name);
        match class {
            Some(class) if node.allocatable.scalars.get(name) == 0 => {
                by_devices.insert(name, class);
            }
            None if !is_listed => return None,
            Some(_) | None => {}
        }
    }
    Some(by_devices)
}

/// The requests of the claim, by name.
pub(super) fn requests(pod: &PodFacts, by_devices: &BTreeMap<&Text, &Text>) -> Vec<Request> {
    let mut requests = Vec::new();
    for (resource, class) in by_devices {
        let lasting: Vec<(usize, i64)> = pod
            .template
            .containers
            .iter()
            .filter(|one| !one.is_short_lived)
            .filter_map(|one| {
                let (count, place) = asked(one, resource)?;
                requests.push(request(one.index, place, count, class));
                Some((one.index, count))
            })
            .collect();
        let short = pod
            .template
            .containers
            .iter()
            .filter(|one| one.is_short_lived);
        let extra = short.filter_map(|one| {
            let (count, place) = asked(one, resource)?;
            let later = lasting.iter().filter(|(index, _)| *index >= one.index);
            let reusable: i64 = later.map(|(_, count)| count).sum();
            (count > reusable).then(|| (one.index, place, count - reusable))
        });
        // Of several that ask for the same, the first counts.
        let mut most: Option<(usize, usize, i64)> = None;
        for one in extra {
            if most.is_none_or(|most| most.2 < one.2) {
                most = Some(one);
            }
        }
        if let Some((index, place, count)) = most {
            requests.push(request(index, place, count, class));
        }
    }
    requests.sort_by(|a, b| a.name.cmp(&b.name));
    requests
}

fn asked(container: &ContainerAsk, resource: &Text) -> Option<(i64, usize)> {
    let mut resources = container.resources.iter();
    let (_, count, place) = resources.find(|(name, ..)| name == resource)?;
    (*count != 0).then_some((*count, *place))
}

fn request(container: usize, place: usize, count: i64, class: &Text) -> Request {
    Request {
        name: text!("container-{container}-request-{place}"),
        choice: Choice::Exactly(Ask {
            class: class.clone(),
            wanted: Wanted::Count(count),
            access: Access::Use,
            selectors: Box::default(),
            tolerations: Box::default(),
            capacity: Box::default(),
        }),
    }
}
