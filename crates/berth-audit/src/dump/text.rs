//! A short immutable string that is cheap to clone, since most of a dump is names said again.
//!
//! Invariant: texts compare, sort and hash as their bytes do. Equal texts that are read share their
//! bytes through a memo of this thread; it changes memory and nothing else, and is emptied when
//! reading ends. Reading is lenient: a number or a truth value where a string belongs is taken as
//! written, since hand-made YAML forgets quotes.

use std::cell::RefCell;
use std::fmt;
use std::hash::Hasher as _;
use std::ops::Deref;

use arcstr::ArcStr;
use rustc_hash::FxHasher;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A string of a dump; as large as a pointer.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text(ArcStr);

/// Slots of the memo. What is said often finds its slot again; a name said once takes a slot from at
/// most one other. As many as stay in a processor's cache.
const SLOTS: usize = 1 << 14;
/// Longer texts are rarely said twice.
const SHARED_BYTES_MAX: usize = 200;

thread_local! {
    static SHARED: RefCell<Vec<ArcStr>> = const { RefCell::new(Vec::new()) };
}

impl Text {
    /// The text `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(ArcStr::from(text))
    }

    /// The string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The text `text`, sharing its bytes with an equal one that was read before.
    fn shared(text: &str) -> Self {
        if text.len() > SHARED_BYTES_MAX {
            return Self::new(text);
        }
        let mut hasher = FxHasher::default();
        hasher.write(text.as_bytes());
        // The upper bits of this hash are the good ones.
        let slot = usize::try_from(hasher.finish() >> 40).unwrap_or(0) % SLOTS;
        SHARED.with_borrow_mut(|shared| {
            if shared.is_empty() {
                shared.resize(SLOTS, ArcStr::new());
            }
            if shared[slot] != text {
                shared[slot] = ArcStr::from(text);
            }
            Self(shared[slot].clone())
        })
    }

    /// Forgets which texts were read; the texts themselves stay.
    pub(crate) fn forget_shared() {
        SHARED.with_borrow_mut(|shared| *shared = Vec::new());
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
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
        Self(ArcStr::from(text))
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
                Ok(Text::shared(text))
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
