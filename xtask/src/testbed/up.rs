//! `up`: builds what is missing, starts the processes, waits until the cluster answers.
//!
//! Invariant: an `up` that fails leaves nothing running and nothing on disk but what it says.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use super::daemon::{self, Daemon, Spec};
use super::options::Options;
use super::plan::{Ports, Programs, Site};
use super::real_node::{self, RealNode};
use super::record::{self, Record};
use super::stage::{CONTAINERD, ETCD, IMAGE, KUBERNETES_STAGE, PKI};
use super::users;
use crate::process;
use crate::workspace::Workspace;

/// Longest wait for an API server: three seconds are usual, a loaded machine takes much longer.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// Longest wait for the fake nodes: about 500 a second register.
const NODES_WITHIN: Duration = Duration::from_secs(300);
/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(100);

/// Starts a testbed and returns its record; an equal one that runs already is left alone.
pub(super) fn up(workspace: &Workspace, name: &str, options: &Options) -> anyhow::Result<Record> {
    options.check()?;
    let options = &absolute(options)?;
    let programs = build(workspace, options)?;
    let _lock = record::lock(name)?;
    if let Some(running) = Record::load(name)?.filter(Record::is_running) {
        if running.options != options.to_json() {
            bail!(
                "testbed {name} runs with other options; \
                 end it with `cargo xtask testbed down --name {name}`, or choose another --name"
            );
        }
        println!("testbed {name} is running already");
        return Ok(running);
    }
    super::down::down_locked(name)?; // what an interrupted `up` or a reboot left
    let ports = Ports::take(options)?;
    let record = Record::new(name, options.to_json(), Vec::new())?;
    let mut start = Start {
        site: Site {
            options,
            programs: &programs.all,
            ports: &ports,
            folder: &record.folder.clone(),
        },
        real_node: programs.real_node(&record.folder, &ports),
        record,
        kubectl: programs.all.kubernetes.join("kubectl"),
    };
    match start.run(&programs.pki) {
        Ok(()) => Ok(start.record),
        Err(error) => {
            super::down::stop(&start.record);
            Err(error.context(format!(
                "unable to start testbed {name}; its logs are in {}, until the next `up` or `down`",
                start.record.folder.join("logs").display()
            )))
        }
    }
}

struct Built {
    pki: PathBuf,
    all: Programs,
    /// containerd's folder and the maker of the image, where a real node is wanted.
    node: Option<(PathBuf, PathBuf)>,
}

impl Built {
    fn real_node(&self, testbed: &Path, ports: &Ports) -> Option<RealNode> {
        let (containerd, image) = self.node.clone()?;
        Some(RealNode {
            testbed: testbed.to_path_buf(),
            containerd,
            image,
            kubelet: self.all.kubernetes.join("kubelet"),
            port: ports.kubelet,
        })
    }
}

fn build(workspace: &Workspace, options: &Options) -> anyhow::Result<Built> {
    let pki = PKI.program(workspace, "pki")?;
    let etcd = ETCD.build(workspace)?;
    let kubernetes = KUBERNETES_STAGE.build(workspace)?;
    let mut node = None;
    if options.real_node {
        real_node::require_packages()?;
        let image = IMAGE.program(workspace, "image")?;
        node = Some((CONTAINERD.build(workspace)?, image));
    }
    let fake_kubelet = workspace.target().join("release/fake-kubelet");
    if options.fake_nodes > 0 {
        if !fake_kubelet.exists() {
            println!("building the fake kubelet (a few minutes the first time)");
        }
        let arguments = ["build", "--quiet", "--release", "--package", "fake-kubelet"];
        process::require(&mut workspace.cargo(arguments))?;
    }
    let all = Programs {
        etcd,
        kubernetes,
        fake_kubelet,
    };
    Ok(Built { pki, all, node })
}

/// The processes run in folders of their own, so a path must not depend on this one.
fn absolute(options: &Options) -> anyhow::Result<Options> {
    let mut options = options.clone();
    if let Some(shape) = &mut options.shape {
        *shape = shape.canonicalize().with_context(|| {
            format!("unable to read the shapes of nodes in {}", shape.display())
        })?;
    }
    Ok(options)
}

struct Start<'a> {
    site: Site<'a>,
    real_node: Option<RealNode>,
    record: Record,
    kubectl: PathBuf,
}

impl Start<'_> {
    fn run(&mut self, pki: &Path) -> anyhow::Result<()> {
        let folder = self.record.folder.clone();
        fs::create_dir_all(folder.join("logs"))?;
        let servers: Vec<String> = (0..self.site.options.n_apiservers())
            .map(|index| self.site.server_url(index))
            .collect();
        self.record.servers.clone_from(&servers);
        self.record.save()?;
        users::make_authority(pki, &folder)?;
        let admin = users::make(pki, &folder, &users::ADMIN, &servers)?;
        fs::copy(admin, self.record.kubeconfig())?;
        for user in users::PROGRAMS.iter().chain([&real_node::USER]) {
            users::make(pki, &folder, user, &servers)?;
        }
        self.link_tools()?;
        for spec in self.site.control_plane() {
            self.start(&spec)?;
        }
        for index in 0..servers.len() {
            self.await_apiserver(index)?;
        }
        for spec in self.site.clients() {
            self.start(&spec)?;
        }
        self.await_nodes()?;
        self.await_accounts()?;
        match self.real_node.clone() {
            Some(node) => self.start_real_node(&node),
            None => Ok(()),
        }
    }

    /// Puts the tools of this testbed's versions where people and `down` find them.
    fn link_tools(&self) -> anyhow::Result<()> {
        let tools = self.record.folder.join("bin");
        fs::create_dir_all(&tools)?;
        symlink(&self.kubectl, tools.join("kubectl"))?;
        if let Some(node) = &self.real_node {
            symlink(node.containerd.join("ctr"), tools.join("ctr"))?;
        }
        Ok(())
    }

    fn start_real_node(&mut self, node: &RealNode) -> anyhow::Result<()> {
        node.prepare()?;
        self.start(&node.containerd())?;
        self.wait("containerd to take its image", READY_WITHIN, || {
            node.import_image()
        })?;
        self.start(&node.kubelet())?;
        let ready = r#"jsonpath={.status.conditions[?(@.type=="Ready")].status}"#;
        self.wait("the real node to be ready", READY_WITHIN, || {
            self.answers(&["get", "node", real_node::NODE, "-o", ready], "True")
        })
    }

    fn start(&mut self, spec: &Spec) -> anyhow::Result<()> {
        let daemon = Daemon::start(spec, &self.record.log(&spec.name))?;
        self.record.daemons.push(daemon);
        self.record.save()
    }

    fn await_apiserver(&self, index: usize) -> anyhow::Result<()> {
        let context = format!("--context=apiserver-{index}");
        let what = format!("kube-apiserver-{index} to answer /readyz");
        self.wait(&what, READY_WITHIN, || {
            self.kubectl(&[&context, "get", "--raw", "/readyz"])
        })
    }

    fn await_nodes(&self) -> anyhow::Result<()> {
        if self.site.options.fake_nodes == 0 {
            return Ok(());
        }
        let ready = self.record.folder.join("fake-kubelet.ready");
        self.wait("the fake nodes to register", NODES_WITHIN, || {
            ready.exists()
        })
    }

    /// Without this account no pod can be made in the default namespace.
    fn await_accounts(&self) -> anyhow::Result<()> {
        if self.site.options.without_controller_manager {
            return Ok(());
        }
        self.wait("the default service account", READY_WITHIN, || {
            self.kubectl(&["get", "serviceaccount", "default"])
        })
    }

    fn kubectl(&self, arguments: &[&str]) -> bool {
        self.ask(arguments).is_some()
    }

    fn answers(&self, arguments: &[&str], expected: &str) -> bool {
        self.ask(arguments).as_deref() == Some(expected)
    }

    /// What kubectl printed, if it succeeded.
    fn ask(&self, arguments: &[&str]) -> Option<String> {
        let mut command = Command::new(&self.kubectl);
        command
            .arg("--kubeconfig")
            .arg(self.record.kubeconfig())
            .arg("--request-timeout=5s")
            .args(arguments);
        let output = command.output().ok()?;
        let printed = String::from_utf8(output.stdout).ok()?;
        output.status.success().then_some(printed)
    }

    /// Waits for a condition, unless a process ends before it holds.
    fn wait(&self, what: &str, limit: Duration, holds: impl Fn() -> bool) -> anyhow::Result<()> {
        let deadline = Instant::now() + limit;
        while !holds() {
            if let Some(dead) = self.record.daemons.iter().find(|d| !d.is_alive()) {
                let log = daemon::tail(&self.record.log(&dead.name));
                bail!(
                    "{} ended while waiting for {what}; it said:\n{log}",
                    dead.name
                );
            }
            if Instant::now() >= deadline {
                let last = self.record.daemons.last().map(|d| d.name.clone());
                let log = daemon::tail(&self.record.log(&last.unwrap_or_default()));
                let seconds = limit.as_secs();
                bail!("waited {seconds} s for {what}; the last process to start said:\n{log}");
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

impl Ports {
    /// Free ports, asked from the kernel all at once so that none comes twice.
    fn take(options: &Options) -> anyhow::Result<Self> {
        let n = 2 * options.n_etcd() + options.n_apiservers() + 3;
        let listeners: Vec<TcpListener> = (0..n)
            .map(|_| TcpListener::bind("127.0.0.1:0"))
            .collect::<Result<_, _>>()
            .context("no free ports on the loopback address")?;
        let ports: BTreeSet<u16> = listeners
            .iter()
            .map(|listener| Ok(listener.local_addr()?.port()))
            .collect::<Result<_, std::io::Error>>()?;
        let mut ports = ports.into_iter();
        let mut next = || ports.next().expect("one port was taken for each use");
        Ok(Self {
            etcd: (0..options.n_etcd()).map(|_| (next(), next())).collect(),
            apiservers: (0..options.n_apiservers()).map(|_| next()).collect(),
            controller_manager: next(),
            scheduler: next(),
            kubelet: next(),
        })
    }
}
