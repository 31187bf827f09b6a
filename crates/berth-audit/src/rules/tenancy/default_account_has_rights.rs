//! Rights of the account that every pod gets which names none.

use super::rights;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BX003",
    name: "default-account-has-rights",
    family: Family::Tenancy,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::ClusterRoleBinding),
        Need::Some(Kind::ClusterRole),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Cluster role bindings that give far-reaching rights to a namespace's service account `default`.

## Why it matters
Pods that name no account run as `default`, and its token is mounted into them. Whoever may start a pod in the namespace, or breaks into one, has these rights.

## How it is decided
The subject is a service account with the name `default`, and the role gives everything, or the right to give oneself rights, to impersonate users, to reach kubelets, to read all Secrets, or to create pods everywhere. Pods that use the account now are named where pods are in the dump.

## Fix
Make an account for the program that needs the rights, name it in its pods, and bind the role to it.

## False positives
Namespaces in which only the cluster's own programs run; the rights are still broader than needed.

## References
Kubernetes documentation, role based access control good practices; managing service accounts.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for binding in &cx.dump.objects.cluster_role_bindings {
        let Some(what) = rights::danger_of(cx, binding) else {
            continue;
        };
        for (index, subject) in binding.subjects.iter().enumerate() {
            if subject.kind != "ServiceAccount" || subject.name != "default" {
                continue;
            }
            let namespace = &subject.namespace;
            let message = format!("it gives every pod of {namespace} that names no account {what}");
            let finding = out.report(binding.meta(), message);
            let value = format!("{namespace}/default");
            finding.saw(binding.meta(), &format!("subjects[{index}]"), value);
            finding.saw(binding.meta(), "roleRef.name", &binding.role_ref.name);
            let pods = cx.dump.objects.pods.iter().filter(|pod| {
                pod.meta().namespace == *namespace
                    && !pod.is_finished()
                    && pod.spec.service_account_name == "default"
            });
            for pod in pods {
                finding.saw(pod.meta(), "spec.serviceAccountName", "default");
            }
            finding.fix(
                Applicability::Disruptive,
                "make an account for the program that needs the rights, and bind the role to it",
            );
        }
    }
}
