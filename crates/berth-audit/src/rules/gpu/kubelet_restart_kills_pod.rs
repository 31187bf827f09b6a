//! Running pods whose finished init container asked for a GPU.

use super::stack::is_gpu;
use crate::dump::kind::pod::Container;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG021",
    name: "kubelet-restart-kills-pod",
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
Running pods in which an init container that has ended and a main container both ask for a GPU.

## Why it matters
When the kubelet restarts, it asks for the init container's devices again, finds none, and ends the pod with `UnexpectedAdmissionError`.

## How it is decided
Requests of GPU names in plain init containers that have terminated, and in a main container. Sidecars, which go on running, are left out.

## Fix
Take the GPU request out of the init container; do not restart the kubelet under such pods before they have ended.

## False positives
Kubelets with the repair.

## References
Kubernetes issues 124345, 138446 and pull request 127028.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| pod.status.phase == "Running" && pod.meta().deleted.is_none()) {
        if pod
            .spec
            .containers
            .iter()
            .all(|container| gpu_of(container).is_none())
        {
            continue;
        }
        let statuses = &pod.status.init_container_statuses;
        let ended = pod.spec.init_containers.iter().find_map(|container| {
            let is_ended = statuses
                .iter()
                .any(|status| status.name == container.name && status.state.terminated.is_some());
            let is_plain = container.restart_policy != "Always";
            let name = gpu_of(container)?;
            (is_ended && is_plain).then_some((container, name))
        });
        let Some((container, resource)) = ended else {
            continue;
        };
        let message = format!(
            "a restart of the kubelet would end the pod: its finished init container {} asked for {resource}",
            container.name
        );
        let finding = out.report(pod.meta(), message);
        finding.saw(
            pod.meta(),
            &format!(
                "spec.initContainers[{}].requests[{resource}]",
                container.name
            ),
            container.wants(resource),
        );
        finding.fix(
            Applicability::Manual,
            "take the GPU out of the init container at the next start, and spare the kubelet until then",
        );
    }
}

/// A GPU name that a container asks for.
fn gpu_of(container: &Container) -> Option<&str> {
    let resources = &container.resources;
    let mut wanted = resources.requests.iter().chain(resources.limits.iter());
    wanted
        .find(|(name, quantity)| is_gpu(name) && quantity.units() > 0)
        .map(|(name, _)| name.as_str())
}
