//! Longhorn replicas that are rebuilt again and again in vain.

use std::collections::BTreeMap;

use super::longhorn::setting;
use crate::dump::kind::longhorn::Replica;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS006",
    name: "longhorn-rebuild-loop",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::LonghornReplica)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes with failed Longhorn replicas whose rebuild has been tried three times or more.

## Why it matters
Each attempt copies the volume again, fills disk and network, and starves the replicas that were healthy, until these fail too.

## How it is decided
Replicas with `failedAt` and `rebuildRetryCount` of at least 3 are grouped by node. The limit of concurrent rebuilds and the CPU guarantee are shown beside: with the limit 5 and a guarantee of 5 % such storms were seen, with 1 and 20 % they ended.

## Fix
Set `concurrent-replica-rebuild-per-node-limit` to 1 or 2, raise `guaranteed-instance-manager-cpu` to 12, and look at network and disk of the node named.

## False positives
A node that was restarted several times in one day.

## References
Longhorn issues 2067, 3683, 1756; Harvester issue 3347.
";

/// Attempts from which a rebuild counts as a loop.
const RETRIES_MAX: i64 = 3;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut by_node: BTreeMap<&str, Vec<&Replica>> = BTreeMap::new();
    for replica in &cx.dump.objects.longhorn_replicas {
        let spec = &replica.spec;
        if !spec.failed_at.is_empty() && spec.rebuild_retry_count.0 >= RETRIES_MAX {
            by_node.entry(&spec.node_id).or_default().push(replica);
        }
    }
    for (node, replicas) in by_node {
        let subject = Subject::new("LonghornNode", &replicas[0].meta().namespace, node);
        let finding = out.report(
            subject,
            format!(
                "{} of its replicas were rebuilt {RETRIES_MAX} times or more in vain",
                replicas.len()
            ),
        );
        for name in [
            "concurrent-replica-rebuild-per-node-limit",
            "guaranteed-instance-manager-cpu",
        ] {
            if let Some(setting) = setting(cx, name) {
                finding.saw(setting.meta(), "value", &setting.value);
            }
        }
        for replica in replicas {
            finding.saw(
                replica.meta(),
                "spec.rebuildRetryCount",
                replica.spec.rebuild_retry_count.0,
            );
        }
        finding.fix(
            Applicability::Safe,
            "set concurrent-replica-rebuild-per-node-limit to 1 or 2 and guaranteed-instance-manager-cpu to 12, then look at the node's network and disks",
        );
    }
}
