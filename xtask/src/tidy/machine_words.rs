//! Check `machine-words`: the repository names no machine that it happened to be written on.
//!
//! The default of `BERTH_DATA` is a path outside the repository and stands only near that name.

use super::tree::Tree;
use super::{Check, Finding};
use crate::workspace::DATA_VARIABLE;

pub(super) const CHECK: Check = Check {
    name: "machine-words",
    about: "no path of one machine; data by BERTH_DATA only",
    run,
};

/// Folders of one machine; spelt in two halves, so that this file does not find itself.
const MACHINE_FOLDERS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];
const OUTSIDE_DATA: &str = concat!("../sha", "red");
/// How far from `OUTSIDE_DATA` the name of the variable may stand, in lines.
const NEAR_LINES: usize = 3;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts() {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| names(line, folder)) {
                let text = format!("`{folder}` is a folder of one machine");
                findings.push(Finding::error(path, index + 1, text));
            }
            if line.contains(OUTSIDE_DATA) && !variable_is_near(&lines, index) {
                let text = format!("`{OUTSIDE_DATA}` is only the default of {DATA_VARIABLE}");
                findings.push(Finding::error(path, index + 1, text));
            }
        }
    }
    findings
}

/// True where the folder stands at the start of a path, not inside a longer one.
fn names(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"./_-}>*".contains(c))
    })
}

fn variable_is_near(lines: &[&str], index: usize) -> bool {
    let last = (index + NEAR_LINES).min(lines.len() - 1);
    lines[index.saturating_sub(NEAR_LINES)..=last]
        .iter()
        .any(|line| line.contains(DATA_VARIABLE))
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    fn count(text: &str) -> usize {
        run(&sample::files(&[("a.md", text)])).len()
    }

    #[test]
    fn folders_of_a_machine_are_found() {
        for folder in MACHINE_FOLDERS {
            assert_eq!(count(&format!("see {folder}main\n")), 1);
            assert_eq!(count(&format!("`{folder}x`\n")), 1);
            assert_eq!(count(&format!("https://example.org{folder}x\n")), 0);
            assert_eq!(count(&format!("a path such as .{folder}x\n")), 0);
        }
    }

    #[test]
    fn outside_data_needs_its_variable_near() {
        assert_eq!(count(&format!("read {OUTSIDE_DATA}/data\n")), 1);
        assert_eq!(
            count(&format!("{DATA_VARIABLE}, default\n{OUTSIDE_DATA}/data\n")),
            0
        );
        assert_eq!(
            count(&format!("{DATA_VARIABLE}\n\n\n\n\n{OUTSIDE_DATA}/data\n")),
            1
        );
    }
}
