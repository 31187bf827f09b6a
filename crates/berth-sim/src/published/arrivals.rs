//! Who arrives when, what the nodes are called, and what the workload is said to be.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use berth_core::amount::{GpuUnits, MilliCpu};
use berth_core::model::gpu::ModelSet;
use berth_core::sched::fragmentation::{TargetTask, TargetWorkload};

use super::go_rand::GoRand;
use crate::trace::openb::PodRow;

/// GPU demand to which the list of arrivals is tuned, in tenths of the cluster.
const TUNING_TENTHS: i64 = 13;

/// Values that ten client-go informers draw from the shared generator before the nodes are named.
const INFORMER_DRAWS: usize = 10;

/// Part of the pods that the target workload covers, in hundredths.
const TARGET_PERCENT: u64 = 95;

/// The order of arrivals, as positions in the name-sorted list, and the rank of each node, as a
/// permutation of the name-sorted node list.
pub(super) fn draw(
    pods: &[PodRow],
    nodes: usize,
    gpus: i64,
    mut rand: GoRand,
) -> (Vec<usize>, Vec<usize>) {
    rand.int63(); // an argument of a debug message, evaluated whether or not it is written
    let mut order: Vec<usize> = (0..pods.len()).collect();
    rand.shuffle(&mut order);
    let milli = |at: usize| pods[at].gpu_milli * i64::from(pods[at].gpus);
    let target = gpus * 1000 * TUNING_TENTHS / 10;
    let mut total: i64 = order.iter().map(|&at| milli(at)).sum();
    if total > target {
        while total > target {
            let removed = order.remove(rand.intn(order.len()));
            total -= milli(removed);
        }
    } else if total > 0 {
        loop {
            let drawn = rand.intn(pods.len());
            // The published stop test weighs one GPU of the pod, not all of them.
            if total + pods[drawn].gpu_milli > target {
                break;
            }
            order.push(drawn);
            total += milli(drawn);
        }
    }
    for _ in 0..INFORMER_DRAWS {
        rand.int63();
    }
    (order, rand.perm(nodes))
}

/// The typical pods: the most frequent types that make up 95 % of the list.
///
/// Types differ by CPU, GPU and the models as written, so that two spellings of one set count
/// apart, as published. `models` turns a spelling into a set.
pub(super) fn target(pods: &[PodRow], mut models: impl FnMut(&str) -> ModelSet) -> TargetWorkload {
    let mut counts: BTreeMap<(i64, i64, u8, &str), u64> = BTreeMap::new();
    for pod in pods {
        *counts
            .entry((pod.cpu_milli, pod.gpu_milli, pod.gpus, &*pod.gpu_spec))
            .or_default() += 1;
    }
    let mut types: Vec<_> = counts.into_iter().collect();
    types.sort_by_key(|&(kind, count)| Reverse((count, kind)));
    let total = pods.len() as u64;
    let mut covered = 0;
    let typical = types.into_iter().take_while(|&(_, count)| {
        let wanted = covered * 100 < total * TARGET_PERCENT;
        covered += count;
        wanted
    });
    let tasks: Vec<TargetTask> = typical
        .map(|((cpu, milli, gpus, spec), count)| TargetTask {
            cpu: MilliCpu(cpu),
            compute_each: GpuUnits::from_milli(milli),
            gpus,
            models: models(spec),
            count,
        })
        .collect();
    TargetWorkload::new(&tasks, total)
}
