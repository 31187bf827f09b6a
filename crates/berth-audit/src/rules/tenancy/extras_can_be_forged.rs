//! Who may claim on behalf of a user what the identity provider said.

use super::rights;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BX004",
    name: "user-extras-can-be-forged",
    family: Family::Tenancy,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::ClusterRole),
        Need::Some(Kind::ClusterRoleBinding),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Bound cluster roles that may impersonate the extra fields of users (`userextras`).

## Why it matters
Structured authentication carries the means of login (`amr`, `acr`, `auth_time`) in extra fields, and admission policies check them there. Whoever may impersonate extras writes them, and with them any proof of a second factor.

## How it is decided
A cluster role names `userextras` or `userextras/...` in `authentication.k8s.io` with the verb `impersonate`, and a ClusterRoleBinding binds it; a RoleBinding can't give this right. `cluster-admin`, which may do everything, is left out.

## Fix
Leave the right with the one gateway that needs it, and name the extra keys it passes on (`userextras/scopes`) instead of all.

## False positives
Gateways and consoles that act for their users: they need the right. Accept them in the baseline by name.

## References
Kubernetes documentation, user impersonation and structured authentication configuration.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    for binding in &objects.cluster_role_bindings {
        let Some(role) = objects.cluster_roles.get("", &binding.role_ref.name) else {
            continue;
        };
        let mut rules = role.rules.iter().enumerate();
        let forging = rules.find_map(|(index, rule)| Some((index, rights::forges_extras(rule)?)));
        let Some((index, resource)) = forging.filter(|_| !binding.subjects.is_empty()) else {
            continue;
        };
        let names = binding.subjects.iter();
        let names: Vec<_> = names
            .map(|subject| format!("{} {}", subject.kind, subject.name))
            .collect();
        let names = names.join(", ");
        let message = format!("{names} may forge what the identity provider says of a user");
        let finding = out.report(binding.meta(), message);
        finding.saw(role.meta(), &format!("rules[{index}].resources"), resource);
        finding.saw(binding.meta(), "subjects", names);
        finding.fix(
            Applicability::Manual,
            "leave the right with one gateway, and name the extra keys it passes on",
        );
    }
}
