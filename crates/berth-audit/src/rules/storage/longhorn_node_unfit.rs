//! Nodes of Longhorn that lack what its volumes need.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS020",
    name: "longhorn-node-unfit",
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
Nodes on which Longhorn reports that packages, kernel modules or mount propagation are missing, or that multipathd takes its devices.

## Why it matters
Volumes on such a node fail to attach or mount, and with multipathd they are held busy and pods hang in ContainerCreating. A drain then moves the fault to the last good node.

## How it is decided
Conditions `RequiredPackages`, `KernelModulesLoaded`, `MountPropagation` and `Multipathd` of the LonghornNode with the status `False`. `Ready` and `Schedulable` follow the Kubernetes node and are left out.

## Fix
Install `open-iscsi` and load `iscsi_tcp` (and `dm_crypt` for encrypted volumes); keep multipathd off Longhorn's devices with a blacklist in `/etc/multipath.conf`.

## False positives
Modules that only encrypted volumes or the second engine need, where neither is used.

## References
Longhorn `node_types.go`; Longhorn knowledge base, multipathd.
";

/// Conditions that say that something is missing when they are `False`.
const NEEDED: [&str; 4] = [
    "RequiredPackages",
    "KernelModulesLoaded",
    "MountPropagation",
    "Multipathd",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for node in &cx.dump.objects.longhorn_nodes {
        let missing = node.status.conditions.iter().filter(|condition| {
            condition.status == "False" && NEEDED.iter().any(|needed| condition.kind == *needed)
        });
        let missing: Vec<_> = missing.collect();
        if missing.is_empty() {
            continue;
        }
        let kinds: Vec<&str> = missing
            .iter()
            .map(|condition| condition.kind.as_str())
            .collect();
        let finding = out.report(
            node.meta(),
            format!("it does not meet {}", kinds.join(", ")),
        );
        for condition in missing {
            let path = format!("status.conditions[{}]", condition.kind);
            finding.saw(
                node.meta(),
                &path,
                format!("{}: {}", condition.reason, condition.message),
            );
        }
        finding.fix(
            Applicability::Safe,
            "install open-iscsi, load the modules that are named, and keep multipathd off Longhorn's devices",
        );
    }
}
