//! Check `licences`: every manifest names the project's licence, and its text stands at the root.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "licences",
    about: "Apache-2.0 in every manifest, its text in LICENSE",
    run,
};

const LICENCE: &str = "Apache-2.0";

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in tree.packages.members() {
        if package.licence.as_deref() != Some(LICENCE) {
            let text = format!(
                "package {} does not say `license = \"{LICENCE}\"`",
                package.name
            );
            findings.push(Finding::error(&package.manifest, 0, text));
        }
    }
    if !tree
        .text("LICENSE")
        .is_some_and(|text| text.contains("Apache License"))
    {
        findings.push(Finding::error(
            "LICENSE",
            0,
            "the licence's text is missing",
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::metadata::sample::{self as packages, Sample};
    use super::super::tree::sample;
    use super::*;

    #[test]
    fn manifest_without_the_licence_is_found() {
        for (licence, findings) in [(Some(LICENCE), 0), (Some("MIT"), 1), (None, 1)] {
            let mut tree = sample::files(&[("LICENSE", "Apache License")]);
            tree.packages = packages::of(&[Sample {
                licence,
                ..Sample::member("berth-core")
            }]);
            assert_eq!(run(&tree).len(), findings, "{licence:?}");
        }
    }

    #[test]
    fn missing_text_is_found() {
        assert_eq!(run(&sample::files(&[])).len(), 1);
    }
}
