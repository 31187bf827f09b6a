//! Pod affinity, anti-affinity and topology spread.

use std::collections::BTreeMap;

use berth_core::filter::facts::label::{Requirement, Selector};
use berth_core::filter::facts::pod::{AffinityTerm, Inclusion, SpreadConstraint};
use k8s_openapi::api::core::v1 as api;

use super::label::selector;
use super::{LowerError, list, text, texts, unknown};

/// Required terms of a pod in `namespace`.
pub(super) fn terms(
    path: &str,
    namespace: &str,
    from: &[api::PodAffinityTerm],
) -> Result<Box<[AffinityTerm]>, LowerError> {
    from.iter().map(|one| term(path, namespace, one)).collect()
}

fn term(
    path: &str,
    namespace: &str,
    from: &api::PodAffinityTerm,
) -> Result<AffinityTerm, LowerError> {
    let api::PodAffinityTerm {
        label_selector,
        // The API server has merged both into the selector.
        match_label_keys: _,
        mismatch_label_keys: _,
        namespace_selector,
        namespaces,
        topology_key,
    } = from;
    let mut names = texts(namespaces.as_ref()).into_vec();
    if names.is_empty() && namespace_selector.is_none() {
        names.push(text(namespace));
    }
    names.sort();
    Ok(AffinityTerm {
        topology_key: text(topology_key),
        selector: selector(&format!("{path}.labelSelector"), label_selector.as_ref())?,
        namespaces: names.into_boxed_slice(),
        namespace_selector: selector(
            &format!("{path}.namespaceSelector"),
            namespace_selector.as_ref(),
        )?,
    })
}

/// The constraints that forbid, of a pod with these labels.
pub(super) fn spread(
    labels: Option<&BTreeMap<String, String>>,
    from: &[api::TopologySpreadConstraint],
) -> Result<Box<[SpreadConstraint]>, LowerError> {
    let forbids = |one: &&api::TopologySpreadConstraint| one.when_unsatisfiable == "DoNotSchedule";
    let constraints = from.iter().filter(forbids);
    constraints.map(|one| constraint(labels, one)).collect()
}

fn constraint(
    labels: Option<&BTreeMap<String, String>>,
    from: &api::TopologySpreadConstraint,
) -> Result<SpreadConstraint, LowerError> {
    let api::TopologySpreadConstraint {
        label_selector,
        match_label_keys,
        max_skew,
        min_domains,
        node_affinity_policy,
        node_taints_policy,
        topology_key,
        when_unsatisfiable: _,
    } = from;
    let path = "spec.topologySpreadConstraints";
    let selector = selector(&format!("{path}.labelSelector"), label_selector.as_ref())?;
    let value_of = |key: &String| {
        let value = labels?.get(key)?;
        Some(Requirement::equals(text(key), text(value)))
    };
    let merged = list(match_label_keys.as_ref()).iter().filter_map(value_of);
    Ok(SpreadConstraint {
        topology_key: text(topology_key),
        skew_max: *max_skew,
        selector: with(selector, merged),
        domains_min: min_domains.unwrap_or(1),
        affinity_policy: policy(path, node_affinity_policy.as_ref(), Inclusion::Honor)?,
        taints_policy: policy(path, node_taints_policy.as_ref(), Inclusion::Ignore)?,
    })
}

/// An absent selector matches nothing, whatever else is asked for.
fn with(selector: Selector, more: impl Iterator<Item = Requirement>) -> Selector {
    match selector {
        Selector::Nothing => Selector::Nothing,
        Selector::All(requirements) => {
            Selector::All(requirements.into_iter().chain(more).collect())
        }
    }
}

fn policy(path: &str, from: Option<&String>, default: Inclusion) -> Result<Inclusion, LowerError> {
    match from.map(String::as_str) {
        None => Ok(default),
        Some("Honor") => Ok(Inclusion::Honor),
        Some("Ignore") => Ok(Inclusion::Ignore),
        Some(other) => Err(unknown(path, other, "Honor or Ignore")),
    }
}
