//! `VolumeZone`: the zone and region labels of bound volumes agree with the node's.
//!
//! A node without any such label is not asked. A volume's label may list several zones, separated by
//! two underscores.

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::pod::PodFacts;
use super::facts::storage::{BindingMode, ClaimKey, PodVolume, VolumeFacts};
use super::verdict::{Reason, Refusal, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "VolumeZone",
    reach: Reach::Dynamic,
    prepare,
};

/// The labels that are compared, and the name by which a node may have them instead.
const KEYS: [(&str, &str); 4] = [
    ("failure-domain.beta.kubernetes.io/zone", ZONE),
    ("failure-domain.beta.kubernetes.io/region", REGION),
    (ZONE, ZONE),
    (REGION, REGION),
];
const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";

/// Between the zones of a volume that is in several.
const SEPARATOR: &str = "__";

#[derive(Debug)]
struct Ready<'a> {
    demands: Vec<Demand<'a>>,
}

/// A label of one volume that the node has to agree with.
#[derive(Debug)]
struct Demand<'a> {
    key: &'static str,
    node_key: &'static str,
    values: Vec<&'a str>,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let mut demands = Vec::new();
    for volume in &pod.template.volumes {
        let PodVolume::Claim { name } = volume else {
            continue;
        };
        let key = ClaimKey {
            namespace: pod.namespace.clone(),
            name: name.clone(),
        };
        match volume_of(cluster, key) {
            Err(reason) => return Outset::Refused(Refusal::whatever_leaves(reason)),
            Ok(volume) => demands.extend(volume.into_iter().flat_map(demands_of)),
        }
    }
    if demands.is_empty() {
        Outset::Idle
    } else {
        Outset::Judge(Box::new(Ready { demands }))
    }
}

/// The volume of a claim; `None` while it waits for a node.
fn volume_of(cluster: &Cluster, key: ClaimKey) -> Result<Option<&VolumeFacts>, Reason> {
    let storage = &cluster.storage;
    let Some(claim) = storage.claims.get(&key) else {
        return Err(Reason::ClaimMissing(key));
    };
    if claim.volume.is_empty() {
        if claim.class.is_empty() {
            return Err(Reason::ClaimWithoutClass(key));
        }
        let Some(class) = storage.classes.get(&claim.class) else {
            let class = claim.class.clone();
            return Err(Reason::ClassMissing { class });
        };
        return match class.binding {
            BindingMode::WaitForFirstConsumer => Ok(None),
            BindingMode::Immediate => Err(Reason::ClaimUnbound(key)),
        };
    }
    match storage.volumes.get(&claim.volume) {
        Some(volume) => Ok(Some(volume)),
        None => Err(Reason::VolumeMissing {
            volume: claim.volume.clone(),
        }),
    }
}

fn demands_of(volume: &VolumeFacts) -> impl Iterator<Item = Demand<'_>> {
    KEYS.iter().filter_map(|&(key, node_key)| {
        let text: &Text = volume.labels.get(key)?;
        let values: Vec<&str> = text.split(SEPARATOR).map(str::trim).collect();
        // A list with a hole in it is left out, as by kube-scheduler.
        values
            .iter()
            .all(|value| !value.is_empty())
            .then_some(Demand {
                key,
                node_key,
                values,
            })
    })
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let labels = &node.facts.labels;
        if !KEYS.iter().any(|(key, _)| labels.has(key)) {
            return Verdict::Fits;
        }
        let fails = |demand: &&Demand<'_>| {
            let value = labels
                .get(demand.key)
                .or_else(|| labels.get(demand.node_key));
            value.is_none_or(|value| !demand.values.contains(&value.as_str()))
        };
        match self.demands.iter().find(fails) {
            None => Verdict::Fits,
            Some(demand) => Verdict::whatever_leaves(Reason::Zone {
                key: Text::from(demand.key),
            }),
        }
    }
}
