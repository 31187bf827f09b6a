//! Events: symptoms only, because clusters forget them within minutes to an hour.

use berth_core::time::Time;

use crate::dump::Record;
use crate::dump::lenient::{Number, Stamp, object, record};
use crate::dump::text::Text;

object! {
    /// An event.
    pub struct Event {
        /// What it is about.
        pub involved_object: Involved,
        /// One word.
        pub reason: Text,
        /// A sentence.
        pub message: Text,
        /// `Normal` or `Warning`.
        #[serde(rename = "type")]
        pub severity: Text,
        /// How often.
        pub count: Number,
        /// When last.
        pub last_timestamp: Option<Stamp>,
    }
}

record! {
    /// What an event is about.
    pub struct Involved {
        /// Kind.
        pub kind: Text,
        /// Namespace.
        pub namespace: Text,
        /// Name.
        pub name: Text,
    }
}

impl Record for Event {
    fn newest(&self) -> Option<Time> {
        self.last_timestamp.map(|stamp| stamp.0)
    }
}
