//! Volumes of a host's folder that do not say which host.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS009",
    name: "host-path-without-node",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::PersistentVolume), Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Bound volumes of type `hostPath` without node affinity, in a cluster of several nodes.

## Why it matters
A pod that starts again on another node gets an empty folder of the same name there, and writes on as if nothing had been. Nothing reports it; users find it out.

## How it is decided
`spec.hostPath` without `spec.nodeAffinity`. Volumes that the provisioner `microk8s.io/hostpath` made are reported as errors, since early versions of it left the affinity out.

## Fix
Find the node with the data (the folder is in the evidence), then make the volume anew with `nodeAffinity` for it.

## False positives
Folders that every host mounts from the same file server.

## References
MicroK8s issue 2618; Kubernetes, volumes of type hostPath.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let n_nodes = cx.dump.objects.nodes.len();
    if n_nodes < 2 {
        return;
    }
    for volume in &cx.dump.objects.volumes {
        let spec = &volume.spec;
        let Some(folder) = spec
            .host_path
            .as_ref()
            .filter(|_| spec.node_affinity.is_none())
        else {
            continue;
        };
        if volume.status.phase != "Bound" {
            continue;
        }
        let meta = volume.meta();
        let is_provisioned = [meta.annotation(BY), meta.annotation(BY_OLD)]
            .contains(&Some(MICROK8S))
            || cx
                .dump
                .objects
                .storage_classes
                .get("", &spec.storage_class_name)
                .is_some_and(|class| class.provisioner == MICROK8S);
        let finding = out.report(
            meta,
            format!("it is a folder of one host and {n_nodes} nodes may mount it; another host shows an empty one"),
        );
        if is_provisioned {
            finding.severity(Severity::Error);
            finding.confidence(Confidence::High);
        }
        finding.saw(meta, "spec.hostPath.path", &folder.path);
        finding.saw(meta, "spec.nodeAffinity", "absent");
        let claim = &spec.claim_ref;
        finding.also(Subject::new(
            "PersistentVolumeClaim",
            &claim.namespace,
            &claim.name,
        ));
        finding.fix(
            Applicability::Manual,
            "find the host with the data and make the volume anew with node affinity for it",
        );
    }
}

const MICROK8S: &str = "microk8s.io/hostpath";
const BY: &str = "pv.kubernetes.io/provisioned-by";
const BY_OLD: &str = "hostPathProvisionerIdentity";
