//! A GPU operator that calls a node ready by a check from before its driver was started again.

use super::stack::gpu_requests;
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG020",
    name: "validation-older-than-driver",
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
Nodes where the driver's pod is younger than the validator's, and pods with a GPU crash.

## Why it matters
The validator leaves flag files that outlive the driver, so the node stays ready while device files are missing.

## How it is decided
Start times of the pods labelled `app: nvidia-operator-validator` and `app: nvidia-driver-daemonset` on one node, and a pod with a GPU there whose container is in `CrashLoopBackOff`.

## Fix
Delete the validator's pod on the node, so that it checks again; then the crashing pods.

## False positives
Pods that crash for a reason of their own.

## References
GPU operator issues 2685, 377.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let validators = cx.dump.objects.pods.iter().filter(|pod| {
        is_operand(pod, "nvidia-operator-validator") && pod.status.phase == "Running"
    });
    for validator in validators {
        let on_node = cx.pods_on(&validator.spec.node_name);
        let driver = on_node
            .iter()
            .find(|pod| is_operand(pod, "nvidia-driver-daemonset"));
        let (Some(driver), Some(validated)) = (driver, validator.status.start_time) else {
            continue;
        };
        let Some(started) = driver
            .status
            .start_time
            .filter(|started| *started > validated)
        else {
            continue;
        };
        let crashing: Vec<&&Pod> = on_node
            .iter()
            .filter(|pod| !gpu_requests(pod).is_empty() && is_crashing(pod))
            .collect();
        if crashing.is_empty() {
            continue;
        }
        let message = format!(
            "the driver started after the validator had looked, and {} pods with a GPU crash",
            crashing.len()
        );
        let finding = out.report(Subject::new("Node", "", &validator.spec.node_name), message);
        for (pod, stamp) in [(validator, validated), (*driver, started)] {
            let value = crate::dump::lenient::Stamp::write(stamp.0);
            finding.saw(pod.meta(), "status.startTime", value);
        }
        for pod in crashing {
            finding.saw(
                pod.meta(),
                "status.containerStatuses[].state.waiting.reason",
                "CrashLoopBackOff",
            );
        }
        finding.fix(
            Applicability::Disruptive,
            "delete the validator's pod on the node so that it checks again, then the pods that crash",
        );
    }
}

fn is_operand(pod: &Pod, app: &str) -> bool {
    pod.meta().label("app") == app
}

fn is_crashing(pod: &Pod) -> bool {
    pod.status.container_statuses.iter().any(|status| {
        let waiting = status.state.waiting.as_ref();
        waiting.is_some_and(|why| why.reason == "CrashLoopBackOff")
    })
}
