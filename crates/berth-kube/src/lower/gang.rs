//! Gangs: core pod groups first, then the markers of others, through one adapter.
//!
//! Invariant: a pod is in one gang at most; where two markers disagree the first of the list counts,
//! and the mark says so. A dialect is one entry of [`DIALECTS`].

use berth_api::mark;
use berth_core::filter::facts::Text;
use k8s_openapi::api::core::v1 as api;

use super::{LowerError, text, unknown};

/// The gang that a pod says it is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GangMark {
    /// Unique in the cluster: namespace, dialect and name.
    pub key: Text,
    /// How many members start together, where the pod itself says so.
    pub members_min: Option<u32>,
    /// The dialect of a marker that disagrees, if one does.
    pub conflict: Option<&'static str>,
}

/// What a marker says: the gang's name within the namespace, and its size where the pod says so.
type Said<'a> = (&'a str, Option<&'a str>);

/// A way of saying that a pod is in a gang.
struct Dialect {
    name: &'static str,
    read: fn(&api::Pod) -> Option<Said<'_>>,
}

/// Every dialect; the first that says something counts.
const DIALECTS: &[Dialect] = &[
    Dialect {
        name: PODGROUP,
        read: |pod| {
            let group = pod.spec.as_ref()?.scheduling_group.as_ref()?;
            Some((group.pod_group_name.as_deref()?, None))
        },
    },
    Dialect {
        name: "berth",
        read: |pod| {
            Some((
                label(pod, mark::GANG)?,
                annotation(pod, mark::GANG_MEMBERS_MIN),
            ))
        },
    },
    Dialect {
        name: "kueue",
        read: |pod| {
            let size = annotation(pod, "kueue.x-k8s.io/pod-group-total-count");
            Some((label(pod, "kueue.x-k8s.io/pod-group-name")?, size))
        },
    },
    Dialect {
        name: "scheduler-plugins",
        read: |pod| Some((label(pod, "scheduling.x-k8s.io/pod-group")?, None)),
    },
    Dialect {
        name: "volcano",
        read: |pod| {
            let name = annotation(pod, "scheduling.k8s.io/group-name");
            Some((
                name.or_else(|| annotation(pod, "volcano.sh/group-name"))?,
                None,
            ))
        },
    },
    Dialect {
        name: "kai",
        read: |pod| Some((annotation(pod, "pod-group-name")?, None)),
    },
];

/// The dialect of core pod groups.
pub const PODGROUP: &str = "podgroup";

/// The key of a gang.
#[must_use]
pub fn gang_key(namespace: &str, dialect: &str, name: &str) -> Text {
    text(&format!("{namespace}/{dialect}/{name}"))
}

/// The gang that a pod says it is in.
///
/// # Errors
/// If it gives a size that is no number above zero.
pub(super) fn gang_mark(pod: &api::Pod) -> Result<Option<GangMark>, LowerError> {
    let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    let said = DIALECTS
        .iter()
        .filter_map(|one| Some((one, (one.read)(pod)?)));
    let mut said = said.filter(|(_, (name, _))| !name.is_empty());
    let Some((dialect, (name, size))) = said.next() else {
        return Ok(None);
    };
    let size = size.map(|size| {
        let read = size.parse::<u32>().ok().filter(|&size| size > 0);
        read.ok_or_else(|| unknown("size of gang", size, "a number above zero"))
    });
    let conflict = said.find(|(_, (other, _))| *other != name);
    Ok(Some(GangMark {
        key: gang_key(namespace, dialect.name, name),
        members_min: size.transpose()?,
        conflict: conflict.map(|(other, _)| other.name),
    }))
}

fn label<'a>(pod: &'a api::Pod, name: &str) -> Option<&'a str> {
    Some(pod.metadata.labels.as_ref()?.get(name)?)
}

fn annotation<'a>(pod: &'a api::Pod, name: &str) -> Option<&'a str> {
    Some(pod.metadata.annotations.as_ref()?.get(name)?)
}
