//! Check `page-length`: pages that are read in one go stay short enough for it.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "page-length",
    about: "ARCHITECTURE.md <= 300 lines, a how-to <= 40",
    run,
};

/// Path prefix and limit in lines.
const LIMITS: [(&str, usize); 2] = [("ARCHITECTURE.md", 300), ("docs/howto/", 40)];

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        let lines = text.lines().count();
        for (_, limit) in LIMITS.iter().filter(|(prefix, _)| path.starts_with(prefix)) {
            if lines > *limit {
                findings.push(Finding::error(
                    path,
                    0,
                    format!("{lines} lines, not {limit}"),
                ));
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
    fn page_over_its_limit_is_found() {
        for (path, limit) in [("ARCHITECTURE.md", 300), ("docs/howto/add-a-policy.md", 40)] {
            let at_limit = sample::files(&[(path, &"a\n".repeat(limit))]);
            assert_eq!(run(&at_limit), []);
            let over = sample::files(&[(path, &"a\n".repeat(limit + 1))]);
            assert_eq!(run(&over).len(), 1);
        }
        assert_eq!(run(&sample::files(&[("STYLE.md", &"a\n".repeat(900))])), []);
    }
}
