//! Bindings that hand the cluster to whoever can reach it.

use super::rights;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BX002",
    name: "rights-for-everyone",
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
Cluster role bindings that give far-reaching rights to everybody: to all who are logged in, to all service accounts, or to those who are not logged in at all.

## Why it matters
Every pod has a service account, so any notebook becomes an administrator. Quotas, namespaces and MFA mean nothing then.

## How it is decided
A subject is `system:authenticated`, `system:unauthenticated`, `system:serviceaccounts` or `system:anonymous`, and the role gives everything, or the right to give oneself rights, to impersonate users, to reach kubelets, to read all Secrets, or to create pods everywhere.
Roles that the dump lacks are not judged, `cluster-admin` excepted.

## Fix
Delete the binding, and bind the people and accounts that need it by name.

## False positives
None known.

## References
Kubernetes documentation, role based access control good practices.
";

const EVERYONE: [&str; 4] = [
    "system:authenticated",
    "system:unauthenticated",
    "system:serviceaccounts",
    "system:anonymous",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for binding in &cx.dump.objects.cluster_role_bindings {
        let Some(what) = rights::danger_of(cx, binding) else {
            continue;
        };
        for (index, subject) in binding.subjects.iter().enumerate() {
            if subject.kind == "ServiceAccount" || !EVERYONE.contains(&subject.name.as_str()) {
                continue;
            }
            let message = format!("it gives {} {what}", subject.name);
            let finding = out.report(binding.meta(), message);
            finding.saw(
                binding.meta(),
                &format!("subjects[{index}].name"),
                &subject.name,
            );
            finding.saw(binding.meta(), "roleRef.name", &binding.role_ref.name);
            finding.fix(
                Applicability::Manual,
                "delete the binding, and bind those who need it by name",
            );
        }
    }
}
