//! A change in words, with the names that a snapshot has for what it speaks of.

use std::collections::BTreeSet;

use crate::model::request::GpuRequest;
use crate::model::snapshot::Snapshot;
use crate::quota::Meter;
use crate::sched::next::{Change, Raise, Rule};

/// Jobs named before the rest is counted.
const NAMED_MAX: usize = 3;

impl Change {
    /// What would have to be done, as half a sentence after "it starts if".
    #[must_use]
    pub fn words(&self, snapshot: &Snapshot) -> String {
        let catalog = snapshot.catalog();
        match self {
            Self::Complete { missing: 1 } => "one more member is submitted".to_owned(),
            Self::Complete { missing } => format!("{missing} more members are submitted"),
            Self::OtherModel { model } => format!("it accepts {} too", catalog.model(*model).name),
            Self::LessHost { cpu, memory } => format!("each pod asks for {cpu} and {memory}"),
            Self::LessGpu { gpu } => format!("each pod asks for {}", gpu_words(snapshot, *gpu)),
            Self::Ends { pods } => {
                let job = |&id| {
                    let pod = snapshot.pod(id)?;
                    let gang = pod.spec.gang.map(|gang| &snapshot.gang(gang).name);
                    Some(gang.unwrap_or(&pod.spec.name).to_string())
                };
                let jobs: BTreeSet<String> = pods.iter().filter_map(job).collect();
                let named: Vec<String> = jobs.iter().take(NAMED_MAX).cloned().collect();
                let more = jobs.len() - named.len();
                let verb = if jobs.len() == 1 { "ends" } else { "end" };
                let rest = match more {
                    0 => String::new(),
                    more => format!(" and {more} others"),
                };
                format!("{}{rest} {verb}", named.join(", "))
            }
            Self::MoreQuota { raises } => {
                let raises = raises.iter().map(|raise| raise_words(snapshot, raise));
                raises.collect::<Vec<_>>().join(" and ")
            }
        }
    }
}

fn gpu_words(snapshot: &Snapshot, gpu: GpuRequest) -> String {
    let catalog = snapshot.catalog();
    match gpu {
        GpuRequest::None => "no GPU".to_owned(),
        GpuRequest::Whole { count: 1 } => "one GPU".to_owned(),
        GpuRequest::Whole { count } => format!("{count} GPUs of one node"),
        GpuRequest::Passthrough { count } => format!("{count} GPUs handed through"),
        GpuRequest::Share { compute, memory } if memory.is_zero() => {
            format!("a share of {compute} GPU")
        }
        GpuRequest::Share { compute, memory } if compute.is_zero() => {
            format!("{memory} of a GPU")
        }
        GpuRequest::Share { compute, memory } => {
            format!("a share of {compute} GPU and {memory} of its memory")
        }
        GpuRequest::Mig { profile } => catalog.mig_profile(profile).name.to_string(),
        GpuRequest::Vgpu { profile } => catalog.vgpu_profile(profile).name.to_string(),
    }
}

fn raise_words(snapshot: &Snapshot, raise: &Raise) -> String {
    let queue = &snapshot.queue(raise.queue).name;
    let rule = match raise.rule {
        Rule::Limit => "the limit",
        Rule::Borrowing => "what may be borrowed",
        Rule::Nominal => "the quota",
    };
    let amount = match raise.meter {
        Meter::Gpu => format!("{} GPUs", crate::amount::GpuUnits(raise.by)),
        Meter::GpuModel(model) => {
            let model = &snapshot.catalog().model(model).name;
            format!("{} {model}", crate::amount::GpuUnits(raise.by))
        }
        Meter::Cpu => crate::amount::MilliCpu(raise.by).to_string(),
        Meter::Memory => crate::amount::Bytes(raise.by).to_string(),
        Meter::Machines => format!("{} machines", raise.by),
    };
    format!("{rule} of {queue} is raised by {amount}")
}
