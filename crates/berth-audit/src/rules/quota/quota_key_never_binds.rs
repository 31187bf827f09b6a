//! Quotas with keys that Kubernetes does not count.

use crate::dump::lenient::Pairs;
use crate::dump::meta::Meta;
use crate::dump::text::Text;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BQ001",
    name: "quota-key-never-binds",
    family: Family::Quota,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::ResourceQuota)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Keys of ResourceQuotas, and of the quotas in Kubeflow profiles, that look like a limit on GPUs and limit nothing.

## Why it matters
A key such as `nvidia.com/gpu: \"0\"` reads like a ban; pods take as many GPUs as there are.

## How it is decided
Kubernetes counts extended resources only under `requests.NAME`. A key with a domain and without that prefix, `limits.NAME` with a domain, or a bare word that is none of the known keys never binds.

## Fix
Write `requests.nvidia.com/gpu` instead of `nvidia.com/gpu`, `gpu` or `limits.nvidia.com/gpu`.

## False positives
Keys of an admission webhook of one's own.

## References
Kubernetes documentation, resource quotas for extended resources; Kubeflow issues 5154, 6913.
";

/// Keys without a domain that Kubernetes counts.
const KNOWN: [&str; 13] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "pods",
    "services",
    "services.nodeports",
    "services.loadbalancers",
    "persistentvolumeclaims",
    "configmaps",
    "secrets",
    "replicationcontrollers",
    "resourcequotas",
    "storage",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for quota in &cx.dump.objects.resource_quotas {
        judge(out, quota.meta(), "spec.hard", &quota.spec.hard);
    }
    for profile in &cx.dump.objects.profiles {
        judge(
            out,
            profile.meta(),
            "spec.resourceQuotaSpec.hard",
            &profile.spec.resource_quota_spec.hard,
        );
    }
}

fn judge(out: &mut Findings<'_>, object: &Meta, field: &str, hard: &Pairs<Text>) {
    for (key, value) in hard.iter().filter(|(key, _)| !binds(key)) {
        let finding = out.report(object, format!("the key `{key}` limits nothing"));
        finding.saw(object, &format!("{field}[{key}]"), value);
        let bare = key.strip_prefix("limits.").unwrap_or(key);
        let text = if bare.contains('/') {
            format!("write `requests.{bare}` instead")
        } else {
            "write `requests.nvidia.com/gpu` if GPUs are meant, or remove the key".to_owned()
        };
        finding.fix(Applicability::Manual, text);
    }
}

/// Whether Kubernetes counts a key (apiserver `pkg/quota`, evaluators for pods, services, claims).
fn binds(key: &str) -> bool {
    if let Some((class, _)) = key.split_once(".storageclass.storage.k8s.io/") {
        return !class.is_empty();
    }
    if key.starts_with("count/")
        || key.starts_with("hugepages-")
        || key.starts_with("requests.hugepages-")
    {
        return true;
    }
    if key.contains(".deviceclass.resource.k8s.io/") {
        return true;
    }
    if let Some(resource) = key.strip_prefix("requests.") {
        return resource.contains('/')
            || ["cpu", "memory", "storage", "ephemeral-storage"].contains(&resource);
    }
    if let Some(resource) = key.strip_prefix("limits.") {
        return ["cpu", "memory", "ephemeral-storage"].contains(&resource);
    }
    KNOWN.contains(&key)
}
