//! The other side: a program that answers cases, a line each.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::question::{ALL, Answers, Said, UNRESOLVABLE, UNSCHEDULABLE};

/// The variable that names the program.
const VARIABLE: &str = "BERTH_ORACLE";

/// A running oracle.
#[derive(Debug)]
pub(crate) struct Oracle {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Oracle {
    pub(crate) fn start() -> Result<Self, String> {
        let program = std::env::var_os(VARIABLE)
            .ok_or_else(|| format!("{VARIABLE} does not name the oracle's program"))?;
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("unable to start {}: {error}", program.display()))?;
        let input = child.stdin.take();
        let output = child.stdout.take().expect("standard output is piped");
        Ok(Self {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    /// The program's answer; an error inside if it can't read or judge the case.
    pub(crate) fn ask(&mut self, case: &Value) -> Result<Result<Answers, String>, String> {
        let input = self
            .input
            .as_mut()
            .expect("input stays open while it is asked");
        writeln!(input, "{case}")
            .and_then(|()| input.flush())
            .map_err(|error| format!("the oracle takes no more cases: {error}"))?;
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .map_err(|error| format!("unable to read the oracle's answer: {error}"))?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| format!("the oracle's answer is no JSON: {error}: {line}"))?;
        Ok(read(&answer))
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // Closing its input ends it; whether it ends well is of no interest any more.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn read(answer: &Value) -> Result<Answers, String> {
    if let Some(error) = answer["error"].as_str() {
        return Err(error.into());
    }
    if let Some(refusal) = answer.get("prefilter") {
        return Ok(Answers::from([(ALL.to_owned(), said(refusal))]));
    }
    let mut answers = Answers::new();
    for node in answer["feasible"].as_array().into_iter().flatten() {
        answers.insert(node.as_str().unwrap_or_default().into(), Said::Fits);
    }
    for key in ["infeasible", "errors"] {
        for (node, refusal) in answer[key].as_object().into_iter().flatten() {
            answers.insert(node.clone(), said(refusal));
        }
    }
    Ok(answers)
}

fn said(refusal: &Value) -> Said {
    let plugin = refusal["plugin"].as_str().unwrap_or_default();
    // Nodes that PreFilter left out come with every plugin that named nodes, and without a reason.
    let is_joint = refusal.get("reasons").is_none_or(|reasons| {
        let text = reasons.to_string();
        text.contains("didn't satisfy plugin")
    });
    let plugin = if is_joint {
        String::new()
    } else {
        plugin.to_owned()
    };
    match refusal["code"].as_str() {
        Some("Unschedulable") => Said::Refused(plugin, UNSCHEDULABLE),
        Some("UnschedulableAndUnresolvable") => Said::Refused(plugin, UNRESOLVABLE),
        _ => Said::Failed(refusal["plugin"].as_str().unwrap_or_default().into()),
    }
}
