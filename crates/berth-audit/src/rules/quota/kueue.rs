//! Arithmetic of Kueue's queues that several rules need.
//!
//! Not here: rules, and Cohort objects with a quota or parent of their own.

use crate::dump::kind::kueue::{ClusterQueue, FlavorQuota};
use crate::rule::prelude::*;

/// Every quota of a queue with its flavour.
pub(super) fn quotas(queue: &ClusterQueue) -> impl Iterator<Item = (&str, &FlavorQuota)> {
    let groups = queue.spec.resource_groups.iter();
    let flavors = groups.flat_map(|group| &group.flavors);
    flavors.flat_map(|flavor| {
        let quotas = flavor.resources.iter();
        quotas.map(move |quota| (flavor.name.as_str(), quota))
    })
}

/// The cohort of a queue under either of its names, or an empty text.
pub(super) fn cohort(queue: &ClusterQueue) -> &str {
    let spec = &queue.spec;
    if spec.cohort_name.is_empty() {
        &spec.cohort
    } else {
        &spec.cohort_name
    }
}

/// Units of a resource that the other queues of the cohort may lend to a queue, in one flavour.
pub(super) fn lendable(cx: &Cx<'_>, queue: &ClusterQueue, flavor: &str, resource: &str) -> i64 {
    let name = cohort(queue);
    let others = cx.dump.objects.cluster_queues.iter();
    others
        .filter(|other| !name.is_empty() && cohort(other) == name)
        .filter(|other| other.meta().name != queue.meta().name)
        .flat_map(quotas)
        .filter(|(known, quota)| *known == flavor && quota.name == resource)
        .map(|(_, quota)| {
            let n_own = quota.nominal_quota.units();
            quota
                .lending_limit
                .map_or(n_own, |limit| limit.units().min(n_own))
        })
        .fold(0, i64::saturating_add)
}
