//! The pods of a case: made, watched while they are bound, and taken away.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::bench::Context;
use crate::testbed::api::{Api, Verb, Watch};
use crate::testbed::scheduler::{Scheduler, install_crds};
use crate::testbed::{Options, Testbed};

const PODS: &str = "/api/v1/namespaces/default/pods";
const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
/// Connections that create pods.
const CREATORS: usize = 16;
/// Longest wait for a bind after the one before.
pub(super) const STALLED_AFTER: Duration = Duration::from_secs(120);
/// Longest wait for pods to be ready for a scheduler, and to be gone after it.
const SETTLED_WITHIN: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(200);
/// What a watch sends of a pod: enough to count.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Whose turn it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Side {
    Berth,
    KubeScheduler,
}

impl Side {
    /// The name that pods say.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Berth => "berth",
            Self::KubeScheduler => "default-scheduler",
        }
    }
}

/// A bind that was seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bind {
    pub at: Instant,
    pub pod: String,
}

/// A testbed with a way to speak to it.
pub(super) struct Field<'a> {
    cx: &'a Context<'a>,
    testbed: Testbed,
    pub api: Api,
}

impl<'a> Field<'a> {
    /// Does something on a testbed that goes afterwards, whatever becomes of it.
    pub(super) fn with<T>(
        cx: &'a Context<'a>,
        options: &Options,
        work: impl FnOnce(&Self) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let name = format!("bench-{}", std::process::id());
        let testbed = Testbed::up(cx.workspace, &name, options)?;
        let field = Api::start(&testbed).map(|api| Self { cx, testbed, api });
        let field = field?;
        let result = work(&field);
        let Self { testbed, .. } = field;
        testbed.down()?;
        result
    }

    /// Makes the kinds of Berth's own known.
    pub(super) fn install_crds(&self) -> anyhow::Result<()> {
        install_crds(&self.testbed, &self.cx.workspace.berth())
    }

    /// Makes `n` pods, each of them by its number.
    pub(super) fn create(
        &self,
        n: usize,
        pod: impl Fn(usize) -> Value + Sync,
    ) -> anyhow::Result<()> {
        let create = |creator: usize| {
            let mut indices = (creator..n).step_by(CREATORS);
            indices.try_for_each(|index| {
                let made = self.api.require(Verb::Post, PODS, &pod(index));
                made.map(drop)
            })
        };
        std::thread::scope(|scope| {
            let create = &create;
            let threads: Vec<_> = (0..CREATORS)
                .map(|creator| scope.spawn(move || create(creator)))
                .collect();
            let mut threads = threads.into_iter();
            threads.try_for_each(|thread| thread.join().expect("it returns what goes wrong"))
        })
    }

    /// Waits until `n` pods have the claims that are made for them.
    pub(super) fn wait_for_claims(&self, n: usize) -> anyhow::Result<()> {
        self.wait("the claims of the pods are not made", || {
            let pods = self.api.list(PODS)?;
            let has_claim = |pod: &&Value| pod["status"]["resourceClaimStatuses"].is_array();
            Ok(pods.iter().filter(has_claim).count() == n)
        })
    }

    /// Starts a scheduler and follows its binds until `is_done` or nothing has come for `patience`.
    /// The scheduler runs on.
    pub(super) fn follow(
        &self,
        side: Side,
        patience: Duration,
        mut is_done: impl FnMut(&[Bind]) -> bool,
    ) -> anyhow::Result<(Scheduler, Vec<Bind>)> {
        let list = self.api.get(&format!("{PODS}?limit=1"))?;
        let version = list["metadata"]["resourceVersion"].as_str();
        let mut version = version.context("a list without a version")?.to_owned();
        let mut watch = self.watch(&version, patience)?;
        let scheduler = self.start(side)?;
        let mut binds = Vec::new();
        let mut last_seen = Instant::now();
        while !is_done(&binds) {
            let Some(event) = watch.next() else {
                // A server may end a watch at any time; it is taken up where it ended.
                if last_seen.elapsed() >= patience {
                    break;
                }
                watch = self.watch(&version, patience)?;
                continue;
            };
            let metadata = &event["object"]["metadata"];
            let seen = metadata["resourceVersion"].as_str();
            if let Some(seen) = seen.filter(|seen| !seen.is_empty()) {
                seen.clone_into(&mut version);
            }
            // A pod that is bound is one without a node no more.
            if event["type"] == "DELETED" {
                last_seen = Instant::now();
                binds.push(Bind {
                    at: last_seen,
                    pod: metadata["name"].as_str().unwrap_or_default().to_owned(),
                });
            }
        }
        Ok((scheduler, binds))
    }

    /// Follows the pods without a node.
    fn watch(&self, version: &str, patience: Duration) -> anyhow::Result<Watch> {
        let path =
            format!("{PODS}?watch=1&fieldSelector=spec.nodeName%3D&resourceVersion={version}");
        let watch = self.api.watch(&path, METADATA)?;
        watch.set_patience(patience)?;
        Ok(watch)
    }

    fn start(&self, side: Side) -> anyhow::Result<Scheduler> {
        match side {
            Side::Berth => {
                let program = self.cx.workspace.berth();
                {
                    let kubeconfig = self.testbed.kubeconfig();
                    Scheduler::berth(&self.testbed, &program, &kubeconfig, "bench-berth", &[])
                }
            }
            Side::KubeScheduler => {
                let kubeconfig = self.testbed.kubeconfig();
                let kubeconfig = kubeconfig.display();
                let mut command = Command::new(self.testbed.program("kube-scheduler"));
                command.args([
                    &format!("--kubeconfig={kubeconfig}"),
                    "--leader-elect=false",
                    "--secure-port=0",
                    "--profiling=false",
                    "--kube-api-qps=5000",
                    "--kube-api-burst=10000",
                    "--feature-gates=GenericWorkload=true",
                ]);
                Scheduler::start(&self.testbed, command, "bench-kube-scheduler")
            }
        }
    }

    /// Takes every pod away, and the claims that were made for them.
    pub(super) fn clear(&self) -> anyhow::Result<()> {
        let now = json!({"gracePeriodSeconds": 0});
        self.api.require(Verb::Delete, PODS, &now)?;
        self.wait("the pods of a run do not go", || {
            let of = |path: &str| self.api.list(&format!("{path}?limit=1"));
            Ok(of(PODS)?.is_empty() && of(CLAIMS)?.is_empty())
        })
    }

    fn wait(
        &self,
        what: &str,
        mut is_so: impl FnMut() -> anyhow::Result<bool>,
    ) -> anyhow::Result<()> {
        let deadline = Instant::now() + SETTLED_WITHIN;
        while !is_so()? {
            ensure!(Instant::now() < deadline, "{what}");
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

/// Events a second from the first to the last.
pub(super) fn rate(binds: &[Bind]) -> Option<f64> {
    let (first, last) = (binds.first()?, binds.last()?);
    let seconds = last.at.duration_since(first.at).as_secs_f64();
    let n = u32::try_from(binds.len() - 1).ok()?;
    (n > 0).then(|| f64::from(n) / seconds)
}

/// A pod of one container.
pub(super) fn pod(name: &str, scheduler: &str, gpus: u64) -> Value {
    let limits = match gpus {
        0 => json!({}),
        gpus => json!({"nvidia.com/gpu": gpus.to_string()}),
    };
    json!({
        "metadata": {"name": name, "labels": {}},
        "spec": {
            "schedulerName": scheduler,
            "containers": [{
                "name": "main",
                "image": "none",
                "resources": {"requests": {"cpu": "100m"}, "limits": limits},
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_that_between_the_first_and_the_last() {
        let start = Instant::now();
        let bind = |seconds| Bind {
            at: start + Duration::from_secs(seconds),
            pod: "p".to_owned(),
        };
        assert_eq!(rate(&[bind(1), bind(2), bind(3)]), Some(1.0));
        assert_eq!(rate(&[bind(1)]), None);
        assert_eq!(rate(&[]), None);
    }
}
