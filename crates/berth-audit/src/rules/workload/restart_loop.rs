//! Pods that hold GPUs while they crash again and again.

use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BW005",
    name: "gpu-held-by-restart-loop",
    family: Family::Workload,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods with GPUs of which a container has crashed at least five times and waits for its next start.

## Why it matters
Between two starts, which are up to five minutes apart, the pod keeps its GPUs and uses none of them.

## How it is decided
A container waits with `CrashLoopBackOff`, its restart count is at least 5, and the pod asks for GPUs. How it ended the last time is shown.

## Fix
Repair it, or scale it to zero until somebody can; `restartPolicy: Never` with a Job's `backoffLimit` gives the GPUs back by itself.

## False positives
None known.

## References
Kubernetes documentation, pod lifecycle and container restart policy.
";

/// Below this a container may still be waiting for something that starts beside it.
const RESTARTS_MIN: i64 = 5;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for pod in cx.dump.objects.pods.iter().filter(|pod| !pod.is_finished()) {
        let n = gpus::held(&pod.spec);
        let status = &pod.status;
        let mut all = status
            .container_statuses
            .iter()
            .chain(&status.init_container_statuses);
        let looping = all.find(|container| {
            let waits = container.state.waiting.as_ref();
            waits.is_some_and(|why| why.reason == "CrashLoopBackOff")
                && container.restart_count.0 >= RESTARTS_MIN
        });
        let Some(container) = looping.filter(|_| n > 0) else {
            continue;
        };
        let times = container.restart_count.0;
        let message = format!(
            "it holds {n} GPU(s) although {} has crashed {times} times",
            container.name
        );
        let finding = out.report(pod.meta(), message);
        let path = format!("status.containerStatuses[{}]", container.name);
        finding.saw(pod.meta(), &format!("{path}.restartCount"), times);
        if let Some(ended) = &container.last_state.terminated {
            let value = format!("{} (exit code {})", ended.reason, ended.exit_code.0);
            finding.saw(pod.meta(), &format!("{path}.lastState.terminated"), value);
        }
        finding.fix(
            Applicability::Manual,
            "repair it, or scale it to zero until somebody can",
        );
    }
}
