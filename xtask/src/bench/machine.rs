//! What the figures were measured on, in one sentence a reader can compare with.

use std::fs;

use anyhow::Context as _;

use crate::process;
use crate::workspace::Workspace;

/// Processor, memory, kernel, compiler and date.
pub(super) fn describe(workspace: &Workspace) -> anyhow::Result<String> {
    let processor = processor(&process::capture(&mut workspace.command("lscpu"))?);
    let memory = memory_gib(&fs::read_to_string("/proc/meminfo")?).context("no MemTotal")?;
    let kernel = process::capture(workspace.command("uname").arg("-sr"))?;
    let compiler = process::capture(workspace.command("rustc").arg("--version"))?;
    let date = process::capture(workspace.command("date").args(["-u", "+%Y-%m-%d"]))?;
    Ok(format!(
        "Measured on {}: {processor}, {memory:.0} GiB of memory, {}, {}.",
        date.trim(),
        kernel.trim(),
        compiler.trim()
    ))
}

fn processor(lscpu: &str) -> String {
    let field = |name: &str| {
        let line = lscpu
            .lines()
            .find(|line| line.split(':').next() == Some(name));
        line.and_then(|line| line.split_once(':'))
            .map_or("unknown", |(_, value)| value.trim())
    };
    format!(
        "{} cores of {} ({})",
        field("CPU(s)"),
        field("Model name"),
        field("Architecture")
    )
}

fn memory_gib(meminfo: &str) -> Option<f64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0 / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_is_read_from_lscpu() {
        let lscpu = "Architecture:        x86_64\nCPU(s):              2\n\
                     On-line CPU(s) list: 0,1\nModel name:          A Processor\n";
        assert_eq!(processor(lscpu), "2 cores of A Processor (x86_64)");
        assert_eq!(processor(""), "unknown cores of unknown (unknown)");
    }

    #[test]
    fn memory_is_read_in_gib() {
        assert_eq!(
            memory_gib("MemFree: 1 kB\nMemTotal:  25165824 kB\n")
                .unwrap()
                .round(),
            24.0
        );
        assert_eq!(memory_gib("MemFree: 1 kB\n"), None);
    }
}
