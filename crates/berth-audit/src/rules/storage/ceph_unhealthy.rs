//! A Ceph cluster that reports checks which cost data or service.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS017",
    name: "ceph-unhealthy",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::CephCluster)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Ceph clusters that raise a health check of those that lead to lost data or stopped writes.

## Why it matters
Ceph says long before what will stop it: full OSDs refuse all writes, inactive placement groups hang their volumes, and a monitor less is a quorum at risk.

## How it is decided
`status.ceph.details` of the CephCluster. Damage, full and inactive data are errors, as is `HEALTH_ERR`; the rest of the list are warnings. Checks that are not in the list (crash notes, missing auto-scaler) are left to Ceph.

## Fix
Follow Ceph's page of the check named; begin with those that are errors.

## False positives
Maintenance that is under way, with `noout` set.

## References
Ceph documentation, health checks; Rook CephCluster status.
";

/// Checks that stop service or mean lost data now.
const GRAVE: [&str; 7] = [
    "MON_DISK_CRIT",
    "OSD_FULL",
    "OSD_SCRUB_ERRORS",
    "PG_AVAILABILITY",
    "PG_DAMAGED",
    "PG_RECOVERY_FULL",
    "POOL_FULL",
];
/// Checks that come before them.
const EARLY: [&str; 16] = [
    "MDS_ALL_DOWN",
    "MDS_SLOW_METADATA_IO",
    "MGR_DOWN",
    "MON_CLOCK_SKEW",
    "MON_DISK_BIG",
    "MON_DISK_LOW",
    "MON_DOWN",
    "OSD_BACKFILLFULL",
    "OSD_DOWN",
    "OSD_HOST_DOWN",
    "OSD_NEARFULL",
    "PG_BACKFILL_FULL",
    "PG_DEGRADED",
    "POOL_NO_REDUNDANCY",
    "SLOW_OPS",
    "TOO_FEW_OSDS",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for cluster in &cx.dump.objects.ceph_clusters {
        let ceph = &cluster.status.ceph;
        if ceph.health.is_empty() {
            out.not_assessable(format!(
                "{} has no status of Ceph",
                cluster.meta().full_name()
            ));
            continue;
        }
        let known = |code: &str| GRAVE.contains(&code) || EARLY.contains(&code);
        let raised: Vec<_> = ceph
            .details
            .iter()
            .filter(|(code, _)| known(code))
            .collect();
        let is_broken = ceph.health == "HEALTH_ERR";
        if raised.is_empty() && !is_broken {
            continue;
        }
        let codes: Vec<&str> = raised.iter().map(|(code, _)| code.as_str()).collect();
        let is_grave = is_broken || codes.iter().any(|code| GRAVE.contains(code));
        let meta = cluster.meta();
        let finding = out.report(
            meta,
            format!("Ceph is {}: {}", ceph.health, codes.join(", ")),
        );
        if is_grave {
            finding.severity(Severity::Error);
        }
        finding.saw(meta, "status.ceph.health", &ceph.health);
        for (code, detail) in raised {
            finding.saw(
                meta,
                &format!("status.ceph.details.{code}"),
                &detail.message,
            );
        }
        if codes.contains(&"MON_CLOCK_SKEW") {
            finding.caused_by_any("BH009");
        }
        finding.fix(
            Applicability::Manual,
            "follow Ceph's page of health checks, the errors first",
        );
    }
}
