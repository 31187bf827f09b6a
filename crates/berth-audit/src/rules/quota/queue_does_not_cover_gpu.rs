//! Work sent to a queue of Kueue that knows nothing of the GPUs it asks for.

use std::collections::BTreeMap;

use crate::dump::kind::pod::PodSpec;
use crate::dump::meta::Meta;
use crate::rule::prelude::*;
use crate::rules::gpu::stack::is_gpu;

pub(super) const RULE: Rule = Rule {
    code: "BQ010",
    name: "queue-does-not-cover-gpu",
    family: Family::Quota,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::LocalQueue), Need::Some(Kind::ClusterQueue)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Jobs and pods with the label `kueue.x-k8s.io/queue-name` that ask for a GPU name which no resource group of their cluster queue covers.

## Why it matters
Kueue never admits them: the job stays suspended, the pod gated.

## How it is decided
Label, local queue of the namespace, its cluster queue, `coveredResources` of its resource groups, against the GPU names that the job's template or the pod asks for.

## Fix
Add the resource with its flavours to a resource group of the cluster queue, or ask for a name that it covers.

## False positives
Resource transformations or excluded prefixes in Kueue's own settings, which map one name to another.

## References
Kueue documentation, ClusterQueue: resource groups.
";

const QUEUE: &str = "kueue.x-k8s.io/queue-name";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    let jobs = objects
        .jobs
        .iter()
        .map(|job| (job.meta(), &job.spec.template.spec));
    let pods = objects.pods.iter().filter(|pod| !pod.is_finished());
    let pods = pods
        .filter(|pod| pod.meta().owners.iter().all(|owner| owner.kind != "Job"))
        .map(|pod| (pod.meta(), &pod.spec));
    let mut missing: BTreeMap<(&str, &str), Vec<(&Meta, &str)>> = BTreeMap::new();
    for (meta, spec) in jobs.chain(pods) {
        let local = meta.label(QUEUE);
        let Some(local) = objects.local_queues.get(&meta.namespace, local) else {
            continue;
        };
        let Some(queue) = objects.cluster_queues.get("", &local.spec.cluster_queue) else {
            continue;
        };
        let covered = |name: &str| {
            let groups = queue.spec.resource_groups.iter();
            groups
                .flat_map(|group| &group.covered_resources)
                .any(|resource| resource == name)
        };
        for name in gpu_names(spec) {
            if !covered(name) {
                let key = (queue.meta().name.as_str(), name);
                missing
                    .entry(key)
                    .or_default()
                    .push((meta, &local.meta().name));
            }
        }
    }
    for ((queue, name), work) in missing {
        let message = format!(
            "{} jobs or pods ask for {name}, which the queue does not cover",
            work.len()
        );
        let finding = out.report(Subject::new("ClusterQueue", "", queue), message);
        for (meta, local) in work {
            finding.saw(meta, &format!("metadata.labels[{QUEUE}]"), local);
        }
        finding.fix(
            Applicability::Manual,
            format!("add {name} with its flavours to a resource group of the queue"),
        );
    }
}

/// GPU names that a pod asks for, each once.
fn gpu_names(spec: &PodSpec) -> Vec<&str> {
    let resources = spec.all_containers().map(|container| &container.resources);
    let mut names: Vec<&str> = resources
        .flat_map(|resources| resources.requests.iter().chain(resources.limits.iter()))
        .filter(|(name, quantity)| is_gpu(name) && quantity.units() > 0)
        .map(|(name, _)| name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
