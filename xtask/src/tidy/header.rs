//! Check `header`: every source file opens with `//!`: what it is, its invariant, what is not here.

use super::tree::{Tree, is_generated};
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "header",
    about: "a `//!` header in every source file",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let sources = tree
        .texts()
        .filter(|(path, _)| path.ends_with(".rs") && path.contains("/src/") && !is_generated(path));
    sources
        .filter(|(_, text)| !has_header(text))
        .map(|(path, _)| Finding::error(path, 1, "no `//!` header"))
        .collect()
}

/// Inner attributes may stand above the header.
fn has_header(text: &str) -> bool {
    let first = text
        .lines()
        .find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
    first.is_some_and(|line| {
        line.strip_prefix("//!")
            .is_some_and(|rest| !rest.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    #[test]
    fn file_without_header_is_found() {
        for (text, findings) in [
            ("//! What it is.\n\nfn a() {}\n", 0),
            (
                "#![expect(dead_code, reason = \"x\")]\n//! What it is.\n",
                0,
            ),
            ("fn a() {}\n", 1),
            ("// no header\nfn a() {}\n", 1),
            ("//!\nfn a() {}\n", 1),
            ("", 1),
        ] {
            let tree = sample::files(&[("crates/a/src/x.rs", text)]);
            assert_eq!(run(&tree).len(), findings, "{text}");
        }
    }
}
