//! Jobs of which some pods hold GPUs while others still wait for a node.

use std::collections::BTreeMap;

use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;
use crate::rules::gpu::stack::{gpu_requests, is_waiting};

pub(super) const RULE: Rule = Rule {
    code: "BQ004",
    name: "part-of-gang-holds-gpus",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Distributed training jobs of which a part runs and holds GPUs and the rest has waited longer than the grace, without a gang scheduler.

## Why it matters
The part that runs does nothing but wait, and two such jobs can hold each other up for ever.

## How it is decided
Pods with one value of `training.kubeflow.org/job-name`, `jobset.sigs.k8s.io/jobset-name` or `volcano.sh/job-name`: some run with GPUs, some wait with GPUs since longer than `leak-grace`.

## Fix
Let a gang scheduler or Kueue admit the job as a whole.

## False positives
Elastic jobs, which run on fewer members by design.

## References
Volcano issue 3373; scheduler-plugins issues 114, 117; Kubernetes KEP-4671.
";

/// Labels that all pods of one job share.
const JOB_LABELS: [&str; 3] = [
    "training.kubeflow.org/job-name",
    "jobset.sigs.k8s.io/jobset-name",
    "volcano.sh/job-name",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut jobs: BTreeMap<(&str, &str), Vec<&Pod>> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| !pod.is_finished() && !gpu_requests(pod).is_empty()) {
        let label = JOB_LABELS.iter().map(|label| pod.meta().label(label));
        if let Some(job) = label.into_iter().find(|job| !job.is_empty()) {
            jobs.entry((&pod.meta().namespace, job))
                .or_default()
                .push(pod);
        }
    }
    for ((namespace, job), pods) in jobs {
        let (waiting, placed): (Vec<&Pod>, Vec<&Pod>) =
            pods.iter().partition(|pod| is_waiting(pod));
        let is_long = waiting.iter().any(|pod| {
            let age = pod.meta().age(cx.now);
            age.is_none_or(|age| age > cx.settings.leak_grace)
        });
        if placed.is_empty() || !is_long {
            continue;
        }
        let n_held: i64 = placed
            .iter()
            .flat_map(|pod| gpu_requests(pod).into_values())
            .sum();
        let message = format!(
            "{} of {} pods hold {n_held} GPUs while {} wait for a node",
            placed.len(),
            pods.len(),
            waiting.len()
        );
        let finding = out.report(Subject::new("Job", namespace, job), message);
        for pod in waiting {
            finding.saw(pod.meta(), "status.phase", &pod.status.phase);
        }
        for pod in placed {
            finding.saw(pod.meta(), "spec.nodeName", &pod.spec.node_name);
        }
        finding.fix(
            Applicability::Manual,
            "have the job admitted as a whole, by a gang scheduler or by Kueue",
        );
    }
}
