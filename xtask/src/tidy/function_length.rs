//! Check `function-length`: one function owns the branching, its leaves are short.

use super::tree::Tree;
use super::{Check, Finding};

pub(super) const CHECK: Check = Check {
    name: "function-length",
    about: "functions of at most 70 lines",
    run,
};

const LIMIT_LINES: usize = 70;

fn run(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, file) in tree.product_rust() {
        for function in file
            .functions
            .iter()
            .filter(|function| function.lines > LIMIT_LINES)
        {
            let text = format!(
                "`{}` has {} lines, not {LIMIT_LINES}",
                function.name, function.lines
            );
            findings.push(Finding::error(path, function.line, text));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::tree::sample;
    use super::*;

    fn findings_of(body_lines: usize) -> Vec<Finding> {
        let text = format!(
            "\nfn decide() {{\n{}}}\n",
            "    work();\n".repeat(body_lines)
        );
        run(&sample::files(&[("crates/a/src/x.rs", &text)]))
    }

    #[test]
    fn function_over_the_limit_is_named_with_its_line() {
        assert_eq!(findings_of(68), []);
        let findings = findings_of(69);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
        assert!(findings[0].text.contains("`decide`"));
    }
}
