//! Check `edges`: members depend on each other only as the table in ARCHITECTURE.md allows.

use super::architecture::{PAGE, allowed_edges};
use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "edges",
    about: "crate edges as allowed by ARCHITECTURE.md",
    run,
};

fn run(tree: &Tree) -> Vec<Finding> {
    let allowed = allowed_edges(tree);
    let mut findings = Vec::new();
    for package in tree.packages.members() {
        let Some(row) = allowed.get(&package.name) else {
            let text = format!(
                "crate {} is not in the table of allowed edges",
                package.name
            );
            findings.push(Finding::error(PAGE, 0, text));
            continue;
        };
        for used in package.edges.difference(&row.may_depend_on) {
            let text = format!("{} may not depend on {used}", package.name);
            findings.push(Finding::error(&package.manifest, 0, text));
        }
    }
    for (name, row) in &allowed {
        if tree.packages.member(name).is_none() {
            let text = format!("the table names crate {name}, which does not exist");
            findings.push(Finding::error(PAGE, row.line, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::architecture;
    use super::super::metadata::sample::{self as packages, Sample};
    use super::super::tree::sample;
    use super::*;

    fn texts_of(members: &[Sample]) -> Vec<String> {
        let mut tree = sample::files(&[(PAGE, architecture::SAMPLE)]);
        tree.packages = packages::of(members);
        run(&tree).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn edge_against_the_arrow_is_found() {
        let core = Sample {
            edges: &["berth-sim"],
            ..Sample::member("berth-core")
        };
        let texts = texts_of(&[
            core,
            Sample::member("berth-audit"),
            Sample::member("berth-sim"),
        ]);
        assert_eq!(texts, ["berth-core may not depend on berth-sim"]);
    }

    #[test]
    fn crate_without_a_row_and_row_without_a_crate_are_found() {
        let members = [
            Sample::member("berth-audit"),
            Sample::member("berth-core"),
            Sample::member("berth-sim"),
            Sample::member("new"),
        ];
        assert_eq!(
            texts_of(&members),
            ["crate new is not in the table of allowed edges"]
        );
        let texts = texts_of(&[Sample::member("berth-audit"), Sample::member("berth-core")]);
        assert_eq!(
            texts,
            ["the table names crate berth-sim, which does not exist"]
        );
    }
}
