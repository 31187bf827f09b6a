//! A cluster comes up with fake nodes, a pod lives on one of them, and nothing is left afterwards.

use std::io::Write as _;
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::tally::{Checked, Tally};
use crate::testbed::{Options, Testbed};
use crate::workspace::Workspace;

const N_NODES: u32 = 100;
/// Longest wait for something that takes a second on an idle machine.
const WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

pub(super) fn run(workspace: &Workspace) -> anyhow::Result<Tally> {
    // A name of its own, so that somebody's testbed on this machine is left alone.
    let name = format!("suite-{}", std::process::id());
    let started = Instant::now();
    let testbed = Testbed::up(workspace, &name, &Options::fake_nodes(N_NODES))?;
    println!("cluster: up in {:.1} s", started.elapsed().as_secs_f64());
    let mut checks = Checks::of(&testbed);
    let lived = checks.live();
    let mut tally = checks.tally;
    tally += is_left_clean(&testbed)?;
    lived?;
    println!("cluster: {tally}");
    Ok(tally)
}

/// Ends the testbed: nothing of it is left, and nobody listens on its ports.
pub(in crate::suite) fn is_left_clean(testbed: &Testbed) -> anyhow::Result<Tally> {
    let servers = testbed.servers().to_vec();
    let left = testbed.down()?;
    for thing in &left {
        println!("cluster: left behind: {thing}");
    }
    let mut tally = Tally::one(Checked::of(left.is_empty()));
    tally.count(Checked::of(!servers.iter().any(|server| answers(server))));
    Ok(tally)
}

fn answers(server: &str) -> bool {
    let address = server.trim_start_matches("https://");
    TcpStream::connect(address).is_ok()
}

/// Checks against a testbed that runs, counted.
pub(in crate::suite) struct Checks<'a> {
    testbed: &'a Testbed,
    pub(in crate::suite) tally: Tally,
}

impl<'a> Checks<'a> {
    pub(in crate::suite) fn of(testbed: &'a Testbed) -> Self {
        let tally = Tally::default();
        Self { testbed, tally }
    }

    fn live(&mut self) -> anyhow::Result<()> {
        let ready =
            r#"{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}"#;
        let nodes = self.read(&["get", "nodes", "-o", &format!("jsonpath={ready}")])?;
        let n_ready = nodes.lines().filter(|line| *line == "True").count();
        self.check("every node is ready", n_ready == N_NODES as usize);
        let taints = self.read(&["get", "nodes", "-o", "jsonpath={.items[*].spec.taints}"])?;
        self.check("no node is tainted", taints.trim().is_empty());
        self.pod_runs_and_ends()?;
        self.deleted_pod_goes()?;
        self.gpu_is_refused_a_second_time()?;
        self.stranger_may_do_nothing()
    }

    fn pod_runs_and_ends(&mut self) -> anyhow::Result<()> {
        self.create(&pod("short", 8, &[("run-for", "2s")]))?;
        self.bind("short", "fake-00003")?;
        self.check("a bound pod runs", self.reaches("short", "Running"));
        self.check("and ends by itself", self.reaches("short", "Succeeded"));
        Ok(())
    }

    fn deleted_pod_goes(&mut self) -> anyhow::Result<()> {
        self.create(&pod("long", 8, &[]))?;
        self.bind("long", "fake-00003")?;
        let runs = self.reaches("long", "Running");
        self.check("what an ended pod held is free", runs);
        self.read(&["delete", "pod", "long", "--wait=false"])?;
        self.check("a deleted pod goes", self.reaches("long", ""));
        Ok(())
    }

    fn gpu_is_refused_a_second_time(&mut self) -> anyhow::Result<()> {
        for name in ["first", "second"] {
            self.create(&pod(name, 5, &[]))?;
            self.bind(name, "fake-00007")?;
            self.reaches(name, if name == "first" { "Running" } else { "Failed" });
        }
        self.check("five of eight GPUs run", self.reaches("first", "Running"));
        self.check("five more do not", self.reaches("second", "Failed"));
        Ok(())
    }

    fn stranger_may_do_nothing(&mut self) -> anyhow::Result<()> {
        let can = |user: &str| {
            let mut kubectl = self.testbed.kubectl();
            kubectl.args(["auth", "can-i", "list", "nodes", "--as", user]);
            let output = kubectl.output().context("unable to start kubectl")?;
            anyhow::Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        };
        let (scheduler, stranger) = (can("system:kube-scheduler")?, can("stranger")?);
        self.check("kube-scheduler may list nodes", scheduler == "yes");
        self.check("a stranger may not", stranger == "no");
        Ok(())
    }

    /// A pod gets into this phase.
    pub(in crate::suite) fn reach(&mut self, name: &str, phase: &str) {
        let reached = self.reaches(name, phase);
        self.check(&format!("pod {name} is {phase}"), reached);
    }

    pub(in crate::suite) fn check(&mut self, what: &str, holds: bool) {
        if !holds {
            println!("cluster: it does not hold that {what}");
        }
        self.tally.count(Checked::of(holds));
    }

    /// Waits for a phase of a pod; the empty phase is that of a pod that is gone.
    fn reaches(&self, name: &str, phase: &str) -> bool {
        let deadline = Instant::now() + WITHIN;
        let arguments = ["get", "pod", name, "--ignore-not-found", "-o"];
        loop {
            let mut kubectl = self.testbed.kubectl();
            kubectl.args(arguments).arg("jsonpath={.status.phase}");
            let reached = kubectl
                .output()
                .is_ok_and(|output| output.status.success() && output.stdout == phase.as_bytes());
            if reached || Instant::now() >= deadline {
                return reached;
            }
            std::thread::sleep(POLL);
        }
    }

    pub(in crate::suite) fn create(&self, object: &Value) -> anyhow::Result<()> {
        self.write(&["create", "-f", "-"], object)
    }

    /// What a scheduler does in the end.
    fn bind(&self, name: &str, node: &str) -> anyhow::Result<()> {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": node},
        });
        let path = format!("/api/v1/namespaces/default/pods/{name}/binding");
        self.write(&["create", "--raw", &path, "-f", "-"], &binding)
    }

    fn write(&self, arguments: &[&str], object: &Value) -> anyhow::Result<()> {
        let mut kubectl = self.testbed.kubectl();
        kubectl
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = kubectl.spawn().context("unable to start kubectl")?;
        let mut stdin = child.stdin.take().expect("stdin was asked to be a pipe");
        stdin.write_all(object.to_string().as_bytes())?;
        drop(stdin);
        let succeeded = child.wait()?.success();
        anyhow::ensure!(succeeded, "kubectl {} failed", arguments.join(" "));
        Ok(())
    }

    fn read(&self, arguments: &[&str]) -> anyhow::Result<String> {
        crate::process::capture(self.testbed.kubectl().args(arguments))
    }
}

fn pod(name: &str, gpus: u32, annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> = annotations
        .iter()
        .map(|(key, value)| (format!("testbed.berth.dev/{key}"), (*value).into()))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "schedulerName": "nobody",
            "containers": [{
                "name": "main",
                "image": "none",
                "resources": {"limits": {"nvidia.com/gpu": gpus.to_string()}},
            }],
        },
    })
}
