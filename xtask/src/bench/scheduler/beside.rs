//! The same pods for Berth and for kube-scheduler, in turns.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::load::{Field, STALLED_AFTER, Side, pod, rate};
use super::{COMMAND, is_wanted, options};
use crate::bench::row::{Better, Row, median};
use crate::bench::{Context, Measured};
use crate::testbed::Options;
use crate::testbed::api::Verb;

const TEMPLATES: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";

const CPU_RATIO_MAX: f64 = 0.25;
const MEMORY_RATIO_MAX: f64 = 1.0 / 3.0;

/// What each pod asks for beside a little CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ask {
    Nothing,
    /// One GPU, as an extended resource.
    Gpu,
    /// One GPU, as a claim that is made from a template.
    Claim,
}

/// What is measured, with the names of its three rows: pods, CPU, memory.
struct Case {
    name: &'static str,
    n_nodes: u32,
    n_pods: usize,
    ask: Ask,
    rows: [&'static str; 3],
    /// How many times as many pods a second it has to be.
    pods_ratio_min: f64,
}

const CASES: [Case; 5] = [
    Case {
        name: "plain pods, 1,000 nodes",
        n_nodes: 1_000,
        n_pods: 3_000,
        ask: Ask::Nothing,
        rows: [
            "Pods a second, plain pods, 1,000 nodes",
            "CPU, plain pods, 1,000 nodes",
            "Peak memory, plain pods, 1,000 nodes",
        ],
        pods_ratio_min: 2.0,
    },
    Case {
        name: "pods with one GPU, 1,000 nodes",
        n_nodes: 1_000,
        n_pods: 3_000,
        ask: Ask::Gpu,
        rows: [
            "Pods a second, one GPU each, 1,000 nodes",
            "CPU, one GPU each, 1,000 nodes",
            "Peak memory, one GPU each, 1,000 nodes",
        ],
        pods_ratio_min: 2.0,
    },
    Case {
        name: "plain pods, 5,000 nodes",
        n_nodes: 5_000,
        n_pods: 3_000,
        ask: Ask::Nothing,
        rows: [
            "Pods a second, plain pods, 5,000 nodes",
            "CPU, plain pods, 5,000 nodes",
            "Peak memory, plain pods, 5,000 nodes",
        ],
        pods_ratio_min: 2.0,
    },
    Case {
        name: "pods with one GPU, 5,000 nodes",
        n_nodes: 5_000,
        n_pods: 3_000,
        ask: Ask::Gpu,
        rows: [
            "Pods a second, one GPU each, 5,000 nodes",
            "CPU, one GPU each, 5,000 nodes",
            "Peak memory, one GPU each, 5,000 nodes",
        ],
        pods_ratio_min: 2.0,
    },
    Case {
        name: "pods with a device claim, 500 nodes",
        n_nodes: 500,
        n_pods: 1_000,
        ask: Ask::Claim,
        rows: [
            "Pods a second, a claim from a template each, 500 nodes",
            "CPU, a claim from a template each, 500 nodes",
            "Peak memory, a claim from a template each, 500 nodes",
        ],
        pods_ratio_min: 5.0,
    },
];

impl Case {
    fn options(&self) -> Options {
        Options {
            dra: self.ask == Ask::Claim,
            ..options(self.n_nodes)
        }
    }

    fn pod(&self, index: usize, side: Side) -> Value {
        let gpus = u64::from(self.ask == Ask::Gpu);
        let mut pod = pod(&format!("pod-{index}"), side.name(), gpus);
        if self.ask == Ask::Claim {
            let claim = json!({"name": "gpu", "resourceClaimTemplateName": "one-gpu"});
            pod["spec"]["resourceClaims"] = json!([claim]);
            pod["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": "gpu"}]);
        }
        pod
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

pub(super) fn measure(cx: &Context<'_>, measured: &mut Measured) -> anyhow::Result<()> {
    let wanted: Vec<&Case> = CASES.iter().filter(|case| is_wanted(case.name)).collect();
    // Neighbours that want the same testbed share it.
    let alike = |a: &&Case, b: &&Case| {
        let kind = |case: &Case| (case.n_nodes, case.ask == Ask::Claim);
        kind(a) == kind(b)
    };
    for cases in wanted.chunk_by(alike) {
        Field::with(cx, &cases[0].options(), |field| {
            cases
                .iter()
                .try_for_each(|case| measure_one(cx, field, case, measured))
        })?;
    }
    Ok(())
}

fn measure_one(
    cx: &Context<'_>,
    field: &Field<'_>,
    case: &Case,
    measured: &mut Measured,
) -> anyhow::Result<()> {
    if case.ask == Ask::Claim {
        field.api.require(Verb::Post, TEMPLATES, &template())?;
    }
    let mut runs: BTreeMap<Side, Vec<Run>> = BTreeMap::new();
    for repeat in 1..=cx.repeats {
        for side in [Side::KubeScheduler, Side::Berth] {
            let run = run(field, case, side)?;
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
    Ok(())
}

fn run(field: &Field<'_>, case: &Case, side: Side) -> anyhow::Result<Run> {
    field.create(case.n_pods, |index| case.pod(index, side))?;
    if case.ask == Ask::Claim {
        field.wait_for_claims(case.n_pods)?;
    }
    let is_done = |binds: &[_]| binds.len() == case.n_pods;
    let (scheduler, binds) = field.follow(side, STALLED_AFTER, is_done)?;
    ensure!(
        is_done(&binds),
        "{} of {} pods were bound by {}; it said: {}",
        binds.len(),
        case.n_pods,
        side.name(),
        scheduler.said()
    );
    let usage = scheduler.usage()?;
    scheduler.stop();
    field.clear()?;
    let n_pods = f64::from(u32::try_from(case.n_pods)?);
    Ok(Run {
        pods_per_s: rate(&binds).context("too few binds")?,
        cpu_seconds: usage.cpu_seconds * 1_000.0 / n_pods,
        memory_mb: usage.memory_peak_mb,
    })
}

/// A template of claims for one GPU, of the class that the testbed's nodes publish.
fn template() -> Value {
    let request = json!({"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}});
    json!({
        "metadata": {"name": "one-gpu"},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    })
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
    let pods_ratio = berth.pods_per_s / kube.pods_per_s;
    let cpu_ratio = berth.cpu_seconds / kube.cpu_seconds;
    let memory_ratio = berth.memory_mb / kube.memory_mb;
    vec![
        row(pods, Better::Higher, case.pods_ratio_min, pods_ratio),
        row(cpu, Better::Lower, CPU_RATIO_MAX, cpu_ratio),
        row(memory, Better::Lower, MEMORY_RATIO_MAX, memory_ratio),
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
        "n_pods": case.n_pods,
        "pods_per_s_ratio": berth.pods_per_s / kube.pods_per_s,
        "cpu_ratio": berth.cpu_seconds / kube.cpu_seconds,
        "memory_ratio": berth.memory_mb / kube.memory_mb,
        "berth": absolute(berth),
        "kube_scheduler": absolute(kube),
    })
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
