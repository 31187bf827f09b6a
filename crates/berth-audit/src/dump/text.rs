//! A short immutable string that is cheap to clone, since most of a dump is names said again.
//!
//! Invariant: texts compare and sort as their bytes do. Reading is lenient: a number or a truth
//! value where a string belongs is taken as written, since hand-made YAML forgets quotes.

use std::fmt;
use std::ops::Deref;

use rustc_hash::FxBuildHasher;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use smol_str::SmolStr;

/// A string of a dump.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Text(SmolStr);

impl Text {
    /// The text `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(SmolStr::new(text))
    }

    /// The string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

/// Texts seen before, so that equal ones share their bytes.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    seen: indexmap::IndexSet<Text, FxBuildHasher>,
}

/// The most different texts that are shared; beyond it sharing stops and memory grows instead.
const INTERNED_MAX: usize = 1 << 18;

impl Interner {
    /// Replaces `text` by an equal one that was seen before.
    pub(crate) fn share(&mut self, text: &mut Text) {
        if !text.0.is_heap_allocated() {
            return;
        }
        if let Some(known) = self.seen.get(text) {
            *text = known.clone();
        } else if self.seen.len() < INTERNED_MAX {
            self.seen.insert(text.clone());
        }
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.0.as_str()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self.0.as_str()
    }
}

impl std::borrow::Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(SmolStr::from(text))
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl schemars::JsonSchema for Text {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Text".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string" })
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsWritten;
        impl Visitor<'_> for AsWritten {
            type Value = Text;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text::new(text))
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Text, E> {
                Ok(Text::new(if value { "true" } else { "false" }))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Text, E> {
                Ok(value.to_string().into())
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Text, E> {
                Ok(value.to_string().into())
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Text, E> {
                Ok(value.to_string().into())
            }
            fn visit_unit<E: Error>(self) -> Result<Text, E> {
                Ok(Text::default())
            }
            fn visit_none<E: Error>(self) -> Result<Text, E> {
                Ok(Text::default())
            }
        }
        deserializer.deserialize_any(AsWritten)
    }
}
