//! `NodeResourcesFit`: what the pod asks for is free, and so is a pod slot.
//!
//! Not here: resources that a device class stands for on nodes that don't offer them themselves
//! (KEP-5004); those are devices to be allocated.

use arcstr::literal;

use super::cluster::{Cluster, NodeEntry};
use super::facts::Text;
use super::facts::pod::PodFacts;
use super::facts::resources::Resources;
use super::verdict::{Reason, Refusal, Remedy, Shortage, Verdict};
use super::{Filter, Judge, Outset, Reach};

pub(super) const FILTER: Filter = Filter {
    name: "NodeResourcesFit",
    reach: Reach::Dynamic,
    prepare,
};

#[derive(Debug)]
struct Ready<'a> {
    cluster: &'a Cluster,
    requests: &'a Resources,
}

fn prepare<'a>(cluster: &'a Cluster, pod: &'a PodFacts) -> Outset<'a> {
    Outset::Judge(Box::new(Ready {
        cluster,
        requests: &pod.template.requests,
    }))
}

impl Judge for Ready<'_> {
    fn judge(&self, node: &NodeEntry) -> Verdict {
        let mut shortages = Vec::new();
        let slots_used = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
        if slots_used.saturating_add(1) > node.facts.pod_slots {
            shortages.push(Shortage {
                resource: literal!("pods"),
                requested: 1,
                used: slots_used,
                capacity: node.facts.pod_slots,
            });
        }
        // Pods that leave can free slots, whatever their number.
        let hopeless = self.add_shortages(node, &mut shortages);
        if shortages.is_empty() {
            return Verdict::Fits;
        }
        Verdict::Refused(Refusal {
            reason: Reason::Short(shortages),
            remedy: if hopeless {
                Remedy::SomethingElse
            } else {
                Remedy::PodsLeave
            },
        })
    }
}

impl Ready<'_> {
    /// Adds what is short; whether an empty node would be too small as well.
    fn add_shortages(&self, node: &NodeEntry, shortages: &mut Vec<Shortage>) -> bool {
        let (wanted, all, held) = (self.requests, &node.facts.allocatable, node.held());
        let mut hopeless = false;
        let mut compare = |resource: Text, requested: i64, capacity: i64, used: i64| {
            if requested > 0 && requested > capacity.saturating_sub(used) {
                hopeless |= requested > capacity;
                shortages.push(Shortage {
                    resource,
                    requested,
                    used,
                    capacity,
                });
            }
        };
        let cpu = (wanted.cpu.0, all.cpu.0, held.cpu.0);
        compare(literal!("cpu"), cpu.0, cpu.1, cpu.2);
        let memory = (wanted.memory.0, all.memory.0, held.memory.0);
        compare(literal!("memory"), memory.0, memory.1, memory.2);
        let disk = (
            &wanted.ephemeral_storage,
            &all.ephemeral_storage,
            &held.ephemeral_storage,
        );
        compare(literal!("ephemeral-storage"), disk.0.0, disk.1.0, disk.2.0);
        for (name, requested) in wanted.scalars.iter() {
            let capacity = all.scalars.get(name);
            if capacity <= 0 && self.cluster.devices.resources.contains_key(name) {
                continue;
            }
            compare(name.clone(), requested, capacity, held.scalars.get(name));
        }
        hopeless
    }
}
