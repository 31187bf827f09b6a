//! Namespaces that use GPUs without any limit.

use std::collections::BTreeMap;

use crate::dump::Object;
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BX010",
    name: "namespace-without-quota",
    family: Family::Tenancy,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod), Need::Every(Kind::ResourceQuota)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Namespaces whose pods use GPUs and which have no quota, in clusters where other namespaces have one.

## Why it matters
Limits of the others mean nothing while one namespace may take every GPU that is left.

## How it is decided
Pods with GPUs run in the namespace, it has no ResourceQuota and no LocalQueue of Kueue, and at least one other namespace has a ResourceQuota. Where nobody has one, the site limits otherwise or not at all, and nothing is said. Namespaces of the system are left out.

## Fix
Give the namespace a quota with `requests.nvidia.com/gpu`.

## False positives
Sites that limit by another scheduler's queues.

## References
Kubernetes documentation, resource quotas.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    if objects.resource_quotas.is_empty() {
        return;
    }
    let mut users: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in objects.pods.iter().filter(|pod| !pod.is_finished()) {
        if gpus::held(&pod.spec) > 0 && !gpus::is_of_system(pod.meta()) {
            users.entry(&pod.meta().namespace).or_default().push(pod);
        }
    }
    for (namespace, pods) in users {
        let has_quota = objects
            .resource_quotas
            .iter()
            .map(Object::meta)
            .chain(objects.local_queues.iter().map(Object::meta))
            .any(|limit| limit.namespace == namespace);
        if has_quota {
            continue;
        }
        let total: i64 = pods.iter().map(|pod| gpus::held(&pod.spec)).sum();
        let message = format!(
            "its {} pod(s) use {total} GPU(s), and no quota limits them",
            pods.len()
        );
        let finding = out.report(Subject::new("Namespace", "", namespace), message);
        for pod in pods {
            finding.saw(
                pod.meta(),
                "spec.containers[].resources",
                format!("{} GPU(s)", gpus::held(&pod.spec)),
            );
        }
        finding.fix(
            Applicability::Safe,
            "give the namespace a quota with requests.nvidia.com/gpu",
        );
    }
}
