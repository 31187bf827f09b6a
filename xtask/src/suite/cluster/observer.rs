//! Follows every pod of the cluster while the cases run.
//!
//! Invariant: an event that leaves a node with more GPUs given away than it has, or a namespace with
//! more than its cap, is noted as a violation, however short it lasts. Not here: what a case expects.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::GPUS_PER_NODE;
use crate::testbed::api::Api;

/// Between two attempts to follow the pods, while the API server is away.
const PAUSE: Duration = Duration::from_millis(50);
/// Pods that a message describes.
const SHOWN_MAX: usize = 12;

/// What is known of the pods.
#[derive(Debug, Default)]
struct State {
    /// By namespace and name.
    pods: BTreeMap<(String, String), Value>,
    /// When a pod was first seen on a node, in order.
    binds: Vec<((String, String), Instant)>,
    /// GPUs that the pods of a namespace may hold at a time.
    caps: BTreeMap<String, u64>,
    violations: Vec<String>,
    stopper: Option<UnixStream>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// A thread that follows the pods.
#[derive(Debug)]
pub(super) struct Observer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The pods of a namespace at one moment.
#[derive(Debug)]
pub(super) struct Seen<'a>(Vec<&'a Value>);

impl Observer {
    pub(super) fn start(api: Arc<Api>) -> Self {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            while !of_thread.lock().is_over {
                if follow(&api, &of_thread).is_err() {
                    std::thread::sleep(PAUSE);
                }
            }
        });
        Self {
            shared,
            thread: Some(thread),
        }
    }

    /// Waits until the pods of a namespace are as expected.
    pub(super) fn until(
        &self,
        namespace: &str,
        within: Duration,
        expected: &str,
        holds: impl Fn(&Seen<'_>) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + within;
        let mut state = self.shared.lock();
        loop {
            let seen = state.seen(namespace);
            if holds(&seen) {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("expected {expected}; seen {seen}");
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Works something out from the pods of a namespace.
    pub(super) fn look<T>(&self, namespace: &str, look: impl Fn(&Seen<'_>) -> T) -> T {
        look(&self.shared.lock().seen(namespace))
    }

    /// From now on it is a violation if the pods of a namespace hold more GPUs.
    pub(super) fn cap(&self, namespace: &str, gpus: u64) {
        self.shared.lock().caps.insert(namespace.to_owned(), gpus);
    }

    /// When the first pod whose name begins like this was bound.
    pub(super) fn first_bind(
        &self,
        namespace: &str,
        prefix: &str,
        within: Duration,
    ) -> anyhow::Result<Instant> {
        let expected = format!("a pod {prefix} bound");
        self.until(namespace, within, &expected, |seen| {
            seen.n_bound(prefix) > 0
        })?;
        let state = self.shared.lock();
        let mut binds = state.binds.iter();
        let bind = binds.find(|((of, name), _)| of == namespace && name.starts_with(prefix));
        let (_, at) = bind.with_context(|| format!("nobody saw a pod {prefix} being bound"))?;
        Ok(*at)
    }

    pub(super) fn forget_binds(&self) {
        self.shared.lock().binds.clear();
    }

    pub(super) fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.lock().violations)
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_over = true;
        if let Some(stopper) = &state.stopper {
            let _ = stopper.shutdown(Shutdown::Both);
        }
        drop(state);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lists the pods and follows them until the watch ends.
fn follow(api: &Api, shared: &Shared) -> anyhow::Result<()> {
    let list = api.get("/api/v1/pods")?;
    let version = list["metadata"]["resourceVersion"].as_str();
    let version = version.unwrap_or_default().to_owned();
    let mut listed = BTreeMap::new();
    for pod in list["items"].as_array().into_iter().flatten() {
        listed.insert(key(pod), pod.clone());
    }
    let mut state = shared.lock();
    let gone: Vec<_> = state.pods.keys().cloned().collect();
    for key in gone.into_iter().filter(|key| !listed.contains_key(key)) {
        state.pods.remove(&key);
    }
    for pod in listed.into_values() {
        state.take(pod);
    }
    drop(state);
    shared.changed.notify_all();
    let path = format!("/api/v1/pods?watch=1&resourceVersion={version}");
    let mut watch = api.watch(&path, "application/json")?;
    shared.lock().stopper = Some(watch.stopper()?);
    while let Some(mut event) = watch.next() {
        let pod = event["object"].take();
        let mut state = shared.lock();
        match event["type"].as_str() {
            Some("ADDED" | "MODIFIED") => state.take(pod),
            Some("DELETED") => {
                state.pods.remove(&key(&pod));
            }
            _ => return Ok(()), // a version that the server has forgotten: list again
        }
        if state.is_over {
            return Ok(());
        }
        drop(state);
        shared.changed.notify_all();
    }
    Ok(())
}

impl State {
    fn seen(&self, namespace: &str) -> Seen<'_> {
        let pods = self.pods.iter();
        let pods = pods.filter(|((of, _), _)| of == namespace);
        Seen(pods.map(|(_, pod)| pod).collect())
    }

    fn take(&mut self, pod: Value) {
        let reason = pod["status"]["reason"].as_str().unwrap_or_default();
        if reason.starts_with("OutOf") {
            let name = &pod["metadata"]["name"];
            self.violations
                .push(format!("a node refused pod {name}: {reason}"));
        }
        let (key, node) = (key(&pod), node(&pod).map(str::to_owned));
        let before = self.pods.insert(key.clone(), pod);
        let Some(node) = node else {
            return;
        };
        let before = before.as_ref().and_then(self::node);
        match before {
            None => self.binds.push((key.clone(), Instant::now())),
            Some(before) if before != node => {
                let text = format!("pod {key:?} went from {before} to {node}");
                self.violations.push(text);
            }
            Some(_) => {}
        }
        self.check(&node, &key.0);
    }

    fn check(&mut self, node: &str, namespace: &str) {
        let held = |is_meant: &dyn Fn(&Value) -> bool| -> u64 {
            let pods = self.pods.values().filter(|pod| is_meant(pod));
            pods.filter(|pod| holds(pod)).map(gpus).sum()
        };
        let on_node = held(&|pod| self::node(pod) == Some(node));
        if on_node > GPUS_PER_NODE {
            let text = format!("node {node} has {GPUS_PER_NODE} GPUs and {on_node} are given away");
            self.violations.push(text);
        }
        if let Some(&cap) = self.caps.get(namespace) {
            let of_namespace = held(&|pod| pod["metadata"]["namespace"] == namespace);
            if of_namespace > cap {
                let text = format!("{cap} GPUs are allowed and {of_namespace} were given");
                self.violations.push(text);
            }
        }
    }
}

impl Seen<'_> {
    /// How many pods there are.
    pub(super) fn n_pods(&self) -> usize {
        self.0.len()
    }

    /// The node of a pod that is there and bound.
    pub(super) fn node(&self, name: &str) -> Option<&str> {
        node(self.find(name)?)
    }

    /// Whether a pod is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Nodes of the bound pods whose names begin like this.
    pub(super) fn nodes(&self, prefix: &str) -> Vec<&str> {
        let pods = self.0.iter().filter(|pod| begins(pod, prefix));
        pods.filter_map(|pod| node(pod)).collect()
    }

    /// Names of the bound pods whose names begin like this.
    pub(super) fn names_bound(&self, prefix: &str) -> Vec<String> {
        let pods = self.0.iter().filter(|pod| begins(pod, prefix));
        let bound = pods.filter(|pod| node(pod).is_some());
        bound.map(|pod| key(pod).1).collect()
    }

    /// How many pods whose names begin like this are bound.
    pub(super) fn n_bound(&self, prefix: &str) -> usize {
        self.nodes(prefix).len()
    }

    /// How many pods whose names begin like this wait and have been told this reason.
    pub(super) fn n_waiting(&self, prefix: &str, reason: &str) -> usize {
        let pods = self.0.iter().filter(|pod| begins(pod, prefix));
        let told = pods.filter(|pod| node(pod).is_none() && said(pod).0 == reason);
        told.count()
    }

    /// Whether a pod waits and has been told this reason, with a message that contains `part`.
    pub(super) fn waits(&self, name: &str, reason: &str, part: &str) -> bool {
        self.find(name).is_some_and(|pod| {
            let (told, message) = said(pod);
            node(pod).is_none() && told == reason && message.contains(part)
        })
    }

    /// Whether a pod still has a gate.
    pub(super) fn is_gated(&self, name: &str) -> bool {
        let gates = self.find(name).map(|pod| &pod["spec"]["schedulingGates"]);
        gates.is_some_and(|gates| gates.as_array().is_some_and(|gates| !gates.is_empty()))
    }

    /// How many pods whose names begin like this are being deleted.
    pub(super) fn n_leaving(&self, prefix: &str) -> usize {
        let pods = self.0.iter().filter(|pod| begins(pod, prefix));
        pods.filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null())
            .count()
    }

    fn find(&self, name: &str) -> Option<&Value> {
        let mut pods = self.0.iter();
        pods.find(|pod| pod["metadata"]["name"] == name).copied()
    }
}

impl Display for Seen<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let n_bound = self.0.iter().filter(|pod| node(pod).is_some()).count();
        write!(f, "{} of {} pods bound", n_bound, self.0.len())?;
        for pod in self.0.iter().take(SHOWN_MAX) {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            match node(pod) {
                Some(node) => write!(f, ", {name} on {node}")?,
                None => {
                    let (reason, message) = said(pod);
                    let message: String = message.chars().take(80).collect();
                    write!(f, ", {name} waits ({reason}: {message})")?;
                }
            }
        }
        Ok(())
    }
}

fn begins(pod: &Value, prefix: &str) -> bool {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    name.starts_with(prefix)
}

fn key(pod: &Value) -> (String, String) {
    let text = |field: &str| {
        let text = pod["metadata"][field].as_str();
        text.unwrap_or_default().to_owned()
    };
    (text("namespace"), text("name"))
}

fn node(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str()
}

fn gpus(pod: &Value) -> u64 {
    let containers = pod["spec"]["containers"].as_array();
    let limit = |container: &Value| {
        let limit = container["resources"]["limits"]["nvidia.com/gpu"].as_str();
        limit.and_then(|limit| limit.parse::<u64>().ok())
    };
    containers.into_iter().flatten().filter_map(limit).sum()
}

fn holds(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str();
    node(pod).is_some() && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// Reason and message of the condition that says why a pod waits.
fn said(pod: &Value) -> (&str, &str) {
    let conditions = pod["status"]["conditions"].as_array();
    let mut told = conditions
        .into_iter()
        .flatten()
        .filter(|condition| condition["type"] == "PodScheduled" && condition["status"] == "False");
    told.next().map_or(("", ""), |condition| {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        (text("reason"), text("message"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, node: &str, gpus: u64) -> Value {
        json!({
            "metadata": {"namespace": "n", "name": name},
            "spec": {
                "nodeName": node,
                "containers": [{"resources": {"limits": {"nvidia.com/gpu": gpus.to_string()}}}],
            },
        })
    }

    #[test]
    fn what_is_given_twice_is_a_violation_even_if_it_does_not_last() {
        let mut state = State::default();
        state.take(pod("a", "x", 5));
        state.take(pod("b", "y", 5));
        assert!(state.violations.is_empty());
        state.take(pod("c", "x", 4));
        assert_eq!(state.violations.len(), 1);
        assert!(state.violations[0].contains("9 are given away"));
    }

    #[test]
    fn cap_of_a_namespace_counts_over_all_nodes() {
        let mut state = State::default();
        state.caps.insert("n".to_owned(), 6);
        state.take(pod("a", "x", 5));
        state.take(pod("b", "y", 2));
        assert!(state.violations[0].contains("7 were given"));
    }

    #[test]
    fn refusal_by_a_node_and_a_second_place_are_violations() {
        let mut state = State::default();
        let mut refused = pod("a", "x", 1);
        refused["status"] = json!({"reason": "OutOfnvidia.com/gpu", "phase": "Failed"});
        state.take(refused);
        state.take(pod("b", "x", 1));
        state.take(pod("b", "y", 1));
        assert_eq!(state.violations.len(), 2);
    }
}
