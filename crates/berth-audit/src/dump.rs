//! What was read of a cluster: compact records by kind, facts by host, and what is missing.
//!
//! Invariant: a record holds only fields that rules read, and no secret; tables are sorted by
//! namespace and name, so no order of files shows through. Not here: reading (see
//! [`source`](crate::source)).

pub mod coverage;
pub mod host;
pub mod kind;
pub mod kinds;
pub mod lenient;
pub mod meta;
pub mod place;
pub mod quantity;
pub mod text;

use std::collections::BTreeMap;

use berth_core::time::Time;

use self::coverage::Coverage;
use self::host::Host;
use self::kinds::{Kind, Objects};
use self::meta::Meta;
use self::place::Files;
use self::text::Text;

/// A cluster, as far as its dumps tell.
#[derive(Debug, Default)]
pub struct Dump {
    /// Objects by kind.
    pub objects: Objects,
    /// Facts of hosts, by the host's name.
    pub hosts: BTreeMap<Text, Host>,
    /// What is there and what is not.
    pub coverage: Coverage,
    /// Paths of the files that objects and facts were read from.
    pub files: Files,
    /// The newest instant that the dump speaks of: about when it was taken.
    pub newest: Option<Time>,
}

/// A record that is an object of Kubernetes.
pub trait Object {
    /// Its metadata.
    fn meta(&self) -> &Meta;
    /// Its metadata, to be filled in by the reader.
    fn meta_mut(&mut self) -> &mut Meta;
}

/// What a kind adds to the reading of its objects.
pub trait Record: Object + Default {
    /// Removes what must not be kept and serde could not skip; called once after reading.
    fn redact(&mut self) {}
    /// The newest instant that the object speaks of, besides its creation.
    fn newest(&self) -> Option<Time> {
        None
    }
}

/// The objects of one kind, sorted by namespace and name.
#[derive(Debug, Clone)]
pub struct Table<T> {
    rows: Vec<T>,
    sorted: bool,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            sorted: true,
        }
    }
}

impl<T: Object> Table<T> {
    /// Every object, by namespace and name.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        debug_assert!(
            self.sorted,
            "the reader settles tables before rules see them"
        );
        self.rows.iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True where there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The object `name` of `namespace`; an empty namespace for objects of the cluster.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<&T> {
        self.rows
            .binary_search_by(|row| {
                let meta = row.meta();
                meta.namespace
                    .as_str()
                    .cmp(namespace)
                    .then_with(|| meta.name.as_str().cmp(name))
            })
            .ok()
            .map(|at| &self.rows[at])
    }

    pub(crate) fn push(&mut self, row: T) {
        if self.rows.len() == self.rows.capacity() {
            // Doubling would set half of a large dump aside for nothing.
            self.rows.reserve_exact(self.rows.len() / 8 + 16);
        }
        self.rows.push(row);
        self.sorted = false;
    }

    /// Sorts, and keeps of several copies the newest: two tarballs of one cluster repeat objects.
    pub(crate) fn settle(&mut self) {
        self.rows.sort_unstable_by(|a, b| {
            let (a, b) = (a.meta(), b.meta());
            (&a.namespace, &a.name)
                .cmp(&(&b.namespace, &b.name))
                .then(b.resource_version.cmp(&a.resource_version))
                .then(a.place.cmp(&b.place))
        });
        self.rows.dedup_by(|later, first| {
            let (a, b) = (first.meta(), later.meta());
            a.namespace == b.namespace && a.name == b.name
        });
        self.rows.shrink_to_fit();
        self.sorted = true;
    }
}

impl<'a, T: Object> IntoIterator for &'a Table<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Dump {
    /// Objects of `kind` that were read.
    #[must_use]
    pub fn count(&self, kind: Kind) -> usize {
        (kind.spec().count)(&self.objects)
    }

    /// Sorts every table and settles coverage; the last step of reading.
    pub(crate) fn settle(&mut self) {
        for spec in kinds::KINDS {
            (spec.settle)(&mut self.objects);
        }
        self.coverage.settle();
    }

    pub(crate) fn saw(&mut self, instant: Option<Time>) {
        self.newest = self.newest.max(instant);
    }
}
