//! A scheduler under test: a process that is started and ended by a suite or a bench.
//!
//! Invariant: it ends with its owner. What it says is kept beside the logs of the testbed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, SysconfVar, sysconf};

use super::Testbed;

/// How long a scheduler may take to give back what it holds.
const GRACE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// A scheduler that runs.
#[derive(Debug)]
pub(crate) struct Scheduler {
    child: Child,
    log: PathBuf,
}

/// What a process has used so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    pub cpu_seconds: f64,
    /// Largest resident set, in 10^6 bytes.
    pub memory_peak_mb: f64,
}

/// Makes the kinds of Berth's own known to a testbed.
pub(crate) fn install_crds(testbed: &Testbed, berth: &Path) -> anyhow::Result<()> {
    let mut install = Command::new(berth);
    install.args(["crd", "install", "--kubeconfig"]);
    crate::process::require(install.arg(testbed.kubeconfig()))
}

impl Scheduler {
    /// Starts `berth scheduler` with more arguments, before the server that `kubeconfig` leads to.
    pub(crate) fn berth(
        testbed: &Testbed,
        program: &Path,
        kubeconfig: &Path,
        log: &str,
        arguments: &[&str],
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["scheduler", "--listen", "127.0.0.1:0", "--kubeconfig"])
            .arg(kubeconfig)
            .args(arguments);
        Self::start(testbed, command, log)
    }

    /// Starts a process that schedules.
    pub(crate) fn start(
        testbed: &Testbed,
        mut command: Command,
        log: &str,
    ) -> anyhow::Result<Self> {
        let log = testbed.folder().join("logs").join(format!("{log}.log"));
        let file = File::options().create(true).append(true).open(&log)?;
        command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        let shown = crate::process::show(&command);
        let child = command.spawn();
        let child = child.with_context(|| format!("unable to start {shown}"))?;
        Ok(Self { child, log })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once, as a crash would, and returns when.
    pub(crate) fn kill_now(&self) -> Instant {
        let at = Instant::now();
        self.signal(Signal::SIGKILL);
        at
    }

    /// Ends it at once, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, and says whether it did so by itself.
    pub(crate) fn stop(mut self) -> bool {
        self.signal(Signal::SIGTERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if self.has_ended() {
                return true;
            }
            std::thread::sleep(POLL);
        }
        false
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    fn signal(&self, signal: Signal) {
        if let Ok(pid) = i32::try_from(self.pid()) {
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    pub(crate) fn usage(&self) -> anyhow::Result<Usage> {
        let folder = format!("/proc/{}", self.pid());
        let stat = fs::read_to_string(format!("{folder}/stat"))?;
        let status = fs::read_to_string(format!("{folder}/status"))?;
        let ticks = sysconf(SysconfVar::CLK_TCK)?.context("the kernel has no clock ticks")?;
        usage(&stat, &status, ticks as f64).context("unable to read what the process has used")
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn usage(stat: &str, status: &str, ticks_per_second: f64) -> Option<Usage> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11); // field 14 is the first that counts
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u32 = peak.split_whitespace().nth(1)?.parse().ok()?;
    Some(Usage {
        cpu_seconds: (f64::from(user) + f64::from(system)) / ticks_per_second,
        memory_peak_mb: f64::from(kib) * 1024.0 / 1e6,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_read_from_the_kernel() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20";
        let status = "Name:\tx\nVmHWM:\t  1000 kB\n";
        let read = usage(stat, status, 100.0).unwrap();
        assert_eq!(read.cpu_seconds, 2.0);
        assert_eq!(read.memory_peak_mb, 1.024);
        assert!(usage(stat, "Name: x", 100.0).is_none());
    }
}
