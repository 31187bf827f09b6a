//! What a run has been asked for when so much has arrived: the problem that its bound belongs to.
//!
//! Invariant: pods and nodes are those of the run with the same seed, and the moments are the events
//! that the column of the published tables averages. Not here: the bound.

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::model::catalog::Catalog;
use berth_core::model::gpu::ModelSet;

use super::arrivals;
use super::go_rand::GoRand;
use super::measure::percent_of;
use super::protocol::{Inputs, RunError, models, spelled};
use crate::bound::{Kind, Machine, Problem};

/// Parts of one arrival that means over several seeds are rounded up to.
const PARTS: u128 = 1 << 32;

/// What was asked of the cluster over the events of the column `percent`, as the mean over `seeds`,
/// each with the first outputs of Go's generator; of a run without such a column, over those of its
/// last one before.
///
/// # Errors
/// As [`run`](super::run).
pub fn demand(inputs: &Inputs, seeds: &[(u64, &[u8])], percent: u32) -> Result<Problem, RunError> {
    let mut arrived = vec![0u64; inputs.pods.len()];
    for &(seed, go_rand) in seeds {
        let (sums, moments) = arrivals_of(inputs, seed, go_rand, percent)?;
        for (arrived, sum) in arrived.iter_mut().zip(sums) {
            let mean = (u128::from(sum) * PARTS).div_ceil(u128::from(moments));
            *arrived += u64::try_from(mean).expect("lists are bounded far below 2^32 pods");
        }
    }
    let mut catalog = Catalog::default();
    for pod in &inputs.pods {
        for model in spelled(&pod.gpu_spec) {
            catalog.intern_model(model)?;
        }
    }
    let mut machines = Vec::with_capacity(inputs.nodes.len());
    for node in inputs.nodes.iter().filter(|node| node.gpus > 0) {
        machines.push(Machine {
            nodes: 1,
            cpu: MilliCpu(node.cpu_milli),
            memory: Bytes::from_mib(node.memory_mib),
            gpus: node.gpus,
            models: ModelSet::NONE.with(catalog.intern_model(&node.model)?),
        });
    }
    let kinds = inputs.pods.iter().zip(arrived);
    let kinds = kinds.map(|(pod, arrived)| Kind {
        cpu: MilliCpu(pod.cpu_milli),
        memory: Bytes::from_mib(pod.memory_mib),
        gpus: pod.gpus,
        milli_each: u16::try_from(pod.gpu_milli).expect("at most 1000"),
        models: models(&catalog, &pod.gpu_spec).expect("interned by the loop above"),
        arrived,
    });
    let parts = u64::try_from(PARTS).expect("a power of two below 2^64");
    Ok(Problem {
        machines,
        kinds: kinds.collect(),
        moments: parts * seeds.len().max(1) as u64,
    })
}

/// How often each pod had arrived, summed over the events of the column, and how many events these
/// were.
fn arrivals_of(
    inputs: &Inputs,
    seed: u64,
    go_rand: &[u8],
    percent: u32,
) -> Result<(Vec<u64>, u64), RunError> {
    let rand = GoRand::from_first_outputs(go_rand).ok_or(RunError::GoRand {
        seed,
        bytes: go_rand.len(),
    })?;
    let (order, _) = arrivals::draw(&inputs.pods, inputs.nodes.len(), inputs.gpus, rand);
    let mut arrived_milli = 0;
    let mut now = vec![0; inputs.pods.len()];
    let (mut sums, mut moments, mut last) = (now.clone(), 0, 0);
    for &at in &order {
        let pod = &inputs.pods[at];
        arrived_milli += pod.gpu_milli * i64::from(pod.gpus);
        let column = percent_of(arrived_milli, inputs.gpus);
        if column > percent as usize {
            break;
        }
        if column > last {
            sums.fill(0);
            (moments, last) = (0, column);
        }
        now[at] += 1;
        moments += 1;
        sums.iter_mut().zip(&now).for_each(|(sum, n)| *sum += n);
    }
    Ok((sums, moments.max(1)))
}
