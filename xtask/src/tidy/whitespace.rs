//! Check `whitespace`: no blanks at line ends, no carriage returns, one final line break.
//!
//! Recorded outputs (`.snap`) and keys of a key-value store (`.key`) are kept to the byte.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "whitespace",
    about: "no blanks at line ends, one final line break",
    run,
};

/// Whether a file is kept as some program wrote it.
fn is_verbatim(path: &str) -> bool {
    [".snap", ".key"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| !is_verbatim(path)) {
        for (index, line) in text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(Finding::error(
                    path,
                    index + 1,
                    "blank at the end of the line",
                ));
            }
        }
        if !text.is_empty() && (!text.ends_with('\n') || text.ends_with("\n\n")) {
            findings.push(Finding::error(
                path,
                text.lines().count(),
                "not one final line break",
            ));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    #[test]
    fn stray_whitespace_is_found_with_its_line() {
        for (text, lines) in [
            ("a\nb\n", vec![]),
            ("", vec![]),
            ("a\nb \n", vec![2]),
            ("a\t\nb\n", vec![1]),
            ("a\r\nb\n", vec![1]),
            ("a\nb", vec![2]),
            ("a\n\n", vec![2]),
        ] {
            let tree = sample::files(&[("notes.md", text)]);
            let found: Vec<_> = run(&tree).iter().map(|finding| finding.line).collect();
            assert_eq!(found, lines, "{text:?}");
        }
    }
}
