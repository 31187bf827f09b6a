//! A live cluster, listed kind by kind by whoever called.
//!
//! Nothing is vouched for here: the caller knows what it could list to the end.

use std::io;

use super::Format;
use crate::dump::text::Text;
use crate::source::document::{self, Expected};
use crate::source::{Entry, Reading};

/// The folder under which a caller hands lists in.
pub const LIVE_ROOT: &str = "live-cluster/";

pub(crate) const FORMAT: Format = Format {
    name: "live cluster",
    about: "the API server itself, listed read only",
    marker: |path| path.starts_with(LIVE_ROOT).then_some(LIVE_ROOT.len()),
    take,
    finish: |_, _| {},
};

fn take(reading: &mut Reading, prefix: &Text, entry: &mut Entry<'_>) -> io::Result<()> {
    document::read(reading, prefix, entry, Expected::default());
    Ok(())
}
