//! A class of node-local volumes that binds before a pod is scheduled.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS013",
    name: "local-class-binds-at-once",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::StorageClass)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Storage classes of node-local volumes with `volumeBindingMode: Immediate`, which is also what an absent mode means.

## Why it matters
The volume is made on some node before anybody knows where the pod will run. A pod that wants a GPU is then tied to a node whose GPUs may be full, or that has none.

## How it is decided
The provisioner is one of those that are known to make volumes on one node.

## Fix
Make a class with `volumeBindingMode: WaitForFirstConsumer` and use it from now on; the mode of a class cannot be changed. Volumes that exist keep their place.

## False positives
Clusters of one node.

## References
Kubernetes, volume binding mode; local-path-provisioner README; TopoLVM, OpenEBS documentation.
";

/// Provisioners whose volumes lie on one node.
const LOCAL: [&str; 8] = [
    "microk8s.io/hostpath",
    "rancher.io/local-path",
    "openebs.io/local",
    "local.csi.openebs.io",
    "zfs.csi.openebs.io",
    "topolvm.io",
    "hostpath.csi.k8s.io",
    "kubevirt.io.hostpath-provisioner",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    if cx.has_every(Kind::Node) && cx.dump.objects.nodes.len() == 1 {
        return;
    }
    for class in &cx.dump.objects.storage_classes {
        let is_late = class.volume_binding_mode == "WaitForFirstConsumer";
        if is_late || !LOCAL.iter().any(|local| class.provisioner == *local) {
            continue;
        }
        let meta = class.meta();
        let finding = out.report(
            meta,
            "its volumes are made on a node before the pod has one, which ties pods to nodes without free GPUs",
        );
        finding.saw(meta, "provisioner", &class.provisioner);
        let mode = &class.volume_binding_mode;
        finding.saw(
            meta,
            "volumeBindingMode",
            if mode.is_empty() {
                "absent, which means Immediate"
            } else {
                mode
            },
        );
        finding.fix(
            Applicability::Safe,
            "make a class with volumeBindingMode WaitForFirstConsumer and use that one",
        );
    }
}
