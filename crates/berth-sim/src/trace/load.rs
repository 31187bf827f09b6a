//! A recorded workload brought under load: a smaller cluster, and arrivals that keep pace with it.
//!
//! A trace whose cluster was mostly idle can't tell policies apart. Here the cluster is thinned out,
//! and the jobs keep their order, their requests and their run times, but each arrives when the GPU
//! time asked for before it makes up the wanted part of what the cluster has had until then.
//!
//! Invariant: the same workload and load make the same result; nothing is drawn. Not here: what a
//! trace says.

use std::collections::BTreeMap;

use berth_core::amount::GpuUnits;
use berth_core::time::{Span, Time};

use crate::workload::{GpuAsk, Job, NodeTemplate, Workload};

/// Halvings of the search for the length: enough for a millisecond in centuries.
const HALVINGS: u32 = 60;

/// How much load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// GPU time asked for, in percent of what the cluster has while jobs arrive.
    pub percent: u32,
    /// One node in so many is kept.
    pub shrink: u32,
}

/// A workload under load.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The workload.
    pub workload: Workload,
    /// While jobs arrive, from the beginning.
    pub length: Span,
    /// Jobs whose run was cut to that length.
    pub cut: usize,
}

/// `workload` under `load`; as it is if it asks for no GPU time or has no GPU.
///
/// Of nodes that are alike, every `shrink`-th by name is kept, counted on from one shape to the
/// next, so that the mix of shapes stays. Runs longer than the whole are cut to it: they would hold
/// their place to the end anyway.
#[must_use]
pub fn loaded(mut workload: Workload, load: Load) -> Loaded {
    workload.nodes = thinned(&workload.nodes, load.shrink.max(1) as usize);
    let gpus: f64 = workload.nodes.iter().map(|node| f64::from(node.gpus)).sum();
    let pace = gpus * f64::from(load.percent) / 100.0;
    let jobs = &mut workload.jobs;
    jobs.sort_by(|a, b| (a.arrival, &a.name).cmp(&(b.arrival, &b.name)));
    let length = length(jobs, pace);
    if length == Span::ZERO {
        return Loaded {
            workload,
            length,
            cut: 0,
        };
    }
    let (mut asked, mut cut) = (0.0, 0);
    for job in jobs {
        if job.run.is_none_or(|run| run > length) {
            job.run = Some(length);
            cut += 1;
        }
        job.arrival = Time((asked / pace) as i64);
        asked += gpu_ms(job, length);
    }
    Loaded {
        workload,
        length,
        cut,
    }
}

/// The time in which `pace` GPUs do all that `jobs` ask for, each cut to that time.
fn length(jobs: &[Job], pace: f64) -> Span {
    if pace <= 0.0 {
        return Span::ZERO;
    }
    let whole = Span(i64::MAX / 4);
    let needed = |length: Span| jobs.iter().map(|job| gpu_ms(job, length)).sum::<f64>() / pace;
    // Jobs without an end would need for ever; those with one need at most this.
    let ends = jobs
        .iter()
        .filter_map(|job| job.run)
        .max()
        .unwrap_or(Span::ZERO);
    let (mut low, mut high) = (0.0, needed(ends).min(whole.0 as f64));
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if needed(Span(middle as i64)) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    Span(high as i64)
}

/// GPU time of a job cut to `most`, in GPU milliseconds.
fn gpu_ms(job: &Job, most: Span) -> f64 {
    let units = match job.ask.gpu {
        GpuAsk::Whole(gpus) | GpuAsk::Passthrough(gpus) => f64::from(gpus),
        GpuAsk::Share { compute, .. } => compute.0 as f64 / GpuUnits::ONE_GPU.0 as f64,
        // What part of a card these are is known to the catalogue only.
        GpuAsk::None | GpuAsk::Mig(_) | GpuAsk::Vgpu(_) => 0.0,
    };
    let run = job.run.map_or(most, |run| run.min(most));
    units * f64::from(job.pods) * run.0 as f64
}

/// One node in `shrink`, at least one.
fn thinned(nodes: &[NodeTemplate], shrink: usize) -> Vec<NodeTemplate> {
    let mut shapes: BTreeMap<_, Vec<&NodeTemplate>> = BTreeMap::new();
    for node in nodes {
        let shape = (&node.gpu_model, node.gpus, node.cpu, node.memory);
        shapes.entry(shape).or_default().push(node);
    }
    let mut sorted: Vec<&NodeTemplate> = Vec::with_capacity(nodes.len());
    for mut alike in shapes.into_values() {
        alike.sort_by(|a, b| a.name.cmp(&b.name));
        sorted.extend(alike);
    }
    let first = (shrink / 2).min(nodes.len().saturating_sub(1));
    let kept = sorted.into_iter().skip(first).step_by(shrink);
    kept.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::openb_like::{Parameters, workload};

    fn example() -> Workload {
        let parameters = Parameters {
            length: Span::from_hours(2),
            nodes_permille: 100,
            ..Parameters::default()
        };
        workload(&parameters, 1)
    }

    #[test]
    fn what_is_asked_for_keeps_pace_with_the_cluster() {
        let before = example();
        for (percent, shrink) in [(50, 1), (100, 3), (130, 10), (100, 100_000)] {
            let Loaded {
                workload, length, ..
            } = loaded(before.clone(), Load { percent, shrink });
            let gpus: f64 = workload.nodes.iter().map(|node| f64::from(node.gpus)).sum();
            let asked: f64 = workload.jobs.iter().map(|job| gpu_ms(job, length)).sum();
            let part = asked / (gpus * length.0 as f64);
            assert!(
                (part - f64::from(percent) / 100.0).abs() < 1e-3,
                "{percent} {shrink} {part}"
            );
            assert_eq!(workload.jobs.len(), before.jobs.len());
            assert!(
                workload
                    .jobs
                    .iter()
                    .all(|job| job.arrival <= Time(length.0))
            );
            assert!(workload.jobs.is_sorted_by_key(|job| job.arrival));
            let nodes = before.nodes.len().div_ceil(shrink as usize);
            assert!(workload.nodes.len().abs_diff(nodes) <= 1 && !workload.nodes.is_empty());
        }
    }

    #[test]
    fn a_workload_that_asks_for_nothing_stays_as_it_is() {
        let mut nothing = example();
        nothing.jobs.clear();
        let load = Load {
            percent: 100,
            shrink: 1,
        };
        let Loaded {
            workload,
            length,
            cut,
        } = loaded(nothing, load);
        assert!(workload.jobs.is_empty() && length == Span::ZERO && cut == 0);
        let mut hosts = example();
        hosts.nodes.iter_mut().for_each(|node| node.gpus = 0);
        assert_eq!(loaded(hosts.clone(), load).workload.jobs, hosts.jobs);
    }
}
