//! A Ceph pool with more copies than there are places for them.

use crate::rule::prelude::*;
use std::collections::BTreeSet;

pub(super) const RULE: Rule = Rule {
    code: "BS016",
    name: "ceph-pool-cannot-place",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::CephBlockPool), Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Ceph block pools whose number of copies is larger than the number of hosts (or OSDs) to put them on.

## Why it matters
Ceph answers, the pool exists, and writes wait: claims of its classes stay Pending or hang in ContainerCreating. With `failureDomain: host` the hosts count, however many disks they have.

## How it is decided
Running pods with the label `app=rook-ceph-osd` in the pool's namespace are counted by node for the failure domain `host`, singly for `osd`; other domains are not judged. Pending claims of classes whose parameter `pool` is this one are named.

## Fix
Add OSDs on more hosts. For tests only: `failureDomain: osd` or a smaller size.

## False positives
OSDs outside the cluster (an external CephCluster has no such pods, and is not judged), and hosts that restart at this moment.

## References
Rook issue 10504; DeepOps issue 679.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    for pool in &objects.ceph_block_pools {
        let meta = pool.meta();
        let osds = objects.pods.iter().filter(|pod| {
            pod.meta().namespace == meta.namespace
                && pod.meta().label("app") == "rook-ceph-osd"
                && pod.status.phase == "Running"
        });
        let osds: Vec<_> = osds.collect();
        let n_places = match pool.spec.failure_domain.as_str() {
            "" | "host" => osds
                .iter()
                .map(|pod| pod.spec.node_name.as_str())
                .collect::<BTreeSet<_>>()
                .len(),
            "osd" => osds.len(),
            _ => continue,
        };
        let size = pool.spec.replicated.size.0;
        if osds.is_empty() || i64::try_from(n_places).unwrap_or(i64::MAX) >= size {
            continue;
        }
        let domain = if pool.spec.failure_domain == "osd" {
            "OSDs"
        } else {
            "hosts with OSDs"
        };
        let finding = out.report(
            meta,
            format!("it wants {size} copies; {domain}: {n_places}"),
        );
        finding.saw(meta, "spec.replicated.size", size);
        for pod in osds {
            finding.saw(pod.meta(), "spec.nodeName", &pod.spec.node_name);
        }
        let classes = objects.storage_classes.iter().filter(|class| {
            class.provisioner.ends_with(".rbd.csi.ceph.com")
                && class
                    .parameters
                    .get("pool")
                    .is_some_and(|pool| *pool == meta.name)
        });
        let classes: BTreeSet<&str> = classes.map(|class| class.meta().name.as_str()).collect();
        let waiting = objects.claims.iter().filter(|claim| {
            let class = claim.spec.storage_class_name.as_deref().unwrap_or_default();
            claim.status.phase == "Pending" && classes.contains(class)
        });
        for claim in waiting {
            finding.also(claim.meta());
        }
        finding.fix(
            Applicability::Manual,
            "add OSDs on more hosts; for tests only, a smaller size or the failure domain osd",
        );
    }
}
