//! Reading that forgives what real dumps contain: `null` where a list or text belongs, and numbers
//! written as strings or the other way round.

use std::fmt;

use berth_core::time::Time;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// Declares a record of the dump: every field may be absent or `null`, unknown fields are skipped.
///
/// A field whose wire name is not its camel-case form takes `#[serde(rename = "...")]`.
macro_rules! record {
    ($($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident : $type:ty),* $(,)?
    })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $($(#[$field_meta])* #[serde(deserialize_with = "crate::dump::lenient::or_default")] pub $field: $type),*
        }
    )*};
}

/// Like [`record!`] for a whole object: adds `meta`, and implements [`Record`](crate::dump::Record).
macro_rules! object {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident : $type:ty),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            /// Name, namespace, labels and where it was read.
            #[serde(rename = "metadata", deserialize_with = "crate::dump::lenient::or_default")]
            pub meta: crate::dump::meta::Meta,
            $($(#[$field_meta])* #[serde(deserialize_with = "crate::dump::lenient::or_default")] pub $field: $type),*
        }

        impl crate::dump::Object for $name {
            fn meta(&self) -> &crate::dump::meta::Meta {
                &self.meta
            }
            fn meta_mut(&mut self) -> &mut crate::dump::meta::Meta {
                &mut self.meta
            }
        }
    };
}

pub(crate) use {object, record};

/// Reads a `T`, or its default where there is `null`.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A whole number that may also be written as a string; fractions are cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Number(pub i64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(value))
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(i64::try_from(value).unwrap_or(i64::MAX)))
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(value as i64)) // saturates, which is what a bound is compared with
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
                let number = text
                    .trim()
                    .parse()
                    .map_err(|_| E::custom(format!("`{text}` is no whole number")))?;
                Ok(Number(number))
            }
        }
        deserializer.deserialize_any(Digits)
    }
}

/// A truth value that may also be written as a string: Calico's v1 resources do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Truth(pub bool);

impl<'de> Deserialize<'de> for Truth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Truth;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true or false")
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Truth, E> {
                Ok(Truth(value))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Truth, E> {
                Ok(Truth(text.eq_ignore_ascii_case("true")))
            }
        }
        deserializer.deserialize_any(Words)
    }
}

/// An instant written as RFC 3339.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Stamp(pub Time);

impl Stamp {
    /// Reads `2026-01-31T10:00:00Z`, with or without fractions and offset.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(Self(Time(instant.as_millisecond())))
    }

    /// Writes an instant as `2026-01-31T10:00:00Z`.
    #[must_use]
    pub fn write(time: Time) -> String {
        let seconds = time.0.div_euclid(1000);
        jiff::Timestamp::from_second(seconds)
            .map_or_else(|_| format!("{seconds}s"), |t| t.to_string())
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rfc3339;
        impl Visitor<'_> for Rfc3339 {
            type Value = Stamp;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time in RFC 3339")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Stamp, E> {
                Stamp::parse(text)
                    .ok_or_else(|| E::custom(format!("`{text}` is no time in RFC 3339")))
            }
        }
        deserializer.deserialize_str(Rfc3339)
    }
}

/// Whether a field is there at all, whatever it holds: `affinity`, `emptyDir`, a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Present(pub bool);

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer)?;
        Ok(Self(true))
    }
}

/// A list that takes no more room than its elements.
///
/// Most lists of a pod have one element, for which a `Vec` sets room for four aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct List<T>(Box<[T]>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T> List<T> {
    /// Keeps the elements for which `is_kept` holds.
    pub fn retain(&mut self, is_kept: impl FnMut(&T) -> bool) {
        let mut elements = std::mem::take(&mut self.0).into_vec();
        elements.retain(is_kept);
        self.0 = elements.into_boxed_slice();
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(elements.into_boxed_slice())
    }
}

impl<T> std::ops::Deref for List<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> std::ops::DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut List<T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter_mut()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into())
    }
}

/// A map as a sorted list of pairs; a value that is `null` becomes the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairs<V>(pub List<(super::text::Text, V)>);

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Self(List::default())
    }
}

impl<V> Pairs<V> {
    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&V> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Every pair, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&super::text::Text, &V)> {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// True where there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de, V: Deserialize<'de> + Default> Deserialize<'de> for Pairs<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<V>(std::marker::PhantomData<V>);
        impl<'de, V: Deserialize<'de> + Default> Visitor<'de> for Entries<V> {
            type Value = Pairs<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<V>, A::Error> {
                let mut pairs = Vec::new();
                while let Some((key, value)) = map.next_entry::<super::text::Text, Option<V>>()? {
                    pairs.push((key, value.unwrap_or_default()));
                }
                pairs.sort_by(|a, b| a.0.cmp(&b.0));
                Ok(Pairs(pairs.into()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pairs<V>, A::Error> {
                // PHP-like writers turn an empty map into an empty list.
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Pairs::default())
            }
        }
        deserializer.deserialize_map(Entries(std::marker::PhantomData))
    }
}
