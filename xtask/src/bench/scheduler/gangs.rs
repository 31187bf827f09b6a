//! Gangs and single pods of many queues on a cluster that is a little too small for them.
//!
//! Invariant that the run judges: at its end a gang is bound whole or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::load::{Bind, Field, Side, pod};
use super::{COMMAND, is_wanted, options};
use crate::bench::row::{Better, Row, median};
use crate::bench::{Context, Measured};
use crate::testbed::api::Verb;

const NAME: &str = "20 gangs of 500 and 10,000 pods, 30 queues";
const N_GANGS: usize = 20;
const GANG_SIZE: usize = 500;
const N_SINGLES: usize = 10_000;
const N_QUEUES: usize = 30;
/// Nodes of eight GPUs each: 19,200 for 20,000 pods with one each.
const N_NODES: u32 = 2_400;
const N_GPUS: usize = 19_200;
/// Nothing is bound for so long: what is left has to wait.
const PATIENCE: Duration = Duration::from_secs(20);
const WORKLOADS_PER_S_MIN: f64 = 200.0;

const GROUPS: &str = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups";
const QUEUES: &str = "/apis/berth.dev/v1alpha1/queues";

pub(super) fn measure(cx: &Context<'_>, measured: &mut Measured) -> anyhow::Result<()> {
    if !is_wanted(NAME) {
        return Ok(());
    }
    let mut rates = Vec::new();
    // One run makes 20,000 pods: the first three are enough for a median.
    for _ in 0..cx.repeats.min(3) {
        rates.push(Field::with(cx, &options(N_NODES), run)?);
    }
    let n_runs = rates.len();
    let workloads_per_s = median(rates).context("no runs")?;
    measured.rows.push(Row {
        name: "Workloads a second, 20 gangs of 500 and 10,000 pods, 30 queues",
        command: COMMAND.to_owned(),
        unit: "a second",
        better: Better::Higher,
        goal: WORKLOADS_PER_S_MIN,
        stretch: None,
        measured: workloads_per_s,
        runs: n_runs,
    });
    measured
        .cases
        .push(json!({"name": NAME, "n_nodes": N_NODES, "workloads_per_s": workloads_per_s}));
    Ok(())
}

/// Workloads that were admitted a second.
fn run(field: &Field<'_>) -> anyhow::Result<f64> {
    field.install_crds()?;
    let queue = |name: &str, spec: Value| {
        json!({
            "apiVersion": "berth.dev/v1alpha1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": spec,
        })
    };
    // Queues that may lend to each other what they do not use.
    field
        .api
        .require(Verb::Post, QUEUES, &queue("site", json!({})))?;
    for index in 0..N_QUEUES {
        let nominal = (N_GPUS / N_QUEUES).to_string();
        let spec = json!({
            "parent": "site",
            "quotas": [{"resource": "gpu", "nominal": nominal}],
        });
        let queue = queue(&format!("queue-{index}"), spec);
        field.api.require(Verb::Post, QUEUES, &queue)?;
    }
    for gang in 0..N_GANGS {
        let group = json!({
            "metadata": {"name": format!("gang-{gang}")},
            "spec": {"schedulingPolicy": {"gang": {"minCount": GANG_SIZE}}},
        });
        field.api.require(Verb::Post, GROUPS, &group)?;
    }
    let n_pods = N_GANGS * GANG_SIZE + N_SINGLES;
    field.create(n_pods, workload)?;
    let (scheduler, binds) = field.follow(Side::Berth, PATIENCE, |binds| binds.len() == N_GPUS)?;
    scheduler.stop();
    let gangs = members_bound(&binds);
    let whole = gangs.values().filter(|n| **n == GANG_SIZE).count();
    ensure!(whole == gangs.len(), "gangs are bound in part: {gangs:?}");
    // Less than a gang may stay free, since no other gang fits there.
    ensure!(
        binds.len() > N_GPUS - GANG_SIZE,
        "{} of {N_GPUS} GPUs are in use",
        binds.len()
    );
    let n_workloads = whole + binds.len() - whole * GANG_SIZE;
    let (first, last) = (binds.first(), binds.last());
    let (first, last) = first.zip(last).context("no binds")?;
    let seconds = last.at.duration_since(first.at).as_secs_f64();
    let rate = f64::from(u32::try_from(n_workloads)?) / seconds;
    eprintln!(
        "{NAME}: {n_workloads} workloads, {whole} of them gangs and {} pods, in {seconds:.1} s",
        binds.len()
    );
    Ok(rate)
}

/// Members of gangs and single pods take turns, as they would come.
fn workload(index: usize) -> Value {
    let turn = index / 2;
    let gang = turn / GANG_SIZE;
    let (name, queue) = if index.is_multiple_of(2) {
        (format!("gang-{gang}-{turn}"), gang)
    } else {
        (format!("pod-{turn}"), turn)
    };
    let mut pod = pod(&name, Side::Berth.name(), 1);
    pod["metadata"]["labels"]["berth.dev/queue"] = format!("queue-{}", queue % N_QUEUES).into();
    if index.is_multiple_of(2) {
        pod["spec"]["schedulingGroup"] = json!({"podGroupName": format!("gang-{gang}")});
    }
    pod
}

/// Members of each gang that were bound, by the number of the gang.
fn members_bound(binds: &[Bind]) -> BTreeMap<&str, usize> {
    let mut gangs = BTreeMap::new();
    for bind in binds {
        let mut words = bind.pod.split('-');
        if words.next() == Some("gang")
            && let Some(gang) = words.next()
        {
            *gangs.entry(gang).or_insert(0) += 1;
        }
    }
    gangs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gang_has_all_its_members() {
        let mut gangs = BTreeMap::new();
        let mut n_singles = 0;
        for index in 0..N_GANGS * GANG_SIZE + N_SINGLES {
            match workload(index)["spec"]["schedulingGroup"]["podGroupName"].as_str() {
                Some(gang) => *gangs.entry(gang.to_owned()).or_insert(0) += 1,
                None => n_singles += 1,
            }
        }
        assert_eq!((gangs.len(), n_singles), (N_GANGS, N_SINGLES));
        assert!(gangs.values().all(|n| *n == GANG_SIZE));
    }
}
