//! `down`: ends the processes of a testbed and takes its folder away.
//!
//! Invariant: afterwards nothing of the testbed is left, whatever state it was in.

use std::path::Path;

use super::daemon;
use super::real_node;
use super::record::{self, Record};

/// Ends a testbed; false where there was none.
pub(super) fn down(name: &str) -> anyhow::Result<bool> {
    let lock = record::lock(name)?;
    let was_there = down_locked(name)?;
    record::unlock(name, lock)?;
    Ok(was_there)
}

/// For callers that hold the testbed's lock.
pub(super) fn down_locked(name: &str) -> anyhow::Result<bool> {
    let found = Record::load(name)?;
    if let Some(testbed) = &found {
        stop(testbed);
    }
    record::remove(name)?;
    Ok(found.is_some())
}

/// Clients first: a controller that loses its API server complains and waits.
pub(super) fn stop(testbed: &Record) {
    real_node::drain(&testbed.folder);
    stop_named(testbed, &["kubelet"]);
    real_node::end_containers(&testbed.folder);
    stop_named(testbed, &["containerd"]);
    real_node::clean(&testbed.folder);
    let rest = [
        "fake-",
        "kube-scheduler",
        "kube-controller",
        "kube-apiserver",
        "etcd",
        "",
    ];
    stop_named(testbed, &rest);
}

/// Stops the processes whose names begin with each of these, in turn.
fn stop_named(testbed: &Record, prefixes: &[&str]) {
    for prefix in prefixes {
        let named = testbed
            .daemons
            .iter()
            .filter(|d| d.name.starts_with(prefix));
        let alive: Vec<_> = named.filter(|d| d.is_alive()).cloned().collect();
        daemon::stop_all(&alive);
    }
}

/// What is left of a testbed, in words; empty after `down`.
pub(super) fn left_behind(testbed: &Record) -> Vec<String> {
    let mut left: Vec<String> = testbed
        .daemons
        .iter()
        .filter(|daemon| daemon.is_alive())
        .map(|daemon| format!("process {} ({})", daemon.pid, daemon.name))
        .collect();
    if Path::new(&testbed.folder).exists() {
        left.push(format!("folder {}", testbed.folder.display()));
    }
    left
}
