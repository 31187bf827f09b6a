//! Check `markers`: work that is left stands in the tracker or is done, not in a comment.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "markers",
    about: "no comment that leaves work for later",
    run,
};

/// Spelt in two halves, so that this file does not find itself.
const MARKERS: [&str; 3] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            let words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            if let Some(marker) = words.into_iter().find(|word| MARKERS.contains(word)) {
                let text = format!("{marker}: finish it or describe it where work is tracked");
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
    fn markers_are_found_as_whole_words() {
        for marker in MARKERS {
            let tree = sample::files(&[("a.rs", &format!("fn a() {{}}\n// {marker}: later\n"))]);
            assert_eq!(run(&tree)[0].line, 2);
        }
        let tree = sample::files(&[("a.sh", &format!("mktemp a.{}{}\n", MARKERS[2], MARKERS[2]))]);
        assert_eq!(run(&tree), []);
    }
}
