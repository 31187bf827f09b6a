//! Check `purity`: no clock, dice, network or Kubernetes client within reach of a pure crate.
//!
//! The list stands in ARCHITECTURE.md; [`ALWAYS`] keeps it from being emptied.
//! What only tests use is free, since a test decides nothing.

use super::architecture::{PAGE, allowed_edges};
use super::tree::Tree;
use super::{Check, Finding, PURE_CRATES};

pub(super) const CHECK: Check = Check {
    name: "purity",
    about: "what a pure crate must never reach, it does not",
    run,
};

/// Packages that the table must ban for every pure crate.
const ALWAYS: [&str; 6] = ["getrandom", "hyper", "kube", "rand", "reqwest", "tokio"];

fn run(tree: &Tree) -> Vec<Finding> {
    let allowed = allowed_edges(tree);
    let mut findings = Vec::new();
    for name in PURE_CRATES {
        let row = allowed.get(name).cloned().unwrap_or_default();
        for missing in ALWAYS
            .iter()
            .filter(|banned| !row.must_never_reach.contains(**banned))
        {
            let text = format!("the table must say that {name} never reaches `{missing}`");
            findings.push(Finding::error(PAGE, row.line, text));
        }
    }
    for package in tree.packages.members() {
        let Some(row) = allowed.get(&package.name) else {
            continue;
        };
        for banned in package.reaches.intersection(&row.must_never_reach) {
            let text = format!(
                "{name} reaches {banned}; `cargo tree -p {name} -e no-dev -i {banned}` shows how",
                name = package.name,
            );
            findings.push(Finding::error(&package.manifest, 0, text));
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

    #[test]
    fn banned_package_in_the_closure_is_found() {
        let mut tree = sample::files(&[(PAGE, architecture::SAMPLE)]);
        tree.packages = packages::obedient();
        assert_eq!(run(&tree), []);
        for banned in ALWAYS {
            let reaches: &'static [&'static str] = Box::leak(Box::new([banned]));
            let core = Sample {
                reaches,
                ..Sample::member("berth-core")
            };
            tree.packages = packages::of(&[core]);
            assert_eq!(run(&tree).len(), 1, "{banned}");
        }
    }

    #[test]
    fn emptied_table_is_found() {
        let emptied = architecture::SAMPLE.replace("`tokio`, ", "");
        let tree = sample::files(&[(PAGE, &emptied)]);
        assert_eq!(run(&tree).len(), PURE_CRATES.len());
        assert_eq!(
            run(&sample::files(&[])).len(),
            PURE_CRATES.len() * ALWAYS.len()
        );
    }
}
