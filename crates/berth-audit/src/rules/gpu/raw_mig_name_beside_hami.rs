//! Pods that ask for a MIG profile by name on a node that HAMi serves.

use super::stack::{Plugin, gpu_requests, servers};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG006",
    name: "raw-mig-name-beside-hami",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods on nodes of HAMi that ask for `nvidia.com/mig-...`.

## Why it matters
HAMi reads only its own names: a request by profile is not in its books, so it gives the same slice to somebody else.

## How it is decided
A running HAMi device plugin on the pod's node, and a request that begins with `nvidia.com/mig-`.

## Fix
Ask for `nvidia.com/gpu` with `nvidia.com/gpumem` and let HAMi choose the profile, or keep MIG nodes with NVIDIA's plugin away from HAMi.

## False positives
A node on which MIG cards belong to NVIDIA's plugin and the others to HAMi.

## References
HAMi issue 2564.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for (node, servers) in servers(cx) {
        let Some(hami) = servers.iter().find(|server| server.plugin == Plugin::Hami) else {
            continue;
        };
        for pod in cx.pods_on(node) {
            let requests = gpu_requests(pod);
            let raw = requests
                .iter()
                .find(|(name, _)| name.starts_with("nvidia.com/mig-"));
            let Some((name, n_units)) = raw else {
                continue;
            };
            let message = format!("asks for {name}, which HAMi on node {node} does not count");
            let finding = out.report(pod.meta(), message);
            finding.saw(pod.meta(), &format!("requests[{name}]"), n_units);
            finding.saw(
                hami.pod.meta(),
                "spec.containers[].image",
                &hami.container.image,
            );
            finding.fix(
                Applicability::Manual,
                "ask for nvidia.com/gpu with nvidia.com/gpumem, or use a node without HAMi",
            );
        }
    }
}
