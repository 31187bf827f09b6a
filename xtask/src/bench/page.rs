//! docs/book/src/performance.md: one section a group, each replaced as a whole by its own run.

use std::collections::BTreeMap;

use super::row::{Row, table};

const TITLE: &str = "# Performance

Every figure stands beside its goal and is made by `cargo xtask bench`, which writes this page.
Whole-process figures are medians of interleaved runs of a release build.
CPU seconds stand beside wall time where a shared machine would blur the latter.
";
const OPEN: &str = "<!-- group: ";
const CLOSE: &str = " -->";

/// The sections of a page by group; empty for an empty page.
pub(super) fn sections(page: &str) -> BTreeMap<String, String> {
    let mut sections = BTreeMap::new();
    for part in page.split(OPEN).skip(1) {
        if let Some((name, text)) = part.split_once(CLOSE) {
            sections.insert(name.to_owned(), text.trim().to_owned());
        }
    }
    sections
}

/// The section of one group.
pub(super) fn section(about: &str, machine: &str, rows: &[Row]) -> String {
    let mut commands: Vec<&str> = rows.iter().map(|row| row.command.as_str()).collect();
    commands.dedup();
    let commands: Vec<String> = commands
        .iter()
        .map(|command| format!("- `{command}`"))
        .collect();
    format!(
        "## {about}\n\n{machine}\n\n{}\nWhat was measured, in the order of the table:\n\n{}",
        table(rows),
        commands.join("\n")
    )
}

/// The whole page; groups without a section are left out.
pub(super) fn render(order: &[&str], sections: &BTreeMap<String, String>) -> String {
    let mut page = TITLE.to_owned();
    for name in order {
        if let Some(text) = sections.get(*name) {
            page.push_str(&format!("\n{OPEN}{name}{CLOSE}\n\n{text}\n"));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn group_that_was_not_run_keeps_its_section() {
        let first = BTreeMap::from([
            ("core".to_owned(), "## Core\n\nold".to_owned()),
            ("node".to_owned(), "## Node\n\nkept".to_owned()),
        ]);
        let page = render(&["core", "node"], &first);
        let mut read = sections(&page);
        assert_eq!(read, first);
        read.insert("core".to_owned(), "## Core\n\nnew".to_owned());
        let page = render(&["core", "node"], &read);
        assert!(page.contains("new") && page.contains("kept") && !page.contains("old"));
    }

    #[test]
    fn group_that_is_gone_leaves_the_page() {
        let old = BTreeMap::from([("gone".to_owned(), "## Gone".to_owned())]);
        assert!(!render(&["core"], &old).contains("Gone"));
    }
}
