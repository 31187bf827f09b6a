//! A case, the world that it runs in, and what it may ask for.
//!
//! Invariant: nothing sleeps; a condition is awaited with a deadline, and one that is not met says what
//! was expected and what was seen. That something does *not* happen is judged when the scheduler has
//! provably seen later news ([`Cx::settle`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};
use serde_json::{Value, json};

use super::object;
use super::observer::{Observer, Seen};
use crate::testbed::Testbed;
use crate::testbed::api::{Api, Verb};
use crate::testbed::scheduler::Scheduler;

/// Longest wait for something that takes a second on an idle machine.
pub(super) const WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// How soon a supervisor notices that a scheduler has ended.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the cases' scheduler is started with: work may lose its place at once, so that no case has to
/// wait for that.
const ARGUMENTS: [&str; 2] = ["--min-runtime", "1ms"];

/// One behaviour that is looked at.
#[derive(Debug)]
pub(super) struct Case {
    pub name: &'static str,
    pub run: fn(&mut Cx<'_>) -> anyhow::Result<()>,
}

/// The testbed, who follows it, and the schedulers.
#[derive(Debug)]
pub(super) struct World {
    // In this order they end: the proxy before the testbed that it speaks to.
    pub schedulers: Vec<Scheduler>,
    pub observer: Observer,
    pub api: Arc<Api>,
    pub testbed: Testbed,
    /// The kubeconfig that schedulers are started with, if not the testbed's own.
    pub through: Option<PathBuf>,
    berth: PathBuf,
    n_cases: u32,
    n_started: u32,
}

impl World {
    pub(super) fn new(testbed: Testbed, berth: PathBuf) -> anyhow::Result<Self> {
        let api = Arc::new(Api::start(&testbed)?);
        for (name, value) in [("low", 100), ("high", 1_000)] {
            let class = object::priority_class(name, value);
            api.require(Verb::Post, object::PRIORITY_CLASSES, &class)?;
        }
        let observer = Observer::start(Arc::clone(&api));
        Ok(Self {
            schedulers: Vec::new(),
            observer,
            api,
            testbed,
            through: None,
            berth,
            n_cases: 0,
            n_started: 0,
        })
    }

    /// Runs a case in a namespace of its own, and takes away what it made.
    pub(super) fn run(&mut self, case: &Case) -> anyhow::Result<()> {
        self.n_cases += 1;
        let namespace = format!("case-{}", self.n_cases);
        let body = json!({"metadata": {"name": namespace}});
        self.api.require(Verb::Post, "/api/v1/namespaces", &body)?;
        let mut cx = Cx {
            world: self,
            namespace,
            made: Vec::new(),
            n_probes: 0,
        };
        cx.await_account()?;
        cx.one_scheduler()?;
        let result = catch_unwind(AssertUnwindSafe(|| (case.run)(&mut cx)));
        let result = result.unwrap_or_else(|_| Err(anyhow!("it panicked")));
        let cleaned = cx.clean();
        let violations = self.observer.take_violations();
        result?;
        ensure!(violations.is_empty(), "{}", violations.join("; "));
        for scheduler in &mut self.schedulers {
            ensure!(!scheduler.has_ended(), "the scheduler has ended");
        }
        cleaned
    }

    /// Starts one more scheduler.
    pub(super) fn start(&mut self) -> anyhow::Result<()> {
        self.n_started += 1;
        let log = format!("berth-{}", self.n_started);
        let through = self.through.clone();
        let through = through.unwrap_or_else(|| self.testbed.kubeconfig());
        let scheduler = Scheduler::berth(&self.testbed, &self.berth, &through, &log, &ARGUMENTS)?;
        self.schedulers.push(scheduler);
        Ok(())
    }
}

/// What a case gets.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub world: &'a mut World,
    pub namespace: String,
    /// Paths of objects outside the namespace, to be deleted afterwards.
    made: Vec<String>,
    n_probes: u32,
}

impl Cx<'_> {
    /// Creates a pod in the case's namespace.
    pub(super) fn pod(&self, pod: &Value) -> anyhow::Result<()> {
        let path = self.path("pods");
        self.world.api.require(Verb::Post, &path, pod)?;
        Ok(())
    }

    /// Creates pods at the same time, as fast as the server takes them.
    pub(super) fn pods(&self, pods: &[Value]) -> anyhow::Result<()> {
        const AT_A_TIME: usize = 8;
        std::thread::scope(|scope| {
            let part = pods.len().div_ceil(AT_A_TIME).max(1);
            let threads: Vec<_> = pods
                .chunks(part)
                .map(|pods| scope.spawn(move || pods.iter().try_for_each(|pod| self.pod(pod))))
                .collect();
            threads
                .into_iter()
                .try_for_each(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
        })
    }

    /// Creates an object in the case's namespace.
    pub(super) fn make(&self, resource: &str, object: &Value) -> anyhow::Result<()> {
        let path = self.path(resource);
        self.world.api.require(Verb::Post, &path, object)?;
        Ok(())
    }

    /// Creates an object of the cluster; it goes with the case.
    pub(super) fn make_global(&mut self, collection: &str, object: &Value) -> anyhow::Result<()> {
        self.world.api.require(Verb::Post, collection, object)?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        self.made.push(format!("{collection}/{name}"));
        Ok(())
    }

    /// Deletes an object at once, without a kubelet's word on it; it may have gone already: a gang that is taken away pod by pod is stranded
    /// half-way, and the scheduler evicts what is left of it.
    pub(super) fn delete(&self, path: &str) -> anyhow::Result<()> {
        let now = json!({"gracePeriodSeconds": 0});
        let answer = self.world.api.send(Verb::Delete, path, &now)?;
        ensure!(
            matches!(answer.code, 200..=299 | 404),
            "expected to delete {path}, seen {} {}",
            answer.code,
            answer.body["message"].as_str().unwrap_or_default()
        );
        Ok(())
    }

    /// The path of a resource in the case's namespace: `pods`, `pods/a`, or with a group before it.
    pub(super) fn path(&self, resource: &str) -> String {
        let (group, resource) = match resource.split_once(':') {
            Some((group, resource)) => (format!("/apis/{group}"), resource),
            None => ("/api/v1".to_owned(), resource),
        };
        format!("{group}/namespaces/{}/{resource}", self.namespace)
    }

    /// A name that no other case uses.
    pub(super) fn unique(&self, name: &str) -> String {
        format!("{name}-{}", self.namespace)
    }

    /// Waits until the pods of the case are as expected.
    pub(super) fn until(
        &self,
        expected: &str,
        holds: impl Fn(&Seen<'_>) -> bool,
    ) -> anyhow::Result<()> {
        self.until_within(WITHIN, expected, holds)
    }

    pub(super) fn until_within(
        &self,
        within: Duration,
        expected: &str,
        holds: impl Fn(&Seen<'_>) -> bool,
    ) -> anyhow::Result<()> {
        let observer = &self.world.observer;
        observer.until(&self.namespace, within, expected, holds)
    }

    /// Waits like [`Cx::until`], and starts a scheduler anew that has ended because it could not renew
    /// its Lease, as whoever supervises it would.
    pub(super) fn until_supervised(
        &mut self,
        within: Duration,
        expected: &str,
        holds: impl Fn(&Seen<'_>) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + within;
        loop {
            let result = self.until_within(LOOK_EVERY, expected, &holds);
            if result.is_ok() || Instant::now() >= deadline {
                return result;
            }
            self.world.schedulers.retain_mut(|one| !one.has_ended());
            if self.world.schedulers.is_empty() {
                self.world.start()?;
            }
        }
    }

    /// Looks at the pods of the case as they are now.
    pub(super) fn expect(
        &self,
        expected: &str,
        holds: impl Fn(&Seen<'_>) -> bool,
    ) -> anyhow::Result<()> {
        self.until_within(Duration::ZERO, expected, holds)
    }

    /// Works something out from the pods of the case.
    pub(super) fn look<T>(&self, look: impl Fn(&Seen<'_>) -> T) -> T {
        self.world.observer.look(&self.namespace, look)
    }

    /// Waits until the API says something.
    pub(super) fn until_api(
        &self,
        expected: &str,
        path: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + WITHIN;
        loop {
            let seen = self.world.api.get(path);
            if seen.as_ref().is_ok_and(&holds) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                bail!("expected {expected}; seen {}", seen?);
            }
            std::thread::sleep(POLL);
        }
    }

    /// Returns when the scheduler has seen everything that was done before, and has acted on it: a pod
    /// that could go anywhere, created last, is bound.
    pub(super) fn settle(&mut self) -> anyhow::Result<()> {
        for _ in 0..2 {
            self.n_probes += 1;
            let name = format!("probe-{}", self.n_probes);
            self.pod(&object::pod(&name, 0))?;
            self.until("a pod that could go anywhere to be bound", |seen| {
                seen.node(&name).is_some()
            })?;
            self.delete(&self.path(&format!("pods/{name}")))?;
        }
        Ok(())
    }

    /// Pods need an account, which a controller makes.
    fn await_account(&self) -> anyhow::Result<()> {
        let path = self.path("serviceaccounts/default");
        self.until_api("the default account", &path, |_| true)
    }

    /// Makes sure that exactly one scheduler runs, and that it schedules.
    pub(super) fn one_scheduler(&mut self) -> anyhow::Result<()> {
        let schedulers = &mut self.world.schedulers;
        schedulers.retain_mut(|scheduler| !scheduler.has_ended());
        schedulers.truncate(1);
        if schedulers.is_empty() {
            self.world.start()?;
        }
        let settled = self.settle();
        let has_ended = self.world.schedulers.iter_mut().any(Scheduler::has_ended);
        ensure!(!has_ended, "the scheduler has ended: {}", self.said());
        settled.with_context(|| format!("the scheduler said: {}", self.said()))
    }

    /// The end of what the last scheduler said.
    pub(super) fn said(&self) -> String {
        let said = self.world.schedulers.last();
        let said = said.map(Scheduler::said).unwrap_or_default();
        let lines: Vec<&str> = said.lines().collect();
        lines[lines.len().saturating_sub(6)..].join("\n")
    }

    /// Takes away all pods of the case.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        let now = json!({"gracePeriodSeconds": 0});
        let api = &self.world.api;
        api.require(Verb::Delete, &self.path("pods"), &now)?;
        self.until("no pod to be left", |seen| seen.n_pods() == 0)
    }

    fn clean(&self) -> anyhow::Result<()> {
        self.clear()?;
        let api = &self.world.api;
        for path in &self.made {
            // A case may have deleted it itself.
            api.send(Verb::Delete, path, &Value::Null)?;
        }
        let path = format!("/api/v1/namespaces/{}", self.namespace);
        api.require(Verb::Delete, &path, &Value::Null)?;
        Ok(())
    }
}
