//! `NodeVolumeLimits`: the node's CSI drivers can attach the pod's volumes as well.
//!
//! A volume counts once a node, however many pods use it. Volumes of in-tree plugins count where
//! only their storage class is known; see [`facts::storage`](super::facts::storage).

use std::collections::{BTreeMap, BTreeSet};

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::node::NodeDrivers;
use super::facts::pod::PodFacts;
use super::facts::storage::{ClaimFacts, ClaimKey, PodVolume};
use super::verdict::{Failure, Reason, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodeVolumeLimits",
    reach: Reach::Dynamic,
    prepare,
};

/// In-tree provisioners whose volumes are always made by a CSI driver (KEP-625), and the driver.
const MIGRATED: [(&str, &str); 5] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// In-tree provisioners that have a driver too, but whose volumes this filter leaves out.
const NOT_COUNTED: [&str; 2] = ["kubernetes.io/azure-file", "kubernetes.io/vsphere-volume"];

/// A volume that takes a place in a driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Volume {
    /// It exists, under this handle.
    Known { driver: Text, handle: Text },
    /// It will be made for this claim.
    ToBeMade { driver: Text, claim: ClaimKey },
}

impl Volume {
    fn driver(&self) -> &Text {
        match self {
            Self::Known { driver, .. } | Self::ToBeMade { driver, .. } => driver,
        }
    }
}

#[derive(Debug)]
struct Ready<'a> {
    cluster: &'a Cluster,
    pod: &'a PodFacts,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let has_claim = pod.template.volumes.iter().any(|volume| match volume {
        PodVolume::Claim { .. } | PodVolume::Ephemeral { .. } => true,
        PodVolume::Disk(_) => false,
    });
    if has_claim {
        Outset::Judge(Box::new(Ready { cluster, pod }))
    } else {
        Outset::Idle
    }
}

/// Whose volumes are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The pod's that is to be placed: every claim must exist.
    Waiting,
    /// A running pod's: a claim that has gone doesn't count.
    Running,
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        self.count(node).unwrap_or_else(|verdict| verdict)
    }
}

impl Ready<'_> {
    fn count(&self, node: &NodeEntry) -> Result<Verdict, Verdict> {
        let drivers = node.drivers.as_deref();
        let mut wanted = BTreeSet::new();
        self.collect(self.pod, Whose::Waiting, drivers, &mut wanted)?;
        if let Some(volume) = wanted
            .iter()
            .find(|one| self.is_driver_missing(one, drivers))
        {
            let driver = volume.driver().clone();
            return Ok(Verdict::until_pods_leave(Reason::DriverMissing { driver }));
        }
        let limits = limits(drivers);
        if wanted.is_empty() || limits.is_empty() {
            return Ok(Verdict::Fits);
        }
        let mut attached = BTreeSet::new();
        for pod in node.pods() {
            self.collect(pod, Whose::Running, drivers, &mut attached)?;
        }
        wanted.retain(|volume| !attached.contains(volume));
        self.collect_attachments(node, &mut attached);
        Ok(compare(&wanted, &attached, &limits))
    }

    fn collect(
        &self,
        pod: &PodFacts,
        whose: Whose,
        drivers: Option<&NodeDrivers>,
        into: &mut BTreeSet<Volume>,
    ) -> Result<(), Verdict> {
        for volume in &pod.template.volumes {
            let (name, is_ephemeral) = match volume {
                PodVolume::Claim { name } => (name, false),
                PodVolume::Ephemeral { claim_name } => (claim_name, true),
                PodVolume::Disk(_) => continue,
            };
            if name.is_empty() {
                return Err(Verdict::Failed(Failure::ClaimWithoutName));
            }
            let key = ClaimKey {
                namespace: pod.namespace.clone(),
                name: name.clone(),
            };
            let Some(claim) = self.cluster.storage.claims.get(&key) else {
                match whose {
                    Whose::Running => continue,
                    Whose::Waiting => {
                        return Err(Verdict::whatever_leaves(Reason::ClaimMissing(key)));
                    }
                }
            };
            if is_ephemeral && claim.owner.as_ref() != Some(&pod.uid) {
                return Err(Verdict::Failed(Failure::ClaimOfAnother(key)));
            }
            into.extend(self.volume_of(claim, drivers));
        }
        Ok(())
    }

    /// The volume of a claim, or the one to be made; `None` where no driver is known.
    fn volume_of(&self, claim: &ClaimFacts, drivers: Option<&NodeDrivers>) -> Option<Volume> {
        let storage = &self.cluster.storage;
        if let Some(volume) = storage.volumes.get(&claim.volume) {
            let source = volume.csi.as_ref()?;
            let (driver, handle) = (source.driver.clone(), source.handle.clone());
            let is_whole = !driver.is_empty() && !handle.is_empty();
            return is_whole.then_some(Volume::Known { driver, handle });
        }
        let provisioner = &storage.classes.get(&claim.class)?.provisioner;
        if provisioner.is_empty() || NOT_COUNTED.contains(&provisioner.as_str()) {
            return None;
        }
        let migrated = MIGRATED.iter().find(|(in_tree, _)| provisioner == in_tree);
        let driver = match migrated {
            None => provisioner.clone(),
            Some((_, driver)) => drivers.map(|_| Text::from(*driver))?,
        };
        let claim = claim.key.clone();
        Some(Volume::ToBeMade { driver, claim })
    }

    /// Whether the driver must be on a node, and isn't (KEP-5030).
    fn is_driver_missing(&self, volume: &Volume, on_node: Option<&NodeDrivers>) -> bool {
        let driver = self.cluster.storage.drivers.get(volume.driver());
        let must = driver.is_some_and(|driver| driver.must_be_on_node);
        let mut there = on_node.iter().flat_map(|node| &node.drivers);
        must && !there.any(|one| one.name == *volume.driver())
    }

    /// Adds volumes that are attached without a pod that uses them.
    fn collect_attachments(&self, node: &NodeEntry, into: &mut BTreeSet<Volume>) {
        let storage = &self.cluster.storage;
        let attachments = storage.attachments.get(&node.facts.name);
        for attachment in attachments.into_iter().flatten() {
            let volume = storage.volumes.get(&attachment.volume);
            let source = volume.and_then(|volume| volume.csi.as_ref());
            if let (Some(source), false) = (source, attachment.driver.is_empty()) {
                into.insert(Volume::Known {
                    driver: attachment.driver.clone(),
                    handle: source.handle.clone(),
                });
            }
        }
    }
}

fn limits(drivers: Option<&NodeDrivers>) -> BTreeMap<&Text, i64> {
    let drivers = drivers.into_iter().flat_map(|node| &node.drivers);
    let limited = drivers.filter_map(|one| one.volumes_max.map(|max| (&one.name, max)));
    limited.collect()
}

fn compare(
    wanted: &BTreeSet<Volume>,
    attached: &BTreeSet<Volume>,
    limits: &BTreeMap<&Text, i64>,
) -> Verdict {
    let of = |volumes: &BTreeSet<Volume>, driver: &Text| {
        volumes.iter().filter(|one| one.driver() == driver).count()
    };
    for (&driver, &volumes_max) in limits {
        let (wanted, attached) = (of(wanted, driver), of(attached, driver));
        let sum = i64::try_from(wanted + attached).unwrap_or(i64::MAX);
        if wanted > 0 && sum > volumes_max {
            return Verdict::until_pods_leave(Reason::VolumeLimit {
                driver: driver.clone(),
                volumes_max,
                attached,
                wanted,
            });
        }
    }
    Verdict::Fits
}
