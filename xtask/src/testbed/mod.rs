//! `cargo xtask testbed`: a real Kubernetes on this machine, built from published Go modules.
//!
//! `build` fills a cache, `up` starts processes on loopback ports, `down` leaves nothing behind.
//! Deliberately absent: containers, images, and anything that needs another machine.

pub(crate) mod api;
mod daemon;
mod down;
pub(crate) mod faulty;
mod folders;
mod options;
mod plan;
pub(crate) mod real_node;
mod record;
pub(crate) mod scheduler;
pub(crate) mod stage;
mod up;
mod users;

use std::io::Write as _;
use std::path::PathBuf;

use self::options::Named;
pub(crate) use self::options::Options;
use self::record::Record;
use self::stage::{PKI, Stage};
use self::users::User;
use crate::workspace::Workspace;
use crate::{Usage, Verdict};

/// Arguments of `cargo xtask testbed`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Build the programs into the user's cache, and print where they are
    Build(BuildArgs),
    /// Start a testbed, and print how to use it
    Up(UpArgs),
    /// End a testbed and remove all that it made
    Down(DownArgs),
    /// Show the testbeds and their processes; fails where one has lost a process
    Status,
    /// Make another user of a running testbed, and print the path of its kubeconfig
    User(UserArgs),
}

#[derive(Debug, clap::Args)]
struct BuildArgs {
    /// Stages to build: pki, image, etcd, containerd, oracle, kubernetes; all where none is named
    #[arg(value_name = "STAGE")]
    stages: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct UpArgs {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, clap::Args)]
struct DownArgs {
    #[command(flatten)]
    named: Named,
    /// End every testbed of this user
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

#[derive(Debug, clap::Args)]
struct UserArgs {
    /// The user's name, which is also the name of its files
    user: String,
    /// Groups of the user
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    #[command(flatten)]
    named: Named,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> anyhow::Result<Verdict> {
    match &args.command {
        Command::Build(args) => build(workspace, args),
        Command::Up(args) => {
            let testbed = Testbed::up(workspace, &args.named.name, &args.options)?;
            testbed.print_advice();
            Ok(Verdict::Clean)
        }
        Command::Down(args) => down(args),
        Command::Status => status(),
        Command::User(args) => {
            println!("{}", user(workspace, args)?.display());
            Ok(Verdict::Clean)
        }
    }
}

/// A testbed that runs, for suites.
#[derive(Clone, Debug)]
pub(crate) struct Testbed {
    record: Record,
    kubectl: PathBuf,
}

impl Testbed {
    pub(crate) fn up(workspace: &Workspace, name: &str, options: &Options) -> anyhow::Result<Self> {
        let record = up::up(workspace, name, options)?;
        let kubectl = stage::KUBERNETES_STAGE.program(workspace, "kubectl")?;
        Ok(Self { record, kubectl })
    }

    /// Ends it, and says what is left of it, which is nothing.
    pub(crate) fn down(&self) -> anyhow::Result<Vec<String>> {
        down::down(&self.record.name)?;
        Ok(down::left_behind(&self.record))
    }

    /// URLs of the API servers.
    pub(crate) fn servers(&self) -> &[String] {
        &self.record.servers
    }

    /// kubectl as the testbed's administrator.
    pub(crate) fn kubectl(&self) -> std::process::Command {
        let mut kubectl = std::process::Command::new(&self.kubectl);
        kubectl.arg("--kubeconfig").arg(self.record.kubeconfig());
        kubectl
    }

    /// Where it keeps its files.
    pub(crate) fn folder(&self) -> &std::path::Path {
        &self.record.folder
    }

    /// The administrator's.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.record.kubeconfig()
    }

    /// A program of the testbed's Kubernetes.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.kubectl.with_file_name(name)
    }

    /// Ends the process of this name, and starts it again with the same arguments after `pause`.
    pub(crate) fn restart(&mut self, name: &str, pause: std::time::Duration) -> anyhow::Result<()> {
        self.record.restart(name, pause)
    }

    fn print_advice(&self) {
        let name = &self.record.name;
        print_all(&format!(
            "testbed {name} is up\n  \
             export KUBECONFIG={}\n  \
             {} get nodes\n  \
             cargo xtask testbed down --name {name}   # when you are done\n",
            self.record.kubeconfig().display(),
            self.record.folder.join("bin/kubectl").display(),
        ));
    }
}

/// Whoever reads only the first lines closes the pipe, which is no fault.
fn print_all(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

fn build(workspace: &Workspace, args: &BuildArgs) -> anyhow::Result<Verdict> {
    for stage in select(&args.stages)? {
        let folder = stage.build(workspace)?;
        println!("{} {}", stage.name, folder.display());
    }
    Ok(Verdict::Clean)
}

fn select(names: &[String]) -> anyhow::Result<Vec<&'static Stage>> {
    if names.is_empty() {
        return Ok(stage::ALL.to_vec());
    }
    let find = |name: &String| {
        let found = stage::ALL.iter().find(|stage| stage.name == name);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = stage::ALL.iter().map(|stage| stage.name).collect();
            let text = format!("there is no stage {name}; there are {}", known.join(", "));
            Usage(text).into()
        })
    };
    names.iter().map(find).collect()
}

fn down(args: &DownArgs) -> anyhow::Result<Verdict> {
    let names = if args.all {
        Record::all()?.into_iter().map(|r| r.name).collect()
    } else {
        vec![args.named.name.clone()]
    };
    for name in names {
        if down::down(&name)? {
            println!("testbed {name} is down");
        } else {
            println!("there is no testbed {name}");
        }
    }
    Ok(Verdict::Clean)
}

fn status() -> anyhow::Result<Verdict> {
    let testbeds = Record::all()?;
    let mut text = String::new();
    if testbeds.is_empty() {
        text.push_str("no testbed runs; `cargo xtask testbed up` starts one\n");
    }
    for testbed in &testbeds {
        text.push_str(&describe(testbed));
    }
    print_all(&text);
    let all_run = testbeds.iter().all(Record::is_running);
    Ok(if all_run {
        Verdict::Clean
    } else {
        Verdict::Findings
    })
}

fn describe(testbed: &Record) -> String {
    let state = if testbed.is_running() {
        "running"
    } else {
        "broken: a process is gone; `down`, then `up` again"
    };
    let mut lines = vec![
        format!("{}: {state}", testbed.name),
        format!("  kubeconfig {}", testbed.kubeconfig().display()),
    ];
    lines.extend(
        testbed
            .servers
            .iter()
            .map(|server| format!("  server     {server}")),
    );
    for daemon in &testbed.daemons {
        let memory = daemon.resident_bytes().map_or_else(
            || "gone".to_owned(),
            |bytes| format!("{} MB", bytes / 1_000_000),
        );
        lines.push(format!(
            "  {:<24} pid {:<8} {memory}",
            daemon.name, daemon.pid
        ));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn user(workspace: &Workspace, args: &UserArgs) -> anyhow::Result<PathBuf> {
    options::check_name(&args.user)?;
    let name = &args.named.name;
    let testbed = Record::load(name)?
        .ok_or_else(|| Usage(format!("there is no testbed {name}; `up` starts one")))?;
    let groups: Vec<&str> = args.groups.iter().map(String::as_str).collect();
    let user = User {
        file: &args.user,
        name: &args.user,
        groups: &groups,
    };
    let pki = PKI.program(workspace, "pki")?;
    users::make(&pki, &testbed.folder, &user, &testbed.servers)
}
