//! Bench group `scheduler`: Berth beside kube-scheduler on the same API server, in turns.
//!
//! The pods are created while nobody schedules; then the scheduler is started and binds all of them,
//! so that neither side competes with their creation. Pods a second count from the first bind to the
//! last, as a watch sees them; CPU seconds and peak memory are those of the whole process until then,
//! listing included. Both speak to the server as its administrator, without a limit of their own, and
//! both write the events that they write by default.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::row::{Better, Row, median};
use super::{Context, Group, Measured};
use crate::testbed::api::{Api, Verb, Watch};
use crate::testbed::scheduler::Scheduler;
use crate::testbed::{Options, Testbed};

pub(super) const GROUP: Group = Group {
    name: "scheduler",
    about: "Live scheduler beside kube-scheduler",
    run,
};

const N_PODS: usize = 3_000;
const COMMAND: &str = "cargo xtask bench scheduler";
const PODS: &str = "/api/v1/namespaces/default/pods";
/// Connections that create pods.
const CREATORS: usize = 16;
/// Longest wait for a bind after the one before.
const STALLED_AFTER: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(200);
/// What a watch sends of a pod: enough to count.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// Measures only the cases whose names contain this.
const ONLY_VARIABLE: &str = "BERTH_BENCH_CASES";

const PODS_RATIO_MIN: f64 = 2.0;
const CPU_RATIO_MAX: f64 = 0.25;
const MEMORY_RATIO_MAX: f64 = 1.0 / 3.0;

/// What is measured, with the names of its three rows: pods, CPU, memory.
struct Case {
    name: &'static str,
    n_nodes: u32,
    gpus: u64,
    rows: [&'static str; 3],
}

const CASES: [Case; 4] = [
    Case {
        name: "plain pods, 1,000 nodes",
        n_nodes: 1_000,
        gpus: 0,
        rows: [
            "Pods a second, plain pods, 1,000 nodes",
            "CPU, plain pods, 1,000 nodes",
            "Peak memory, plain pods, 1,000 nodes",
        ],
    },
    Case {
        name: "pods with one GPU, 1,000 nodes",
        n_nodes: 1_000,
        gpus: 1,
        rows: [
            "Pods a second, one GPU each, 1,000 nodes",
            "CPU, one GPU each, 1,000 nodes",
            "Peak memory, one GPU each, 1,000 nodes",
        ],
    },
    Case {
        name: "plain pods, 5,000 nodes",
        n_nodes: 5_000,
        gpus: 0,
        rows: [
            "Pods a second, plain pods, 5,000 nodes",
            "CPU, plain pods, 5,000 nodes",
            "Peak memory, plain pods, 5,000 nodes",
        ],
    },
    Case {
        name: "pods with one GPU, 5,000 nodes",
        n_nodes: 5_000,
        gpus: 1,
        rows: [
            "Pods a second, one GPU each, 5,000 nodes",
            "CPU, one GPU each, 5,000 nodes",
            "Peak memory, one GPU each, 5,000 nodes",
        ],
    },
];

/// Whose turn it is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Side {
    Berth,
    KubeScheduler,
}

impl Side {
    const fn name(self) -> &'static str {
        match self {
            Self::Berth => "berth",
            Self::KubeScheduler => "default-scheduler",
        }
    }
}

/// What one run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    pods_per_s: f64,
    /// For 1,000 pods.
    cpu_seconds: f64,
    memory_mb: f64,
}

fn run(cx: &Context<'_>) -> anyhow::Result<Measured> {
    cx.workspace.build_release()?;
    let mut measured = Measured::default();
    let only = std::env::var(ONLY_VARIABLE).unwrap_or_default();
    let cases = || CASES.iter().filter(|case| case.name.contains(&only));
    let mut sizes: Vec<u32> = cases().map(|case| case.n_nodes).collect();
    sizes.dedup();
    for n_nodes in sizes {
        let name = format!("bench-{}", std::process::id());
        let testbed = Testbed::up(cx.workspace, &name, &Options::fake_nodes(n_nodes))?;
        let of_size = cases().filter(|case| case.n_nodes == n_nodes);
        let result = measure_all(cx, &testbed, of_size, &mut measured);
        testbed.down()?;
        result?;
    }
    Ok(measured)
}

fn measure_all<'a>(
    cx: &Context<'_>,
    testbed: &Testbed,
    cases: impl Iterator<Item = &'a Case>,
    measured: &mut Measured,
) -> anyhow::Result<()> {
    let bench = Bench {
        testbed,
        api: Api::start(testbed)?,
        berth: cx.workspace.berth(),
    };
    for case in cases {
        let mut runs: BTreeMap<Side, Vec<Run>> = BTreeMap::new();
        for repeat in 1..=cx.repeats {
            for side in [Side::KubeScheduler, Side::Berth] {
                let run = bench.run(case, side)?;
                eprintln!(
                    "{}, run {repeat} of {}, {}: {:.0} pods/s, {:.2} CPU-s for 1,000 pods, {:.0} MB",
                    case.name,
                    cx.repeats,
                    side.name(),
                    run.pods_per_s,
                    run.cpu_seconds,
                    run.memory_mb
                );
                runs.entry(side).or_default().push(run);
            }
        }
        let of = |side| middle(runs.get(&side).map_or(&[], Vec::as_slice));
        let berth = of(Side::Berth).context("no runs")?;
        let kube = of(Side::KubeScheduler).context("no runs")?;
        measured.rows.extend(rows(case, &berth, &kube, cx.repeats));
        measured.cases.push(to_json(case, &berth, &kube));
    }
    Ok(())
}

/// The median of each figure.
fn middle(runs: &[Run]) -> Option<Run> {
    let of = |figure: fn(&Run) -> f64| median(runs.iter().map(figure).collect());
    Some(Run {
        pods_per_s: of(|run| run.pods_per_s)?,
        cpu_seconds: of(|run| run.cpu_seconds)?,
        memory_mb: of(|run| run.memory_mb)?,
    })
}

fn rows(case: &Case, berth: &Run, kube: &Run, runs: usize) -> Vec<Row> {
    let [pods, cpu, memory] = case.rows;
    let row = |name, better, goal, measured| Row {
        name,
        command: COMMAND.to_owned(),
        unit: "of kube-scheduler's",
        better,
        goal,
        stretch: None,
        measured,
        runs,
    };
    vec![
        row(
            pods,
            Better::Higher,
            PODS_RATIO_MIN,
            berth.pods_per_s / kube.pods_per_s,
        ),
        row(
            cpu,
            Better::Lower,
            CPU_RATIO_MAX,
            berth.cpu_seconds / kube.cpu_seconds,
        ),
        row(
            memory,
            Better::Lower,
            MEMORY_RATIO_MAX,
            berth.memory_mb / kube.memory_mb,
        ),
    ]
}

fn to_json(case: &Case, berth: &Run, kube: &Run) -> Value {
    let absolute = |run: &Run| {
        json!({
            "pods_per_s": run.pods_per_s,
            "cpu_seconds_per_1000_pods": run.cpu_seconds,
            "memory_peak_mb": run.memory_mb,
        })
    };
    json!({
        "name": case.name,
        "n_nodes": case.n_nodes,
        "n_pods": N_PODS,
        "gpus_per_pod": case.gpus,
        "pods_per_s_ratio": berth.pods_per_s / kube.pods_per_s,
        "cpu_ratio": berth.cpu_seconds / kube.cpu_seconds,
        "memory_ratio": berth.memory_mb / kube.memory_mb,
        "berth": absolute(berth),
        "kube_scheduler": absolute(kube),
    })
}

struct Bench<'a> {
    testbed: &'a Testbed,
    api: Api,
    berth: PathBuf,
}

impl Bench<'_> {
    fn run(&self, case: &Case, side: Side) -> anyhow::Result<Run> {
        self.create(case, side)?;
        let list = self.api.get(&format!("{PODS}?limit=1"))?;
        let version = list["metadata"]["resourceVersion"].as_str();
        let mut version = version.context("a list without a version")?.to_owned();
        let mut watch = self.watch(&version)?;
        let scheduler = self.start(side)?;
        let mut binds = Vec::with_capacity(N_PODS);
        let mut last_seen = Instant::now();
        while binds.len() < N_PODS {
            let Some(event) = watch.next() else {
                // A server may end a watch at any time; it is taken up where it ended.
                ensure!(
                    last_seen.elapsed() < STALLED_AFTER,
                    "{} of {N_PODS} pods were bound by {}; it said: {}",
                    binds.len(),
                    side.name(),
                    scheduler.said()
                );
                watch = self.watch(&version)?;
                continue;
            };
            let seen = event["object"]["metadata"]["resourceVersion"].as_str();
            if let Some(seen) = seen.filter(|seen| !seen.is_empty()) {
                seen.clone_into(&mut version);
            }
            // A pod that is bound is one without a node no more.
            if event["type"] == "DELETED" {
                last_seen = Instant::now();
                binds.push(last_seen);
            }
        }
        let usage = scheduler.usage()?;
        scheduler.stop();
        self.clear()?;
        let (Some(first), Some(last)) = (binds.first(), binds.last()) else {
            bail!("no binds");
        };
        let seconds = last.duration_since(*first).as_secs_f64();
        let n_pods = f64::from(u32::try_from(N_PODS)?);
        Ok(Run {
            pods_per_s: (n_pods - 1.0) / seconds,
            cpu_seconds: usage.cpu_seconds * 1_000.0 / n_pods,
            memory_mb: usage.memory_peak_mb,
        })
    }

    /// Follows the pods without a node.
    fn watch(&self, version: &str) -> anyhow::Result<Watch> {
        let path =
            format!("{PODS}?watch=1&fieldSelector=spec.nodeName%3D&resourceVersion={version}");
        let watch = self.api.watch(&path, METADATA)?;
        watch.set_patience(STALLED_AFTER)?;
        Ok(watch)
    }

    fn start(&self, side: Side) -> anyhow::Result<Scheduler> {
        match side {
            Side::Berth => Scheduler::berth(self.testbed, &self.berth, "bench-berth", &[]),
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
                Scheduler::start(self.testbed, command, "bench-kube-scheduler")
            }
        }
    }

    fn create(&self, case: &Case, side: Side) -> anyhow::Result<()> {
        let limits = match case.gpus {
            0 => json!({}),
            gpus => json!({"nvidia.com/gpu": gpus.to_string()}),
        };
        let pod = |index: usize| {
            json!({
                "metadata": {"name": format!("pod-{index}")},
                "spec": {
                    "schedulerName": side.name(),
                    "containers": [{
                        "name": "main",
                        "image": "none",
                        "resources": {"requests": {"cpu": "100m"}, "limits": limits},
                    }],
                },
            })
        };
        let create = |creator: usize| {
            let mut indices = (creator..N_PODS).step_by(CREATORS);
            indices.try_for_each(|index| self.api.require(Verb::Post, PODS, &pod(index)).map(drop))
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

    fn clear(&self) -> anyhow::Result<()> {
        let now = json!({"gracePeriodSeconds": 0});
        let deadline = Instant::now() + STALLED_AFTER;
        self.api.require(Verb::Delete, PODS, &now)?;
        while !self.api.list(&format!("{PODS}?limit=1"))?.is_empty() {
            ensure!(Instant::now() < deadline, "the pods of a run do not go");
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_ratios_of_medians() {
        let run = |pods_per_s, cpu_seconds, memory_mb| Run {
            pods_per_s,
            cpu_seconds,
            memory_mb,
        };
        let berth = middle(&[
            run(900.0, 1.0, 30.0),
            run(600.0, 0.5, 50.0),
            run(1.0, 9.0, 40.0),
        ]);
        let kube = run(300.0, 4.0, 120.0);
        let rows = rows(&CASES[0], &berth.unwrap(), &kube, 3);
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.measured, row.verdict()))
            .collect();
        assert_eq!(
            told,
            [(2.0, "goal"), (0.25, "goal"), (40.0 / 120.0, "goal")]
        );
        assert!(middle(&[]).is_none());
    }
}
