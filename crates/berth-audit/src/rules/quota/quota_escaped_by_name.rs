//! Quotas on GPUs that do not name every form in which nodes offer them.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;
use crate::rules::gpu::stack::{gpu_requests, is_gpu};

pub(super) const RULE: Rule = Rule {
    code: "BQ002",
    name: "quota-escaped-by-name",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::ResourceQuota), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Namespaces whose quota limits one GPU name, such as `requests.nvidia.com/gpu`, while nodes offer others (shared, MIG profiles, vGPU types) that no quota there names. Where pods of the namespace hold such a name already, that is an error.

## Why it matters
Kubernetes has no key for all GPUs: each profile is a name of its own, and a new one is without limit until somebody edits every quota.

## How it is decided
GPU names with more than 0 allocatable on some node, less the `requests.` keys of all quotas of the namespace. Namespaces without any quota on a GPU are taken as meant so.

## Fix
Add `requests.NAME` for each name, with 0 where it is not wanted, and keep the list where profiles are made.

## False positives
Admission rules of one's own that bound the other names; Kueue's quotas.

## References
Kubernetes documentation, resource quota for extended resources; KubeVirt user guide, host devices.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = cx.dump.objects.nodes.iter();
    let offered: BTreeSet<&str> = nodes
        .flat_map(|node| node.status.allocatable.iter())
        .filter(|(name, quantity)| is_gpu(name) && quantity.units() > 0)
        .map(|(name, _)| name.as_str())
        .collect();
    let mut by_namespace: BTreeMap<&str, Vec<_>> = BTreeMap::new();
    for quota in &cx.dump.objects.resource_quotas {
        let namespace = quota.meta().namespace.as_str();
        by_namespace.entry(namespace).or_default().push(quota);
    }
    let gpu_pods = gpu_pods(cx);
    for (namespace, quotas) in by_namespace {
        let keys = quotas.iter().flat_map(|quota| {
            quota
                .spec
                .hard
                .iter()
                .map(move |(key, value)| (quota, key, value))
        });
        let limits: Vec<_> = keys
            .filter_map(|(quota, key, value)| {
                Some((quota, key, value, key.strip_prefix("requests.")?))
            })
            .filter(|(.., name)| is_gpu(name))
            .collect();
        let Some((quota, ..)) = limits.first() else {
            continue;
        };
        let free: Vec<&str> = offered
            .iter()
            .copied()
            .filter(|name| limits.iter().all(|(.., limited)| limited != name))
            .collect();
        if free.is_empty() {
            continue;
        }
        let pods = gpu_pods.get(namespace).into_iter().flatten();
        let escaped: Vec<_> = pods
            .flat_map(|pod| {
                free.iter()
                    .map(move |name| (pod, *name, pod.spec.request(name).units()))
            })
            .filter(|(.., n_units)| *n_units > 0)
            .collect();
        let n_escaped: i64 = escaped.iter().map(|(.., n_units)| n_units).sum();
        let held = if escaped.is_empty() {
            String::new()
        } else {
            format!("; {n_escaped} units are held past it")
        };
        let message = format!("the quota leaves {} without a limit{held}", free.join(", "));
        let finding = out.report(quota.meta(), message);
        if !escaped.is_empty() {
            finding.severity(Severity::Error);
        }
        for (quota, key, value, _) in &limits {
            finding.saw(quota.meta(), &format!("spec.hard[{key}]"), value);
        }
        for (pod, name, n_units) in escaped {
            finding.saw(pod.meta(), &format!("requests[{name}]"), n_units);
        }
        let wanted: Vec<String> = free.iter().map(|name| format!("requests.{name}")).collect();
        finding.fix(
            Applicability::Manual,
            format!("add a limit for {}", wanted.join(", ")),
        );
    }
}

/// Pods that hold or wait for GPUs, by namespace.
fn gpu_pods<'a>(cx: &Cx<'a>) -> BTreeMap<&'a str, Vec<&'a Pod>> {
    let mut by_namespace = BTreeMap::<_, Vec<_>>::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| !pod.is_finished() && !gpu_requests(pod).is_empty()) {
        let namespace = pod.meta().namespace.as_str();
        by_namespace.entry(namespace).or_default().push(pod);
    }
    by_namespace
}
