//! Longhorn disks that are nearly full.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS022",
    name: "longhorn-disk-nearly-full",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::LonghornNode)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Disks of Longhorn that are used to `disk-full-percent` or more.

## Why it matters
Replicas are sparse and promise more than there is. When the disk is full, every replica on it fails in the same minute, and the rebuilds fill the other disks.

## How it is decided
`storageAvailable` against `storageMaximum`; what is promised to replicas (`storageScheduled`) is shown beside.

## Fix
Delete snapshots and volumes that nobody needs, trim file systems (`recurring job: filesystem-trim`), move replicas to other disks, or add a disk.

## False positives
A disk that is shared with other data on purpose.

## References
Longhorn `best-practices.md`, 1.8, minimal available storage and over-provisioning.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for node in &cx.dump.objects.longhorn_nodes {
        for (name, disk) in node.status.disk_status.iter() {
            let maximum = disk.storage_maximum.0;
            let used = maximum.saturating_sub(disk.storage_available.0);
            if maximum <= 0 || used / (maximum / 100).max(1) < cx.settings.disk_full_percent {
                continue;
            }
            let percent = used / (maximum / 100).max(1);
            let path = node
                .spec
                .disks
                .get(name)
                .map_or("", |disk| disk.path.as_str());
            let finding = out.report(
                node.meta(),
                format!("its disk {name} {path} is used to {percent} %"),
            );
            let place = format!("status.diskStatus.{name}");
            let gb = |bytes: i64| bytes / 1_000_000_000;
            let value = format!(
                "{} of {} GB free, {} GB promised to replicas",
                gb(disk.storage_available.0),
                gb(maximum),
                gb(disk.storage_scheduled.0)
            );
            finding.saw(node.meta(), &place, value);
            finding.fix(
                Applicability::Manual,
                "delete snapshots and volumes that nobody needs, trim file systems, move replicas, or add a disk",
            );
        }
    }
}
