//! Rules over the devices of several requests: the same attribute, or distinct ones.

use crate::filter::facts::Text;
use crate::filter::facts::device::{Attribute, Constraint, Device, Likeness};

/// A rule, and the values that the devices chosen so far have.
#[derive(Debug)]
pub(super) struct Rule<'a> {
    constraint: &'a Constraint,
    values: Vec<&'a Attribute>,
}

/// The request that a device is chosen for.
#[derive(Debug, Clone, Copy)]
pub(super) struct For<'a> {
    pub(super) request: &'a Text,
    pub(super) alternative: Option<&'a Text>,
}

impl<'a> Rule<'a> {
    pub(super) fn new(constraint: &'a Constraint) -> Self {
        Self {
            constraint,
            values: Vec::new(),
        }
    }

    /// Adds a device; false if the rule forbids it.
    pub(super) fn add(&mut self, whom: For<'_>, driver: &str, device: &'a Device) -> bool {
        if !self.concerns(whom) {
            return true;
        }
        let Some(value) = lookup(device, driver, &self.constraint.attribute) else {
            return false;
        };
        let is_first = self.values.is_empty();
        let is_comparable = *value != Attribute::Other;
        let does = match self.constraint.likeness {
            Likeness::Same => is_first || is_comparable && self.values[0] == value,
            Likeness::Distinct => is_first || is_comparable && !self.values.contains(&value),
        };
        if does {
            self.values.push(value);
        }
        does
    }

    /// Takes back the device that was added last.
    pub(super) fn remove(&mut self, whom: For<'_>) {
        if self.concerns(whom) {
            self.values.pop();
        }
    }

    fn concerns(&self, whom: For<'_>) -> bool {
        let named = &self.constraint.requests;
        named.is_empty()
            || named.contains(whom.request)
            || whom.alternative.is_some_and(|alternative| {
                let whole = format!("{}/{alternative}", whom.request);
                named.iter().any(|name| *name == whole)
            })
    }
}

/// The attribute by its full name; in the driver's own domain the name alone may be used.
fn lookup<'a>(device: &'a Device, driver: &str, name: &Text) -> Option<&'a Attribute> {
    let get = |name: &str| {
        let attributes = &device.attributes;
        let found = attributes.binary_search_by(|(known, _)| known.as_str().cmp(name));
        found.ok().map(|index| &attributes[index].1)
    };
    get(name).or_else(|| {
        let (domain, name) = name.split_once('/')?;
        if domain == driver { get(name) } else { None }
    })
}
