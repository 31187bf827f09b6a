//! Quotas of Kueue whose sum is more GPUs than the nodes of the flavour have.

use std::collections::BTreeMap;

use super::kueue::quotas;
use crate::dump::kind::kueue::ClusterQueue;
use crate::rule::prelude::*;
use crate::rules::gpu::stack::is_gpu;

pub(super) const RULE: Rule = Rule {
    code: "BQ009",
    name: "cohort-above-capacity",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Every(Kind::ClusterQueue),
        Need::Every(Kind::ResourceFlavor),
        Need::Every(Kind::Node),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Flavours for which all cluster queues together own more GPUs than their nodes offer.

## Why it matters
Kueue admits by quota and not by nodes: the last admitted jobs wait as pods without a node, hold their quota, and nothing is reclaimed for them, since every queue is within its own.

## How it is decided
The sum of `nominalQuota` over all cluster queues by flavour and GPU resource, against what the nodes with the flavour's labels have allocatable; cordoned nodes count.

## Fix
Lower the quotas to what is there, and let queues borrow what others leave.

## False positives
Flavours whose nodes an autoscaler adds; nodes that are away for repair.

## References
Kueue documentation, ResourceFlavor; Kueue issue 5243.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut owned: BTreeMap<(&str, &str), Vec<(&ClusterQueue, i64)>> = BTreeMap::new();
    for queue in &cx.dump.objects.cluster_queues {
        for (flavor, quota) in quotas(queue).filter(|(_, quota)| is_gpu(&quota.name)) {
            let owners = owned.entry((flavor, &quota.name)).or_default();
            owners.push((queue, quota.nominal_quota.units()));
        }
    }
    for ((name, resource), queues) in owned {
        let Some(flavor) = cx.dump.objects.resource_flavors.get("", name) else {
            continue;
        };
        let labels = &flavor.spec.node_labels;
        let nodes = cx.dump.objects.nodes.iter().filter(|node| {
            labels
                .iter()
                .all(|(key, value)| node.meta().labels.get(key) == Some(value))
        });
        let n_there: i64 = nodes.map(|node| node.allocatable(resource)).sum();
        let n_owned: i64 = queues.iter().map(|(_, n_units)| n_units).sum();
        if n_owned <= n_there {
            continue;
        }
        let message = format!(
            "{} queues own {n_owned} of {resource}, the nodes have {n_there}",
            queues.len()
        );
        let finding = out.report(flavor.meta(), message);
        for (queue, n_units) in queues {
            let path = format!("spec.resourceGroups[].flavors[{name}].{resource}.nominalQuota");
            finding.saw(queue.meta(), &path, n_units);
        }
        finding.fix(
            Applicability::Manual,
            format!("lower the quotas by {} in all", n_owned - n_there),
        );
    }
}
