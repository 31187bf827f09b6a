//! Nodes: an id for life, a shape that may change, and absence.

use std::sync::Arc;

use berth_api::mark;
use berth_core::amount::Bytes;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{Attribute, Device, DeviceNodes};
use berth_core::id::{GpuModelId, NodeId};
use berth_core::limits;
use berth_core::model::draft::{Draft, NodeSpec};
use berth_core::model::gpu::{GpuHealth, GpuSpec};
use berth_core::model::node::{Readiness, Shape};
use berth_core::time::Time;

use super::Feed;
use crate::live::change::Kind;
use crate::lower::NodeRecord;

impl Feed {
    pub(super) fn set_node(&mut self, draft: &mut Draft, told: NodeRecord, now: Time) {
        let name = told.facts.name.clone();
        let record = with_devices(draft, &told);
        self.node_records.insert(name.clone(), told);
        match self.place_node(draft, &record, now) {
            Ok(id) => {
                self.nodes.insert(name.clone(), id);
                draft.facts_mut().set_node(record.facts);
                self.reconsider(draft, Kind::Node, &name, now);
            }
            Err(why) => {
                tracing::error!(node = %name, %why, "can't be taken in");
                self.unreadable.insert((Kind::Node, name), why.to_string());
            }
        }
    }

    pub(super) fn remove_node(&mut self, draft: &mut Draft, name: &Text) {
        if let Some(&id) = self.nodes.get(name) {
            draft.set_readiness(id, Readiness::Lost);
            draft.facts_mut().remove_node(name);
            self.node_records.remove(name);
        }
    }

    /// Counts the GPUs of a node anew, whose devices may have changed.
    pub(super) fn refresh_node(&mut self, draft: &mut Draft, name: Option<Text>, now: Time) {
        let record = name.and_then(|name| self.node_records.get(&name).cloned());
        if let Some(record) = record {
            self.set_node(draft, record, now);
        }
    }

    fn place_node(
        &mut self,
        draft: &mut Draft,
        record: &NodeRecord,
        now: Time,
    ) -> Result<NodeId, Box<dyn std::error::Error>> {
        let spec = spec(draft, record)?;
        let id = match self.nodes.get(&record.facts.name) {
            None => draft.add_node(spec)?,
            Some(&id) => {
                let node = draft.node(id);
                let modes = node.state.gpus.iter().map(|gpu| gpu.mode);
                if *node.shape != spec.shape || !modes.eq(spec.gpu_modes.iter().copied()) {
                    draft.reshape(id, spec, now)?;
                }
                if draft.node(id).state.readiness != Readiness::Ready {
                    draft.set_readiness(id, Readiness::Ready);
                }
                id
            }
        };
        note_missing_gpus(draft, id, record.gpus);
        Ok(id)
    }
}

/// The node with the GPUs that a DRA driver publishes for it, where no device plugin offers any.
fn with_devices(draft: &Draft, record: &NodeRecord) -> NodeRecord {
    let mut record = record.clone();
    if record.gpus.0 > 0 {
        return record;
    }
    let name = &record.facts.name;
    let slices = draft.facts().devices.slices_for(name);
    let own = slices.filter(|slice| {
        let is_own = slice.nodes == DeviceNodes::Named(name.clone());
        is_own && mark::GPU_DRIVERS.contains(&slice.driver.as_str())
    });
    let cards = own
        .flat_map(|slice| slice.devices.iter())
        .filter(|one| is_card(one));
    let mut n_cards = 0;
    for card in cards {
        n_cards += 1;
        if let Some(Attribute::Text(model)) = attribute(card, "productName") {
            record.gpu_model = model.clone();
        }
        let memory = card.capacity.iter().find(|(name, _)| name == "memory");
        if let Some((_, memory)) = memory {
            record.gpu_memory = Bytes(memory.value.units());
        }
    }
    n_cards = n_cards.min(limits::GPUS_PER_NODE_MAX);
    record.gpus = (n_cards, n_cards);
    record
}

/// Whether a device is a whole card, and no part of one.
fn is_card(device: &Device) -> bool {
    match attribute(device, "type") {
        Some(Attribute::Text(kind)) => kind == "gpu",
        Some(_) | None => true,
    }
}

fn attribute<'a>(device: &'a Device, name: &str) -> Option<&'a Attribute> {
    let attributes = device.attributes.iter();
    let mut found = attributes.filter(|(known, _)| known == name);
    found.next().map(|(_, value)| value)
}

fn spec(draft: &mut Draft, record: &NodeRecord) -> Result<NodeSpec, Box<dyn std::error::Error>> {
    let NodeRecord {
        facts,
        gpu_model,
        gpu_memory,
        gpu_mode,
        gpus: (n_gpus, _),
    } = record;
    let gpus = if *n_gpus == 0 {
        Vec::new()
    } else {
        let model = model(draft, gpu_model)?;
        let gpu = GpuSpec {
            model,
            memory: *gpu_memory,
            numa: None,
            pcie_root: None,
            nvlink: None,
        };
        vec![gpu; *n_gpus]
    };
    let slots = u32::try_from(facts.pod_slots.max(0)).unwrap_or(u32::MAX);
    let allocatable = &facts.allocatable;
    Ok(NodeSpec {
        name: facts.name.as_str().into(),
        gpu_modes: vec![*gpu_mode; gpus.len()],
        shape: Shape::new(allocatable.cpu, allocatable.memory, slots, gpus),
        gpu_uuids: Arc::new([]),
    })
}

fn model(draft: &mut Draft, name: &str) -> Result<GpuModelId, Box<dyn std::error::Error>> {
    Ok(match draft.catalog().model_named(name) {
        Some(known) => known,
        None => draft.catalog_mut().intern_model(name)?,
    })
}

/// A node that has more GPUs than it offers has lost some: which, a device plugin doesn't say, so it
/// is the last of those that nobody holds.
fn note_missing_gpus(draft: &mut Draft, id: NodeId, (all, offered): (usize, usize)) {
    let states = &draft.node(id).state.gpus;
    let free = |&gpu: &usize| states[gpu].is_free();
    let held = |&gpu: &usize| !states[gpu].is_free();
    let last = (0..all).rev();
    let order = last.clone().filter(free).chain(last.filter(held));
    let missing: Vec<usize> = order.take(all - offered).collect();
    for gpu in 0..all {
        let health = if missing.contains(&gpu) {
            GpuHealth::Degraded
        } else {
            GpuHealth::Healthy
        };
        if draft.node(id).state.gpus[gpu].health != health {
            draft.set_gpu_health(id, gpu, health);
        }
    }
}
