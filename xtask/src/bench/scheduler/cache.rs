//! What a scheduler keeps of a cluster that is full of other people's pods.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::load::{Field, STALLED_AFTER, Side, pod};
use super::{COMMAND, is_wanted, options};
use crate::bench::row::{Better, Row, median};
use crate::bench::{Context, Measured};

const NAME: &str = "150,000 pods on 5,000 nodes";
const N_NODES: u32 = 5_000;
const N_PODS: usize = 150_000;
const MEMORY_MB_MAX: f64 = 150.0;

pub(super) fn measure(cx: &Context<'_>, measured: &mut Measured) -> anyhow::Result<()> {
    if !is_wanted(NAME) {
        return Ok(());
    }
    Field::with(cx, &options(N_NODES), |field| {
        eprintln!("{NAME}: making them");
        field.create(N_PODS, elsewhere)?;
        let memory = |side| {
            let runs: anyhow::Result<Vec<f64>> = (0..cx.repeats)
                .map(|repeat| run(field, side, repeat))
                .collect();
            median(runs?).context("no runs")
        };
        let (berth, kube) = (memory(Side::Berth)?, memory(Side::KubeScheduler)?);
        measured.rows.push(Row {
            name: "Peak memory, 150,000 pods on 5,000 nodes",
            command: COMMAND.to_owned(),
            unit: "MB",
            better: Better::Lower,
            goal: MEMORY_MB_MAX,
            stretch: None,
            measured: berth,
            runs: cx.repeats,
        });
        measured.cases.push(json!({
            "name": NAME,
            "memory_ratio": berth / kube,
            "berth": {"memory_peak_mb": berth},
            "kube_scheduler": {"memory_peak_mb": kube},
        }));
        Ok(())
    })
}

/// Peak memory in MB of a scheduler that has read the cluster and bound a pod.
fn run(field: &Field<'_>, side: Side, repeat: usize) -> anyhow::Result<f64> {
    let name = format!("last-{}-{repeat}", side.name());
    field.create(1, |_| pod(&name, side.name(), 0))?;
    let (scheduler, binds) = field.follow(side, STALLED_AFTER, |binds| !binds.is_empty())?;
    ensure!(
        !binds.is_empty(),
        "{} bound nothing; it said: {}",
        side.name(),
        scheduler.said()
    );
    let memory = scheduler.usage()?.memory_peak_mb;
    scheduler.stop();
    eprintln!("{NAME}, {}: {memory:.0} MB", side.name());
    Ok(memory)
}

/// A pod that somebody else has put on a node.
fn elsewhere(index: usize) -> Value {
    let mut pod = pod(&format!("pod-{index}"), "somebody-else", 0);
    pod["spec"]["nodeName"] = format!("fake-{:05}", index % N_NODES as usize).into();
    pod
}
