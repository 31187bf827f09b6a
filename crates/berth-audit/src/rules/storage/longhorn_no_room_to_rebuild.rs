//! A Longhorn cluster that cannot rebuild the replicas of a lost node.

use super::longhorn::{number, setting};
use crate::dump::kind::longhorn::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS005",
    name: "longhorn-no-room-to-rebuild",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::LonghornNode),
        Need::Some(Kind::LonghornSetting),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Longhorn clusters in which the replicas of the fullest node do not fit on the others.

## Why it matters
After the loss of that node its volumes stay degraded until it comes back, because no replica can be scheduled: `insufficient storage`. The next failure loses data.

## How it is decided
A disk takes replicas up to (maximum - reserved) times `storage-over-provisioning-percentage` (its default was 200 and is 100, so the setting must be in the dump). The room left on the disks of the other nodes that allow scheduling is compared with what is scheduled on the fullest. That a volume's replicas may not share a node is left out, so this is the hopeful view.

## Fix
Add disks, delete volumes and old snapshots, or lower the replica count of what can be made again. Raising the over-provisioning only moves the fault to full disks.

## False positives
Clusters that never rebuild on purpose, such as two nodes with two replicas.

## References
Longhorn `best-practices.md`; Longhorn issues 2067, 10210.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let over = setting(cx, "storage-over-provisioning-percentage");
    let Some(percent) = over.and_then(number) else {
        out.not_assessable(
            "no readable storage-over-provisioning-percentage among Longhorn's settings",
        );
        return;
    };
    let nodes: Vec<Room<'_>> = cx
        .dump
        .objects
        .longhorn_nodes
        .iter()
        .map(|node| Room::of(node, percent))
        .collect();
    if nodes.len() < 2 {
        return;
    }
    let Some(fullest) = nodes.iter().max_by_key(|room| room.scheduled) else {
        return;
    };
    let name = &fullest.node.meta().name;
    let others = nodes.iter().filter(|room| room.node.meta().name != *name);
    let free: i64 = others.map(|room| room.free).sum();
    if fullest.scheduled <= free {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        format!(
            "if {name} is lost, {} of replicas look for room and the other nodes have {}",
            gb(fullest.scheduled),
            gb(free)
        ),
    );
    for room in &nodes {
        finding.saw(
            room.node.meta(),
            "status.diskStatus",
            format!(
                "{} scheduled, of at most {}",
                gb(room.scheduled),
                gb(room.scheduled.saturating_add(room.free))
            ),
        );
    }
    if let Some(over) = over {
        finding.saw(over.meta(), "value", &over.value);
    }
    finding.fix(
        Applicability::Manual,
        "add disks, delete volumes and snapshots, or keep fewer replicas of what can be made again",
    );
}

/// What a node holds and may still take, in bytes.
struct Room<'a> {
    node: &'a Node,
    scheduled: i64,
    free: i64,
}

impl<'a> Room<'a> {
    fn of(node: &'a Node, percent: i64) -> Self {
        let mut room = Self {
            node,
            scheduled: 0,
            free: 0,
        };
        for (name, status) in node.status.disk_status.iter() {
            let scheduled = status.storage_scheduled.0;
            room.scheduled = room.scheduled.saturating_add(scheduled);
            let Some(disk) = node.spec.disks.get(name) else {
                continue;
            };
            if !disk.allow_scheduling.0 || !node.spec.allow_scheduling.0 {
                continue;
            }
            let usable = status
                .storage_maximum
                .0
                .saturating_sub(disk.storage_reserved.0)
                .max(0);
            let limit = usable / 100 * percent;
            room.free = room
                .free
                .saturating_add(limit.saturating_sub(scheduled).max(0));
        }
        room
    }
}

fn gb(bytes: i64) -> String {
    format!("{} GB", bytes / 1_000_000_000)
}
