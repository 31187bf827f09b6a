//! The table "Allowed edges" of ARCHITECTURE.md: the page is the configuration of two checks.
//!
//! Columns: the crate, the members that it may depend on, the packages that it must never reach.
//! A name counts where it stands in backticks; further columns are for people.

use std::collections::{BTreeMap, BTreeSet};

use super::tree::Tree;

pub(super) const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Allowed edges";

/// One row of the table.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Row {
    /// 1-based line of the page.
    pub line: usize,
    pub may_depend_on: BTreeSet<String>,
    pub must_never_reach: BTreeSet<String>,
}

/// Rows by crate; empty where there is no page or no table.
pub(super) fn allowed_edges(tree: &Tree) -> BTreeMap<String, Row> {
    let lines = tree.text(PAGE).unwrap_or_default().lines().enumerate();
    let section = lines
        .skip_while(|(_, line)| *line != HEADING)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    section
        .filter_map(|(index, line)| row(index + 1, line))
        .collect()
}

fn row(line: usize, text: &str) -> Option<(String, Row)> {
    let mut cells = text.trim().strip_prefix('|')?.split('|').map(names);
    let name = cells.next()?.into_iter().next()?; // heading and rule have no name in backticks
    let may_depend_on = cells.next()?;
    let must_never_reach = cells.next().unwrap_or_default();
    Some((
        name,
        Row {
            line,
            may_depend_on,
            must_never_reach,
        },
    ))
}

fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
pub(super) const SAMPLE: &str = "# Map

## Allowed edges

| crate | may depend on | must never reach | so that |
|---|---|---|---|
| `berth-core` | nothing | `tokio`, `kube`, `hyper`, `reqwest`, `rand`, `getrandom` | it is pure |
| `berth-audit` | `berth-core` | `tokio`, `kube`, `hyper`, `reqwest`, `rand`, `getrandom` | it is pure |
| `berth-sim` | `berth-core` | `tokio`, `kube`, `hyper`, `reqwest`, `rand`, `getrandom` | it is pure |

## After

| `berth-node` | `berth-core` | | not in the table |
";

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    #[test]
    fn table_is_read_from_its_section_alone() {
        let rows = allowed_edges(&sample::files(&[(PAGE, SAMPLE)]));
        assert_eq!(
            rows.keys().map(String::as_str).collect::<Vec<_>>(),
            ["berth-audit", "berth-core", "berth-sim"]
        );
        assert!(rows["berth-core"].may_depend_on.is_empty());
        assert!(rows["berth-sim"].may_depend_on.contains("berth-core"));
        assert!(rows["berth-sim"].must_never_reach.contains("tokio"));
        assert_eq!(rows["berth-sim"].line, 9);
    }

    #[test]
    fn page_without_table_has_no_rows() {
        assert!(allowed_edges(&sample::files(&[(PAGE, "# Map\n")])).is_empty());
        assert!(allowed_edges(&sample::files(&[])).is_empty());
    }
}
