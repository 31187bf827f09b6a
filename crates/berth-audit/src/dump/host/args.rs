//! Argument files: one flag a line, the later line wins.
//!
//! Grammar: `--flag=value`, `--flag value` or `--flag`, `#` comments, optional double quotes,
//! variables such as `${SNAP_DATA}` unexpanded.

use std::collections::BTreeMap;

use crate::dump::place::Place;

/// Flags of a program.
#[derive(Debug, Clone, Default)]
pub struct Args<'a> {
    flags: BTreeMap<&'a str, Flag<'a>>,
    place: Place,
}

/// A flag as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flag<'a> {
    /// Its value without quotes; empty where there is none.
    pub value: &'a str,
    /// Where it stands.
    pub place: Place,
}

impl<'a> Args<'a> {
    /// Reads an argument file.
    #[must_use]
    pub fn parse(text: &'a str, place: Place) -> Self {
        let mut flags = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            let Some(flag) = text.trim().strip_prefix("--") else {
                continue;
            };
            let end = flag.find(['=', ' ', '\t']).unwrap_or(flag.len());
            let (name, value) = flag.split_at(end);
            let value = value
                .trim_start_matches(['=', ' ', '\t'])
                .trim()
                .trim_matches('"');
            flags.insert(
                name,
                Flag {
                    value,
                    place: Place { line, ..place },
                },
            );
        }
        Self { flags, place }
    }

    /// A flag without its dashes.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<Flag<'a>> {
        self.flags.get(name).copied()
    }

    /// A flag's value, or what the program takes where it is not given; the place is the whole file
    /// then.
    #[must_use]
    pub fn or_default(&self, name: &str, default: &'a str) -> Flag<'a> {
        self.flag(name).unwrap_or(Flag {
            value: default,
            place: self.place,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_line_wins_and_every_spelling_is_read() {
        let text = "# --a=0\n--a=1\n--b \"two words\"\n\n--c\n--a=3\nnoise\n";
        let args = Args::parse(text, Place::default());
        let value = |name| args.flag(name).map(|flag| flag.value);
        assert_eq!(value("a"), Some("3"));
        assert_eq!(value("b"), Some("two words"));
        assert_eq!(value("c"), Some(""));
        assert_eq!(value("d"), None);
        assert_eq!(args.flag("a").map(|flag| flag.place.line), Some(6));
        assert_eq!(args.or_default("d", "x").value, "x");
    }
}
