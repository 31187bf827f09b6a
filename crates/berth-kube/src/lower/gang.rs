//! Gangs: core pod groups first, then the markers of others, through one adapter.
//!
//! Invariant: a pod is in one gang at most; where two markers disagree the first of the list counts,
//! and the mark says so. A dialect is one entry of [`DIALECTS`].

use berth_api::mark;
use berth_core::filter::facts::Text;
use k8s_openapi::api::core::v1 as api;
use kube::core::DynamicObject;

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
    /// The object that says how large the gang is, where there is one.
    group: Option<GroupObject>,
}

/// Whose objects say how large gangs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupDialect {
    Core,
    Plugins,
    Volcano,
    Kai,
}

/// A kind of objects that say how large gangs are.
#[derive(Debug, Clone, Copy)]
pub struct GroupObject {
    pub dialect: GroupDialect,
    /// API group and version.
    pub api: (&'static str, &'static str),
    /// Where it gives the number of members that start together, as a JSON pointer. Without a number
    /// there, members start one by one.
    size: &'static str,
}

/// Every dialect; the first that says something counts.
const DIALECTS: &[Dialect] = &[
    Dialect {
        name: PODGROUP,
        read: |pod| {
            let group = pod.spec.as_ref()?.scheduling_group.as_ref()?;
            Some((group.pod_group_name.as_deref()?, None))
        },
        group: Some(GroupObject {
            dialect: GroupDialect::Core,
            api: ("scheduling.k8s.io", "v1beta1"),
            size: "/spec/schedulingPolicy/gang/minCount",
        }),
    },
    Dialect {
        name: "berth",
        read: |pod| {
            Some((
                label(pod, mark::GANG)?,
                annotation(pod, mark::GANG_MEMBERS_MIN),
            ))
        },
        group: None,
    },
    Dialect {
        name: "kueue",
        read: |pod| {
            let size = annotation(pod, "kueue.x-k8s.io/pod-group-total-count");
            Some((label(pod, "kueue.x-k8s.io/pod-group-name")?, size))
        },
        group: None,
    },
    Dialect {
        name: "scheduler-plugins",
        read: |pod| Some((label(pod, "scheduling.x-k8s.io/pod-group")?, None)),
        group: Some(GroupObject {
            dialect: GroupDialect::Plugins,
            api: ("scheduling.x-k8s.io", "v1alpha1"),
            size: "/spec/minMember",
        }),
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
        group: Some(GroupObject {
            dialect: GroupDialect::Volcano,
            api: ("scheduling.volcano.sh", "v1beta1"),
            size: "/spec/minMember",
        }),
    },
    Dialect {
        name: "kai",
        read: |pod| Some((annotation(pod, "pod-group-name")?, None)),
        group: Some(GroupObject {
            dialect: GroupDialect::Kai,
            api: ("scheduling.run.ai", "v2alpha2"),
            size: "/spec/minMember",
        }),
    },
];

/// The dialect of core pod groups.
const PODGROUP: &str = "podgroup";

/// The plural of every kind that says how large gangs are.
pub const POD_GROUPS: &str = "podgroups";

/// Every kind of objects that say how large gangs are.
pub fn group_objects() -> impl Iterator<Item = GroupObject> {
    DIALECTS.iter().filter_map(|dialect| dialect.group)
}

impl GroupObject {
    /// The key of the gang that an object is about.
    #[must_use]
    pub fn gang(self, object: &DynamicObject) -> Text {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let mut dialects = DIALECTS.iter();
        let dialect =
            dialects.find(|one| one.group.is_some_and(|group| group.dialect == self.dialect));
        gang_key(namespace, dialect.map_or("", |one| one.name), name)
    }

    /// How many members of its gang start together.
    ///
    /// # Errors
    /// If it is no number above zero.
    pub fn members_min(self, object: &DynamicObject) -> Result<u32, LowerError> {
        let Some(size) = object.data.pointer(self.size) else {
            return Ok(1);
        };
        let read = size.as_u64().and_then(|size| u32::try_from(size).ok());
        let read = read.filter(|&size| size > 0);
        read.ok_or_else(|| unknown("size of gang", &size.to_string(), "a number above zero"))
    }
}

/// The key of a gang.
fn gang_key(namespace: &str, dialect: &str, name: &str) -> Text {
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
