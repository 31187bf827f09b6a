//! Check `test-attributes`: every test runs, and says what it expects.
//!
//! An ignored test proves nothing; a test that only wants a panic accepts the wrong one.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "test-attributes",
    about: "no ignored test, no test that wants any panic",
    run,
};

/// Attribute texts; spelt in two halves, so that this file does not find itself.
const BANNED: [&str; 4] = [
    concat!("#[ign", "ore]"),
    concat!("#[ign", "ore ="),
    concat!("#[should", "_panic]"),
    concat!("#[should", "_panic("),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".rs")) {
        for (index, line) in text.lines().enumerate() {
            if let Some(banned) = BANNED.iter().find(|banned| line.contains(**banned)) {
                let text = format!("`{banned}`: run the test, or assert on a value");
                findings.push(Finding::error(path, index + 1, text));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    #[test]
    fn banned_attributes_are_found() {
        for banned in BANNED {
            let text = format!("#[test]\n{banned}\nfn a() {{}}\n");
            let tree = sample::files(&[("crates/a/src/x.rs", &text)]);
            assert_eq!(run(&tree)[0].line, 2, "{banned}");
        }
        let tree = sample::files(&[("crates/a/src/x.rs", "#[test]\nfn a() {}\n")]);
        assert_eq!(run(&tree), []);
    }
}
