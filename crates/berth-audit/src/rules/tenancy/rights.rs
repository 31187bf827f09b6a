//! Which rights amount to the cluster, shared by rules on bindings.

use crate::dump::kind::rbac::{ClusterRole, ClusterRoleBinding, PolicyRule};
use crate::dump::text::Text;
use crate::rule::prelude::*;

/// What a binding gives away that nobody should have by accident; `None` for harmless ones and for
/// roles that the dump lacks.
pub(super) fn danger_of(cx: &Cx<'_>, binding: &ClusterRoleBinding) -> Option<&'static str> {
    let role = &binding.role_ref.name;
    if role == "cluster-admin" {
        return Some("every right there is");
    }
    cx.dump.objects.cluster_roles.get("", role).and_then(danger)
}

fn danger(role: &ClusterRole) -> Option<&'static str> {
    const DANGERS: [(&str, &str, &[&str], &str); 6] = [
        ("*", "*", &["*"], "every right there is"),
        (
            "rbac.authorization.k8s.io",
            "clusterroles",
            &["escalate", "bind"],
            "any right they give themselves",
        ),
        ("", "users", &["impersonate"], "the rights of every user"),
        (
            "",
            "nodes/proxy",
            &["get", "create"],
            "commands in every pod, through the kubelets",
        ),
        ("", "secrets", &["get", "list", "watch"], "every Secret"),
        ("", "pods", &["create"], "pods in every namespace"),
    ];
    let gives = |(group, resource, verbs, _): &&(&str, &str, &[&str], &str)| {
        role.rules.iter().any(|rule| {
            rule.resource_names.is_empty()
                && covers(&rule.api_groups, group)
                && covers(&rule.resources, resource)
                && verbs.iter().any(|verb| covers(&rule.verbs, verb))
        })
    };
    DANGERS.iter().find(gives).map(|(.., what)| *what)
}

/// True where a list of a role names a word or everything.
pub(super) fn covers(list: &[Text], word: &str) -> bool {
    list.iter().any(|text| text == word || text == "*")
}

/// True for a rule that lets its holder impersonate with extra fields of a user.
pub(super) fn forges_extras(rule: &PolicyRule) -> Option<&Text> {
    let resource = rule
        .resources
        .iter()
        .find(|resource| *resource == "userextras" || resource.starts_with("userextras/"))?;
    let is_impersonation =
        covers(&rule.verbs, "impersonate") && covers(&rule.api_groups, "authentication.k8s.io");
    is_impersonation.then_some(resource)
}
