//! Check `file-length`: 100 to 200 lines are normal, 400 is a smell, 700 is the limit.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "file-length",
    about: "Rust files of at most 700 lines without tests",
    run,
};

/// More than this is named, and fails nothing.
const SMELL_LINES: usize = 400;
/// More than this fails.
const LIMIT_LINES: usize = 700;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, file) in tree.product_rust() {
        let lines = file.lines;
        if lines > LIMIT_LINES {
            let text = format!("{lines} lines, {LIMIT_LINES} is the limit; split by subject");
            findings.push(Finding::error(path, 0, text));
        } else if lines > SMELL_LINES {
            let text = format!("{lines} lines; over {SMELL_LINES} a file holds two subjects");
            findings.push(Finding::warning(path, 0, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::Severity;
    use super::super::tree::sample;
    use super::*;

    fn severity_of(path: &str, lines: usize) -> Option<Severity> {
        let tree = sample::files(&[(path, &"// a line\n".repeat(lines))]);
        run(&tree).first().map(|finding| finding.severity)
    }

    #[test]
    fn long_file_is_named_and_a_too_long_one_fails() {
        assert_eq!(severity_of("crates/a/src/x.rs", 400), None);
        assert_eq!(
            severity_of("crates/a/src/x.rs", 401),
            Some(Severity::Warning)
        );
        assert_eq!(
            severity_of("crates/a/src/x.rs", 700),
            Some(Severity::Warning)
        );
        assert_eq!(severity_of("crates/a/src/x.rs", 701), Some(Severity::Error));
    }

    #[test]
    fn tests_may_be_long() {
        assert_eq!(severity_of("crates/a/tests/it/x.rs", 900), None);
    }
}
