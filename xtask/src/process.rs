//! Running other programs: with their output shown live, watched line by line, or captured.
//!
//! Invariant: a program that could not be started is an error that names it.
//! A program that ran and failed is an answer, except in `require` and `capture`.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, bail};

/// Runs with inherited output; true if it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("unable to start {}", show(command)))?;
    Ok(status.success())
}

/// Runs with inherited output and fails unless the program succeeded.
pub(crate) fn require(command: &mut Command) -> anyhow::Result<()> {
    if !succeeds(command)? {
        bail!("failed: {}", show(command));
    }
    Ok(())
}

/// Runs and shows standard output live, handing each line to `watch`; true if it succeeded.
pub(crate) fn watch_stdout(command: &mut Command, watch: impl FnMut(&str)) -> anyhow::Result<bool> {
    command.stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("unable to start {}", show(command)))?;
    let stdout = child.stdout.take().expect("stdout was asked to be a pipe");
    echo_lines(stdout, watch)?;
    Ok(child.wait()?.success())
}

/// Like [`watch_stdout`], for programs that report on standard error.
pub(crate) fn watch_stderr(command: &mut Command, watch: impl FnMut(&str)) -> anyhow::Result<bool> {
    command.stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("unable to start {}", show(command)))?;
    let stderr = child.stderr.take().expect("stderr was asked to be a pipe");
    echo_lines(stderr, watch)?;
    Ok(child.wait()?.success())
}

/// Runs with standard output captured and standard error shown; success is not required.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Output> {
    command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("unable to start {}", show(command)))
}

/// Runs and returns standard output; fails unless the program succeeded.
pub(crate) fn capture(command: &mut Command) -> anyhow::Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        bail!("failed with {}: {}", output.status, show(command));
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("{} printed something that is not UTF-8", show(command)))
}

/// The command as a person would type it, for messages.
pub(crate) fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The program's name is shown, not its folder: `cargo test`, whatever toolchain runs it.
pub(crate) fn headline(command: &Command) -> String {
    let shown = show(command);
    let (program, rest) = shown.split_once(' ').unwrap_or((&shown, ""));
    let name = program.rsplit('/').next().unwrap_or(program);
    format!("{name} {rest}").trim_end().to_owned()
}

fn echo_lines(stream: impl Read, mut watch: impl FnMut(&str)) -> anyhow::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        let line = String::from_utf8_lossy(&bytes);
        print!("{line}");
        watch(line.trim_end());
        bytes.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_reaches_the_watcher() {
        let mut seen = Vec::new();
        let ok = watch_stdout(Command::new("printf").arg("one\\ntwo\\nlast"), |line| {
            seen.push(line.to_owned());
        });
        assert!(ok.unwrap());
        assert_eq!(seen, ["one", "two", "last"]);
    }

    #[test]
    fn failure_of_a_program_is_an_answer_and_absence_an_error() {
        assert!(!succeeds(&mut Command::new("false")).unwrap());
        assert!(require(&mut Command::new("false")).is_err());
        let error = succeeds(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(error.to_string().contains("no-such-program-here"));
    }

    #[test]
    fn headline_drops_the_folder_of_the_program() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(headline(&command), "cargo fmt --all");
    }
}
