//! `Queue`: from the wire to what the quota tree is made of.

use berth_api::queue::{Queue, QueueQuota};
use berth_core::filter::facts::Text;
use berth_core::quota::Quota;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::{LowerError, amount, name, text, unknown};

/// A resource that a queue has a rule for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueResource {
    Gpu,
    GpuModel(Text),
    Cpu,
    Memory,
    Machines,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueRecord {
    pub name: Text,
    pub parent: Option<Text>,
    /// Of its spec, as the API server counts.
    pub generation: i64,
    pub weight: u32,
    pub quotas: Vec<(QueueResource, Quota)>,
}

impl QueueRecord {
    /// What the index keeps of a queue.
    ///
    /// # Errors
    /// If a quantity can't be read or a resource is unknown.
    pub fn new(from: &Queue) -> Result<Self, LowerError> {
        let quotas = from.spec.quotas.iter().map(quota);
        Ok(Self {
            name: name(&from.metadata)?,
            parent: from.spec.parent.as_deref().map(text),
            generation: from.metadata.generation.unwrap_or(0),
            weight: from.spec.weight.unwrap_or(1).min(10_000),
            quotas: quotas.collect::<Result<_, _>>()?,
        })
    }
}

fn quota(from: &QueueQuota) -> Result<(QueueResource, Quota), LowerError> {
    let QueueQuota {
        resource,
        nominal,
        borrowing_limit,
        lending_limit,
        limit,
    } = from;
    let resource = match resource.as_str() {
        "gpu" => QueueResource::Gpu,
        "cpu" => QueueResource::Cpu,
        "memory" => QueueResource::Memory,
        "machines" => QueueResource::Machines,
        other => {
            let model = other.strip_prefix("gpu/").filter(|model| !model.is_empty());
            let expected = "gpu, gpu/MODEL, cpu, memory or machines";
            let model = model.ok_or_else(|| unknown("spec.quotas[].resource", other, expected))?;
            QueueResource::GpuModel(text(model))
        }
    };
    // GPUs count in 1/10,000 of a card, CPU in thousandths of a core, the rest in pieces.
    let digits = match resource {
        QueueResource::Gpu | QueueResource::GpuModel(_) => 4,
        QueueResource::Cpu => 3,
        QueueResource::Memory | QueueResource::Machines => 0,
    };
    let read = |field: &str, from: &Option<Quantity>| {
        let read = from.as_ref().map(|from| {
            let path = format!("spec.quotas[].{field}");
            let read = amount(&path, from)?.decimals(digits);
            if read < 0 {
                return Err(unknown(&path, &from.0, "zero or more"));
            }
            Ok(read)
        });
        read.transpose()
    };
    let quota = Quota {
        nominal: read("nominal", nominal)?,
        borrowing_limit: read("borrowingLimit", borrowing_limit)?,
        lending_limit: read("lendingLimit", lending_limit)?,
        limit: read("limit", limit)?,
    };
    Ok((resource, quota))
}
