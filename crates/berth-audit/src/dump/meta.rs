//! What every object has: names, labels, annotations, ages, its owner, and where it was read.
//!
//! Invariant: annotations that repeat the object or carry secrets are never kept.

use berth_core::time::Time;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::lenient::{List, Number, Pairs, Stamp, or_default};
use super::place::Place;
use super::text::Text;
use crate::limits::ANNOTATION_BYTES_MAX;

/// Metadata of an object.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// The object's kind as it writes itself; set by the reader.
    #[serde(skip)]
    pub kind: &'static str,
    /// Name.
    #[serde(deserialize_with = "or_default")]
    pub name: Text,
    /// Namespace, empty for objects of the cluster.
    #[serde(deserialize_with = "or_default")]
    pub namespace: Text,
    /// Labels, sorted by key.
    #[serde(deserialize_with = "or_default")]
    pub labels: Pairs<Text>,
    /// Annotations, sorted by key; see [`Annotations`] for what is dropped.
    #[serde(deserialize_with = "or_default")]
    pub annotations: Annotations,
    /// When it was created.
    #[serde(rename = "creationTimestamp", deserialize_with = "or_default")]
    pub created: Option<Stamp>,
    /// When its deletion was asked for.
    #[serde(rename = "deletionTimestamp", deserialize_with = "or_default")]
    pub deleted: Option<Stamp>,
    /// Owners.
    #[serde(rename = "ownerReferences", deserialize_with = "or_default")]
    pub owners: List<Owner>,
    /// Version in the store, to tell newer from older copies.
    #[serde(deserialize_with = "or_default")]
    pub resource_version: Version,
    /// Where it was read.
    #[serde(skip)]
    pub place: Place,
}

/// An owner of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// Kind of the owner.
    #[serde(deserialize_with = "or_default")]
    pub kind: Text,
    /// Its name.
    #[serde(deserialize_with = "or_default")]
    pub name: Text,
}

/// A resource version; 0 where there is none, or none that is a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u64);

/// Annotations without those that repeat the object, carry tokens, or are longer than
/// [`ANNOTATION_BYTES_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations(pub Pairs<Text>);

/// Keys that begin with one of these are not kept: copies of the object, checksums, and addresses
/// that stand in the status too.
const DROPPED: [&str; 9] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubernetes.io/config.",
    "cni.projectcalico.org/",
    "k8s.v1.cni.cncf.io/",
    "k8s.ovn.org/",
    "checksum/",
    "openshift.io/token-secret",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
];

impl Meta {
    /// The label `key`, or an empty text.
    #[must_use]
    pub fn label(&self, key: &str) -> &str {
        self.labels.get(key).map_or("", Text::as_str)
    }

    /// The annotation `key`.
    #[must_use]
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.0.get(key).map(Text::as_str)
    }

    /// How old the object is at `now`, where its creation is known.
    #[must_use]
    pub fn age(&self, now: Time) -> Option<berth_core::time::Span> {
        self.created.map(|created| now.since(created.0))
    }

    /// `namespace/name`, or the name alone.
    #[must_use]
    pub fn full_name(&self) -> String {
        if self.namespace.is_empty() {
            self.name.to_string()
        } else {
            format!("{}/{}", self.namespace, self.name)
        }
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Text::deserialize(deserializer)?;
        Ok(Self(text.parse().unwrap_or_default()))
    }
}

impl<'de> Deserialize<'de> for Annotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Kept;
        impl<'de> Visitor<'de> for Kept {
            type Value = Annotations;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of annotations")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Annotations, A::Error> {
                let mut kept = Vec::new();
                while let Some(key) = map.next_key::<Text>()? {
                    if DROPPED.iter().any(|dropped| key.starts_with(dropped)) {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let value = map.next_value::<Option<Text>>()?.unwrap_or_default();
                    if value.len() <= ANNOTATION_BYTES_MAX {
                        kept.push((key, value));
                    }
                }
                kept.sort();
                Ok(Annotations(Pairs(kept.into())))
            }
        }
        deserializer.deserialize_map(Kept)
    }
}

super::lenient::record! {
    /// A condition of a status.
    pub struct Condition {
        /// What it is about, such as `Ready`.
        #[serde(rename = "type")]
        pub kind: Text,
        /// `True`, `False` or `Unknown`.
        pub status: Text,
        /// One word why.
        pub reason: Text,
        /// A sentence why.
        pub message: Text,
        /// When the status changed last.
        pub last_transition_time: Option<Stamp>,
    }

    /// A selector of labels; only what rules read.
    pub struct Selector {
        /// Labels that must be equal.
        pub match_labels: Pairs<Text>,
        /// Further requirements.
        pub match_expressions: Vec<Requirement>,
    }

    /// One requirement of a selector.
    pub struct Requirement {
        /// The label.
        pub key: Text,
        /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`.
        pub operator: Text,
        /// The values.
        pub values: Vec<Text>,
    }

    /// A count that may be a percentage (`25%`).
    pub struct Counted {
        /// The number.
        pub value: Number,
    }
}
