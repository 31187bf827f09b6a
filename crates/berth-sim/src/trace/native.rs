//! What the native JSON and CSV forms have in common: the checks that need the whole input.
//!
//! Invariant: what leaves here keeps the promises of [`Workload`]. Not here: syntax.

use std::collections::{BTreeMap, BTreeSet};

use crate::trace::File;
use crate::trace::table::{ReadError, clip};
use crate::workload::{Job, NodeTemplate, QueueTemplate, VgpuTemplate, Workload};

/// Pods that a node accepts where the input doesn't say: the kubelet's default.
pub(crate) const POD_SLOTS: u32 = 110;

/// Checks names and order, and makes the workload.
///
/// # Errors
/// If a name is missing or used twice, or the queues aren't a tree.
pub(crate) fn assemble(
    file: &File<'_>,
    name: String,
    nodes: Vec<NodeTemplate>,
    queues: Vec<QueueTemplate>,
    vgpu_profiles: Vec<VgpuTemplate>,
    mut jobs: Vec<Job>,
) -> Result<Workload, ReadError> {
    if nodes.is_empty() {
        return Err(file.fault("at least one node", "none", "list the nodes of the cluster"));
    }
    unique(file, "node", nodes.iter().map(|node| &*node.name))?;
    unique(file, "queue", queues.iter().map(|queue| &*queue.name))?;
    unique(file, "job", jobs.iter().map(|job| &*job.name))?;
    for job in &jobs {
        if job.pods_min > job.pods {
            let expected = format!(
                "pods_min of job `{}` at most its {} pods",
                job.name, job.pods
            );
            let found = job.pods_min.to_string();
            return Err(file.fault(&expected, &found, "lower pods_min or raise pods"));
        }
    }
    let queues = parents_first(file, queues)?;
    jobs.sort_by(|a, b| (a.arrival, &a.name).cmp(&(b.arrival, &b.name)));
    Ok(Workload {
        name,
        nodes,
        queues,
        vgpu_profiles,
        jobs,
    })
}

fn unique<'a>(
    file: &File<'_>,
    kind: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), ReadError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.is_empty() {
            return Err(file.fault(&format!("a name for each {kind}"), "none", "name each one"));
        }
        if !seen.insert(name) {
            let found = format!("two called `{}`", clip(name));
            return Err(file.fault(&format!("each {kind} once"), &found, "rename or remove one"));
        }
    }
    Ok(())
}

/// The queues with every parent before its children, otherwise in the order given.
fn parents_first(
    file: &File<'_>,
    queues: Vec<QueueTemplate>,
) -> Result<Vec<QueueTemplate>, ReadError> {
    let names: BTreeSet<String> = queues.iter().map(|queue| queue.name.clone()).collect();
    let mut children: BTreeMap<Option<String>, Vec<QueueTemplate>> = BTreeMap::new();
    let n = queues.len();
    for queue in queues {
        if let Some(parent) = queue
            .parent
            .as_ref()
            .filter(|parent| !names.contains(*parent))
        {
            let expected = format!("a queue `{}`, the parent of `{}`", clip(parent), queue.name);
            return Err(file.fault(&expected, "none", "list the parent or leave it out"));
        }
        children
            .entry(queue.parent.clone())
            .or_default()
            .push(queue);
    }
    let mut sorted: Vec<QueueTemplate> = children.remove(&None).unwrap_or_default();
    let mut at = 0;
    while at < sorted.len() {
        let below = children
            .remove(&Some(sorted[at].name.clone()))
            .unwrap_or_default();
        sorted.extend(below);
        at += 1;
    }
    if sorted.len() == n {
        return Ok(sorted);
    }
    let stuck = children
        .into_values()
        .flatten()
        .map(|queue| queue.name)
        .next()
        .unwrap_or_default();
    let found = format!("`{stuck}` below itself");
    Err(file.fault(
        "a tree of queues",
        &found,
        "give one of the circle no parent",
    ))
}
