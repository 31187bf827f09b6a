//! Compact records of nodes and pods: all that the index keeps of an object.

use std::collections::BTreeMap;
use std::sync::Arc;

use berth_api::mark;
use berth_core::amount::{Bytes, GpuUnits};
use berth_core::filter::facts::Text;
use berth_core::filter::facts::node::NodeFacts;
use berth_core::filter::facts::pod::PodFacts;
use berth_core::limits;
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::time::Time;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::gang::{GangMark, gang_mark};
use super::intern::Interner;
use super::{LowerError, list, node, optional, pod, text, unknown};
use crate::quantity;

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRecord {
    pub facts: Arc<NodeFacts>,
    /// The model of its GPUs, where a label says so.
    pub gpu_model: Text,
    /// Memory of each GPU; zero where no label says so.
    pub gpu_memory: Bytes,
    pub gpu_mode: GpuMode,
    /// GPUs that the node has, and those of them that it offers now.
    pub gpus: (usize, usize),
}

/// What a pod asks for of GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GpuAsk {
    #[default]
    None,
    Whole(u8),
    Share {
        compute: GpuUnits,
        memory: Bytes,
    },
}

/// A pod that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRecord {
    pub facts: Arc<PodFacts>,
    /// Its resource version, the lock of writes to it while it waits; empty once it has a node.
    pub version: Text,
    pub scheduler: Text,
    /// Where it runs.
    pub node: Option<Text>,
    /// Where preemption has promised it a place.
    pub nominated: Option<Text>,
    /// Gates that keep it from being scheduled.
    pub gates: Box<[Text]>,
    pub created: Time,
    /// When it got its place, as far as its status says.
    pub bound: Option<Time>,
    pub preempts: Preempts,
    pub user: Text,
    pub queue: Option<Text>,
    pub gang: Option<GangMark>,
    pub gpu: GpuAsk,
    /// GPU models that will do; empty for any.
    pub gpu_models: Box<[Text]>,
    pub carries_machine: bool,
}

impl NodeRecord {
    /// What the index keeps of a node.
    ///
    /// # Errors
    /// If a quantity or label can't be read.
    pub fn new(from: &api::Node) -> Result<Self, LowerError> {
        let labels = from.metadata.labels.as_ref();
        let label = |name: &str| labels.and_then(|labels| labels.get(name));
        let status = from.status.as_ref();
        let count = |from: Option<&BTreeMap<String, Quantity>>| {
            let amount = from.and_then(|all| all.get(mark::GPU_RESOURCE))?;
            let amount = quantity::parse(&amount.0).ok()?.units();
            usize::try_from(amount).ok()
        };
        let all = count(status.and_then(|status| status.capacity.as_ref())).unwrap_or(0);
        let all = all.min(limits::GPUS_PER_NODE_MAX);
        let offered = count(status.and_then(|status| status.allocatable.as_ref()));
        let memory_mib = label(mark::GPU_PRODUCT_MEMORY).and_then(|mib| mib.parse::<i64>().ok());
        let memory = memory_mib.unwrap_or(0).clamp(0, limits::MEMORY_MAX.0 >> 20) << 20;
        Ok(Self {
            facts: Arc::new(node(from)?),
            gpu_model: label(mark::GPU_PRODUCT).map_or_else(|| text("gpu"), |name| text(name)),
            gpu_memory: Bytes(memory),
            gpu_mode: gpu_mode(label(mark::GPU_MODE))?,
            gpus: (all, offered.unwrap_or(0).min(all)),
        })
    }
}

impl PodRecord {
    /// What the index keeps of a pod.
    ///
    /// # Errors
    /// If it has no name, or a field can't be read.
    pub fn new(from: &api::Pod) -> Result<Self, LowerError> {
        let facts = Arc::new(pod(from)?);
        let metadata = &from.metadata;
        let spec = from.spec.as_ref();
        let status = from.status.as_ref();
        let annotations = metadata.annotations.as_ref();
        let annotation = |name: &str| annotations.and_then(|all| all.get(name));
        let label = |name: &str| metadata.labels.as_ref().and_then(|all| all.get(name));
        let name = |from: Option<&String>| from.filter(|name| !name.is_empty()).map(|it| text(it));
        let gates = spec.map_or(&[][..], |spec| list(spec.scheduling_gates.as_ref()));
        let never = spec.and_then(|spec| spec.preemption_policy.as_deref()) == Some("Never");
        let models = annotation(mark::GPU_MODELS);
        let models = models.map_or("", String::as_str).split(',').map(str::trim);
        let created = metadata.creation_timestamp.as_ref();
        Ok(Self {
            version: match facts.node_name {
                None => optional(metadata.resource_version.as_ref()),
                Some(_) => Text::default(),
            },
            scheduler: optional(spec.and_then(|spec| spec.scheduler_name.as_ref())),
            node: facts.node_name.clone(),
            nominated: name(status.and_then(|status| status.nominated_node_name.as_ref())),
            gates: gates.iter().map(|gate| text(&gate.name)).collect(),
            created: created.map_or(Time(0), |at| Time(at.0.as_millisecond())),
            bound: status.and_then(bound_at),
            preempts: if never {
                Preempts::Never
            } else {
                Preempts::LowerPriority
            },
            user: name(label(mark::USER)).unwrap_or_else(|| facts.namespace.clone()),
            queue: queue_named(label, annotation),
            gang: gang_mark(from)?,
            gpu: gpu_ask(&facts, annotation)?,
            gpu_models: models.filter(|one| !one.is_empty()).map(text).collect(),
            carries_machine: label("kubevirt.io").is_some_and(|kind| kind == "virt-launcher"),
            facts,
        })
    }

    /// Holds what other pods have alike together with them.
    #[must_use]
    pub fn sharing(mut self, interner: &mut Interner) -> Self {
        let facts = Arc::make_mut(&mut self.facts);
        interner.text(&mut facts.namespace);
        interner.labels(&mut facts.labels);
        interner.template(&mut facts.template);
        if let Some(node) = &mut facts.node_name {
            interner.text(node);
        }
        interner.text(&mut self.scheduler);
        interner.text(&mut self.user);
        let texts = [&mut self.node, &mut self.nominated, &mut self.queue];
        for text in texts.into_iter().flatten() {
            interner.text(text);
        }
        self
    }

    /// Its name with its namespace, unique among pods.
    #[must_use]
    pub fn key(&self) -> String {
        format!("{}/{}", self.facts.namespace, self.facts.name)
    }
}

/// When the pod got its place.
fn bound_at(status: &api::PodStatus) -> Option<Time> {
    let conditions = list(status.conditions.as_ref());
    let scheduled = conditions
        .iter()
        .find(|one| one.type_ == "PodScheduled" && one.status == "True");
    let at = scheduled.and_then(|one| one.last_transition_time.as_ref());
    let at = at.or(status.start_time.as_ref());
    at.map(|at| Time(at.0.as_millisecond()))
}

/// The queue that a pod names, in Berth's words or in those of others.
fn queue_named<'a>(
    label: impl Fn(&str) -> Option<&'a String>,
    annotation: impl Fn(&str) -> Option<&'a String>,
) -> Option<Text> {
    let named = label(mark::QUEUE)
        .or_else(|| label("kueue.x-k8s.io/queue-name"))
        .or_else(|| label("kai.scheduler/queue"))
        .or_else(|| annotation("volcano.sh/queue-name"));
    named.map(|name| text(name))
}

/// What the pod asks for of GPUs, in Berth's words or in those of others.
fn gpu_ask<'a>(
    facts: &PodFacts,
    annotation: impl Fn(&str) -> Option<&'a String>,
) -> Result<GpuAsk, LowerError> {
    let whole = facts.template.requests.scalars.get(mark::GPU_RESOURCE);
    if whole > 0 {
        return Ok(GpuAsk::Whole(u8::try_from(whole).unwrap_or(u8::MAX)));
    }
    let amount = |name: &'static str| {
        let Some(amount) = annotation(name) else {
            return Ok(None);
        };
        let read = quantity::parse(amount).map_err(|why| LowerError::Quantity {
            path: format!("metadata.annotations[{name}]"),
            text: amount.clone(),
            why,
        })?;
        Ok(Some(read))
    };
    let share = amount(mark::GPU_SHARE)?.or(amount("gpu-fraction")?);
    let memory = amount(mark::GPU_MEMORY)?.map(|bytes| Bytes(bytes.units()));
    let mib = amount("gpu-memory")?.map(|mib| Bytes(mib.units().saturating_mul(1 << 20)));
    let memory = memory.or(mib);
    if share.is_none() && memory.is_none() {
        return Ok(GpuAsk::None);
    }
    let compute = share.map_or(0, |share| share.decimals(4));
    let in_range = (0..=GpuUnits::ONE_GPU.0).contains(&compute)
        && memory.is_none_or(|memory| (0..=limits::MEMORY_MAX.0).contains(&memory.0))
        && (compute > 0 || memory.is_some_and(|memory| memory.0 > 0));
    if !in_range {
        let value = format!("{compute}/10000 of a GPU, {memory:?}");
        return Err(unknown(
            "GPU share",
            &value,
            "more than nothing, at most one GPU",
        ));
    }
    Ok(GpuAsk::Share {
        compute: GpuUnits(compute),
        memory: memory.unwrap_or(Bytes::ZERO),
    })
}

fn gpu_mode(label: Option<&String>) -> Result<GpuMode, LowerError> {
    Ok(match label.map(String::as_str) {
        None | Some("exclusive") => GpuMode::Exclusive,
        Some("time-slice") => GpuMode::TimeSlice,
        Some("mps") => GpuMode::Mps,
        Some("mig") => GpuMode::Mig,
        Some("vgpu") => GpuMode::Vgpu,
        Some("passthrough") => GpuMode::Passthrough,
        Some(other) => {
            let expected = "exclusive, time-slice, mps, mig, vgpu or passthrough";
            return Err(unknown(mark::GPU_MODE, other, expected));
        }
    })
}
