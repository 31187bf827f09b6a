//! `VolumeRestrictions`: disks that exclude each other, and claims for one pod at a time.
//!
//! Only the kinds of disks are compared for which kube-scheduler does so: GCE persistent disks, AWS
//! EBS, iSCSI and Ceph RBD, named in the pod itself.

use std::collections::BTreeSet;

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::pod::PodFacts;
use super::facts::storage::{ClaimKey, Disk, Mount, PodVolume};
use super::verdict::{Reason, Refusal, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "VolumeRestrictions",
    reach: Reach::Dynamic,
    prepare,
};

#[derive(Debug, Clone)]
struct Ready<'a> {
    disks: Vec<&'a Disk>,
    /// The pod's claims with access mode `ReadWriteOncePod`.
    exclusive: BTreeSet<&'a Text>,
    /// How many times running pods use those.
    uses: usize,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    let mut ready = Ready {
        disks: Vec::new(),
        exclusive: BTreeSet::new(),
        uses: 0,
    };
    for volume in &pod.template.volumes {
        match volume {
            PodVolume::Disk(disk) => ready.disks.push(disk),
            PodVolume::Ephemeral { .. } => {}
            PodVolume::Claim { name } => {
                let key = ClaimKey {
                    namespace: pod.namespace.clone(),
                    name: name.clone(),
                };
                let Some(claim) = cluster.storage.claims.get(&key) else {
                    let reason = Reason::ClaimMissing(key);
                    return Outset::Refused(Refusal::whatever_leaves(reason));
                };
                let is_new = claim.access.read_write_once_pod && ready.exclusive.insert(name);
                ready.uses += usize::from(is_new && cluster.is_claim_used(&key));
            }
        }
    }
    if ready.disks.is_empty() && ready.uses == 0 {
        return Outset::Idle;
    }
    Outset::Judge(Box::new(ready))
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let mut others = node.pods().iter().flat_map(|pod| disks(pod));
        if others.any(|other| self.disks.iter().any(|disk| excludes(disk, other))) {
            return Verdict::until_pods_leave(Reason::DiskInUse);
        }
        if self.uses > 0 {
            return Verdict::until_pods_leave(Reason::ClaimInUse);
        }
        Verdict::Fits
    }

    fn add(&mut self, pod: &PodFacts, _node: &NodeEntry) {
        self.uses += self.uses_by(pod);
    }

    fn remove(&mut self, pod: &PodFacts, _node: &NodeEntry) {
        self.uses = self.uses.saturating_sub(self.uses_by(pod));
    }

    fn copy(&self) -> Option<Box<dyn Judge + '_>> {
        Some(Box::new(self.clone()))
    }
}

impl Ready<'_> {
    /// How many volumes of `pod` are claims of these names. The namespace is left out of account
    /// here by kube-scheduler as well.
    fn uses_by(&self, pod: &PodFacts) -> usize {
        let ours = |volume: &&PodVolume| match volume {
            PodVolume::Claim { name } => self.exclusive.contains(name),
            PodVolume::Ephemeral { .. } | PodVolume::Disk(_) => false,
        };
        pod.template.volumes.iter().filter(ours).count()
    }
}

fn disks(pod: &PodFacts) -> impl Iterator<Item = &Disk> {
    pod.template
        .volumes
        .iter()
        .filter_map(|volume| match volume {
            PodVolume::Disk(disk) => Some(disk),
            PodVolume::Claim { .. } | PodVolume::Ephemeral { .. } => None,
        })
}

/// Whether two pods with these disks can't be on one node.
fn excludes(one: &Disk, other: &Disk) -> bool {
    let writes = |mounts: [Mount; 2]| mounts.contains(&Mount::ReadWrite);
    match (one, other) {
        (
            Disk::Gce { name, mount },
            Disk::Gce {
                name: name2,
                mount: mount2,
            },
        ) => name == name2 && writes([*mount, *mount2]),
        (Disk::AwsEbs { volume }, Disk::AwsEbs { volume: volume2 }) => volume == volume2,
        (
            Disk::Iscsi { iqn, mount },
            Disk::Iscsi {
                iqn: iqn2,
                mount: mount2,
            },
        ) => iqn == iqn2 && writes([*mount, *mount2]),
        (
            Disk::Rbd {
                monitors,
                pool,
                image,
                mount,
            },
            Disk::Rbd {
                monitors: monitors2,
                pool: pool2,
                image: image2,
                mount: mount2,
            },
        ) => {
            monitors.iter().any(|monitor| monitors2.contains(monitor))
                && pool == pool2
                && image == image2
                && writes([*mount, *mount2])
        }
        (Disk::Gce { .. } | Disk::AwsEbs { .. } | Disk::Iscsi { .. } | Disk::Rbd { .. }, _) => {
            false
        }
    }
}
