//! One background process of a testbed: started detached, found again later, ended for certain.
//!
//! Invariant: a process is known by its number and its start time, so that a number that the kernel
//! has given to somebody else is never signalled.

use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// How long a process may take to end by itself; API servers drain open watches first.
const GRACE: Duration = Duration::from_secs(20);
/// How often an ending process is looked at.
const POLL: Duration = Duration::from_millis(50);
/// Lines of a log that an error shows: enough for the reason, few enough for a screen.
const TAIL_LINES: usize = 15;

/// What to start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Spec {
    pub name: String,
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// Folders put in front of the search path.
    pub search_path: Vec<PathBuf>,
}

/// A process that was started.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Daemon {
    pub name: String,
    pub pid: i32,
    /// Clock ticks after boot, from the kernel.
    started: u64,
}

impl Daemon {
    /// Starts a process in a group of its own, with its output in `log`.
    pub(super) fn start(spec: &Spec, log: &Path) -> anyhow::Result<Self> {
        let file = File::options().create(true).append(true).open(log)?;
        let mut command = Command::new(&spec.program);
        command
            .args(&spec.arguments)
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .process_group(0); // an interrupt at the terminal is not for it
        if !spec.search_path.is_empty() {
            command.env("PATH", search_path(&spec.search_path)?);
        }
        let child = command
            .spawn()
            .with_context(|| format!("unable to start {}", spec.program.display()))?;
        let pid = i32::try_from(child.id()).context("a process number beyond 31 bits")?;
        let started = stat(pid).map_or(0, |stat| stat.started); // gone already: nothing matches 0
        Ok(Self {
            name: spec.name.clone(),
            pid,
            started,
        })
    }

    /// True while the very process that was started runs.
    pub(super) fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|stat| stat.started == self.started && !stat.is_dead)
    }

    /// What it was started with, as the kernel knows it.
    pub(super) fn spec(&self) -> anyhow::Result<Spec> {
        let text =
            String::from_utf8(self.command_line()?).context("arguments that are not UTF-8")?;
        let mut words = text.trim_end_matches('\0').split('\0').map(str::to_owned);
        Ok(Spec {
            name: self.name.clone(),
            program: words.next().unwrap_or_default().into(),
            arguments: words.collect(),
            search_path: Vec::new(),
        })
    }

    /// The program and its arguments, each ended by a zero byte. A process that has just been
    /// started has none until the kernel has laid out its stack; one that has ended has none again.
    fn command_line(&self) -> anyhow::Result<Vec<u8>> {
        let deadline = Instant::now() + GRACE;
        while self.is_alive() && Instant::now() < deadline {
            let bytes = fs::read(format!("/proc/{}/cmdline", self.pid))?;
            if !bytes.is_empty() {
                return Ok(bytes);
            }
            std::thread::sleep(POLL);
        }
        anyhow::bail!("{} (process {}) has ended", self.name, self.pid)
    }

    /// Resident memory in bytes, where the process runs.
    pub(super) fn resident_bytes(&self) -> Option<u64> {
        if !self.is_alive() {
            return None;
        }
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    }

    /// Asks the process to end, and ends it if it does not.
    pub(super) fn stop(&self) {
        self.signal(Signal::SIGTERM);
        if !self.ends_within(GRACE) {
            self.signal(Signal::SIGKILL);
            self.ends_within(GRACE);
        }
    }

    fn signal(&self, signal: Signal) {
        if self.is_alive() {
            // A process that ended between the two lines is what was wanted.
            let _ = kill(Pid::from_raw(self.pid), signal);
        }
    }

    fn ends_within(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.is_alive() {
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(POLL);
        }
        true
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"name": self.name, "pid": self.pid, "started": self.started})
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        Some(Self {
            name: value["name"].as_str()?.to_owned(),
            pid: i32::try_from(value["pid"].as_i64()?).ok()?,
            started: value["started"].as_u64()?,
        })
    }
}

/// Stops several processes at once, so that the slowest decides.
pub(super) fn stop_all(daemons: &[Daemon]) {
    std::thread::scope(|scope| {
        for daemon in daemons {
            scope.spawn(|| daemon.stop());
        }
    });
}

/// The last lines of a log, indented, for an error.
pub(super) fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.len().saturating_sub(TAIL_LINES);
    lines[first..]
        .iter()
        .map(|line| format!("    {line}\n"))
        .collect()
}

struct Stat {
    is_dead: bool,
    started: u64,
}

/// Reads `/proc/PID/stat`; the second field is a name in brackets that may hold anything.
fn stat(pid: i32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?; // field 3
    let started = fields.nth(18)?.parse().ok()?; // field 22
    Some(Stat {
        is_dead: matches!(state, "Z" | "X"),
        started,
    })
}

fn search_path(first: &[PathBuf]) -> anyhow::Result<std::ffi::OsString> {
    let present = std::env::var_os("PATH").unwrap_or_default();
    let folders = first.iter().cloned().chain(std::env::split_paths(&present));
    Ok(std::env::join_paths(folders)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(program: &str, arguments: &[&str]) -> Spec {
        Spec {
            name: program.to_owned(),
            program: PathBuf::from(program),
            arguments: arguments.iter().map(|&a| a.to_owned()).collect(),
            search_path: Vec::new(),
        }
    }

    fn log(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("berth-daemon-{}-{name}.log", std::process::id()))
    }

    #[test]
    fn started_process_lives_until_it_is_stopped() {
        let log = log("stop");
        let daemon = Daemon::start(&spec("sleep", &["600"]), &log).unwrap();
        assert!(daemon.is_alive());
        assert!(daemon.resident_bytes().is_some());
        daemon.stop();
        assert!(!daemon.is_alive());
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn running_process_tells_how_it_was_started() {
        let log = log("spec");
        let spec = spec("sleep", &["600"]);
        let daemon = Daemon::start(&spec, &log).unwrap();
        let told = daemon.spec().unwrap();
        daemon.stop();
        fs::remove_file(log).unwrap();
        assert_eq!(told.program, spec.program);
        assert_eq!(told.arguments, spec.arguments);
        daemon.spec().unwrap_err();
    }

    #[test]
    fn process_that_is_still_being_started_is_waited_for() {
        for _ in 0..20 {
            let log = log("early");
            let daemon = Daemon::start(&spec("sleep", &["600"]), &log).unwrap();
            let told = daemon.spec();
            kill(Pid::from_raw(daemon.pid), Signal::SIGKILL).unwrap();
            daemon.stop();
            fs::remove_file(log).unwrap();
            assert_eq!(told.unwrap().arguments, ["600"]);
        }
    }

    #[test]
    fn number_given_to_somebody_else_is_not_ours() {
        let log = log("reuse");
        let daemon = Daemon::start(&spec("sleep", &["600"]), &log).unwrap();
        let stranger = Daemon {
            started: daemon.started + 1,
            ..daemon.clone()
        };
        assert!(!stranger.is_alive());
        stranger.stop();
        assert!(daemon.is_alive());
        daemon.stop();
        fs::remove_file(log).unwrap();
    }

    #[test]
    fn daemon_survives_being_written_down() {
        let daemon = Daemon {
            name: "etcd-0".to_owned(),
            pid: 42,
            started: 7,
        };
        assert_eq!(Daemon::from_json(&daemon.to_json()), Some(daemon));
    }

    #[test]
    fn name_of_a_process_may_hold_brackets_and_blanks() {
        let numbers = (4..=52)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(" ");
        let stat = parse_stat(&format!("7 (a) b (c) S {numbers}")).unwrap();
        assert_eq!(stat.started, 22);
        assert!(!stat.is_dead);
        assert!(parse_stat(&format!("7 (x) Z {numbers}")).unwrap().is_dead);
    }
}
