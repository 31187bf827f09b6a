//! A GPU operator from before the cluster's version, which no longer comes up on it.

use super::stack::{owner, version};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG014",
    name: "operator-older-than-cluster",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node), Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
The GPU operator 23.x, which the MicroK8s add-on installs unless told otherwise, on Kubernetes 1.33 and later.

## Why it matters
Its pods stay in Init and nodes show no GPU; the add-on still says that it is enabled.

## How it is decided
The version in the tag of the operator's image, against the newest kubelet of the cluster.

## Fix
Install an operator release that names the cluster's version as supported, with the driver it asks for.

## False positives
Builds of one's own.

## References
MicroK8s issues 5229 and 3686; NVIDIA GPU operator documentation, platform support.
";

/// The last major version that is known to fail, and the first minor of Kubernetes it fails on.
const OPERATOR_MAJOR_MAX: u32 = 23;
const KUBERNETES_MINOR_MIN: u32 = 33;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = cx.dump.objects.nodes.iter();
    let newest = nodes
        .filter_map(|node| Some((kubelet_minor(&node.status.node_info.kubelet_version)?, node)))
        .max_by_key(|(minor, _)| *minor);
    let Some((minor, node)) = newest else {
        out.not_assessable("no node tells the version of its kubelet");
        return;
    };
    if minor < KUBERNETES_MINOR_MIN {
        return;
    }
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| !pod.is_finished()) {
        for container in &pod.spec.containers {
            let name = container.image.rsplit('/').next().unwrap_or_default();
            if !name.starts_with("gpu-operator:") {
                continue;
            }
            let Some((major, release, patch)) = version(&container.image) else {
                continue;
            };
            if major > OPERATOR_MAJOR_MAX {
                continue;
            }
            let message = format!(
                "GPU operator {major}.{release}.{patch} does not come up on Kubernetes 1.{minor}"
            );
            let finding = out.report(owner(pod), message);
            finding.saw(pod.meta(), "spec.containers[].image", &container.image);
            finding.saw(
                node.meta(),
                "status.nodeInfo.kubeletVersion",
                &node.status.node_info.kubelet_version,
            );
            finding.fix(
                Applicability::Disruptive,
                "install an operator release that supports the cluster's version, with its driver",
            );
        }
    }
}

/// 33 of `v1.33.4+k3s1`.
fn kubelet_minor(version: &str) -> Option<u32> {
    let rest = version.trim_start_matches('v').strip_prefix("1.")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}
