//! The oracle answers what its cases expect.
//!
//! A case is one line of `testbed/oracle/cases.jsonl`: `about`, `case`, and what to `expect` of the
//! answer. An expectation names plugins and not reasons, whose text changes between versions.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde_json::{Map, Value};

use crate::tally::{Checked, Tally};
use crate::testbed::stage;
use crate::workspace::Workspace;

const CASES: &str = "testbed/oracle/cases.jsonl";

pub(super) fn run(workspace: &Workspace) -> anyhow::Result<Tally> {
    let oracle = stage::ORACLE.program(workspace, "oracle")?;
    let text = std::fs::read_to_string(workspace.path(CASES))?;
    let cases = text
        .lines()
        .map(|line| serde_json::from_str(line).with_context(|| format!("a line of {CASES}")))
        .collect::<anyhow::Result<Vec<Value>>>()?;
    let answers = ask(&oracle, &cases)?;
    let mut tally = Tally::default();
    for (case, answer) in cases.iter().zip(&answers) {
        let faults = faults(&case["expect"], answer);
        for fault in &faults {
            println!("oracle: {}: {fault}\n  {answer}", case["about"]);
        }
        tally.count(Checked::of(faults.is_empty()));
    }
    println!("oracle: {} cases: {tally}", cases.len());
    Ok(tally)
}

fn ask(oracle: &std::path::Path, cases: &[Value]) -> anyhow::Result<Vec<Value>> {
    let mut child = Command::new(oracle)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped()) // a case that makes a panic is meant to
        .spawn()
        .context("unable to start the oracle")?;
    let mut stdin = child.stdin.take().expect("stdin was asked to be a pipe");
    let lines: Vec<String> = cases.iter().enumerate().map(line).collect();
    let output = std::thread::scope(|scope| {
        // Written beside the reading: either pipe may be full.
        scope.spawn(move || stdin.write_all(lines.concat().as_bytes()));
        child.wait_with_output()
    })?;
    ensure!(
        output.status.success(),
        "the oracle ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let answers = String::from_utf8(output.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Value>, _>>()?;
    ensure!(
        answers.len() == cases.len(),
        "{} answers to {} cases",
        answers.len(),
        cases.len()
    );
    for (index, answer) in answers.iter().enumerate() {
        ensure!(answer["id"] == index, "answer {index} has another id");
    }
    Ok(answers)
}

fn line((index, case): (usize, &Value)) -> String {
    let mut question = case["case"].clone();
    question["id"] = index.into();
    format!("{question}\n")
}

/// Where the answer is not what the case expects; parts that the case does not name must be absent.
fn faults(expect: &Value, answer: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if let Some(wanted) = expect["answers"].as_array() {
        let answers = answer["answers"].as_array().cloned().unwrap_or_default();
        if answers.len() != wanted.len() {
            return vec![format!("{} answers", answers.len())];
        }
        for (wanted, answer) in wanted.iter().zip(&answers) {
            faults.extend(self::faults(wanted, answer));
        }
        return faults;
    }
    if let Some(part) = expect["error"].as_str() {
        let error = answer["error"].as_str().unwrap_or_default();
        if !error.contains(part) {
            faults.push(format!("no error about {part}"));
        }
        return faults;
    }
    if answer["feasible"] != expect["feasible"] {
        faults.push(format!("feasible {}", answer["feasible"]));
    }
    for kind in ["infeasible", "errors"] {
        if !same_plugins(&expect[kind], &answer[kind]) {
            faults.push(format!("{kind} {}", answer[kind]));
        }
    }
    for kind in ["prefilter", "preenqueue"] {
        if answer[kind]["plugin"] != expect[kind] {
            faults.push(format!("{kind} {}", answer[kind]));
        }
    }
    faults
}

/// The same nodes, each refused by one of the plugins that the case allows for it.
fn same_plugins(expect: &Value, answer: &Value) -> bool {
    let nothing = Map::new();
    let expect = expect.as_object().unwrap_or(&nothing);
    let answer = answer.as_object().unwrap_or(&nothing);
    expect.len() == answer.len()
        && expect.iter().all(|(node, plugins)| {
            let got = answer
                .get(node)
                .and_then(|refusal| refusal["plugin"].as_str());
            let allowed = plugins.as_str().unwrap_or_default().split('|');
            got.is_some_and(|got| allowed.into_iter().any(|plugin| plugin == got))
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn answer_that_differs_in_any_part_is_a_fault() {
        let expect = json!({"feasible": ["a"], "infeasible": {"b": "X|Y"}});
        let right = json!({"feasible": ["a"], "infeasible": {"b": {"plugin": "Y"}}});
        assert!(faults(&expect, &right).is_empty());
        for wrong in [
            json!({"feasible": [], "infeasible": {"b": {"plugin": "Y"}}}),
            json!({"feasible": ["a"], "infeasible": {"b": {"plugin": "Z"}}}),
            json!({"feasible": ["a"], "infeasible": {}}),
            json!({"feasible": ["a"], "infeasible": {"b": {"plugin": "Y"}},
                   "errors": {"c": {"plugin": "Y"}}}),
            json!({"feasible": ["a"], "infeasible": {"b": {"plugin": "Y"}},
                   "prefilter": {"plugin": "Y"}}),
            json!({"error": "a plugin panicked"}),
        ] {
            assert!(!faults(&expect, &wrong).is_empty(), "{wrong}");
        }
    }
}
