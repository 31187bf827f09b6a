//! Queues: a tree that is told in any order.
//!
//! A queue is in the index once its parent is, so a cycle of parents never gets there. A queue that is
//! deleted takes nothing new; what it holds stays charged until it ends, also to the queue of its name
//! that is made anew in the same place.

use berth_core::filter::facts::Text;
use berth_core::id::QueueId;
use berth_core::model::draft::Draft;
use berth_core::model::queue::QueueSpec;
use berth_core::quota::{Meter, Quota};
use berth_core::time::Time;

use super::Feed;
use crate::live::change::Kind;
use crate::lower::{QueueRecord, QueueResource};

/// The queue of pods that name none.
pub(super) const DEFAULT_QUEUE: &str = "default";

impl Feed {
    pub(super) fn set_queue(&mut self, draft: &mut Draft, record: QueueRecord, now: Time) {
        let name = record.name.clone();
        let before = self.queues.get(&name).and_then(|(_, id)| *id);
        self.queues.insert(name.clone(), (record, before));
        match before {
            Some(id) => self.update_queue(draft, &name, id),
            None => self.add_queue(draft, name, now),
        }
    }

    pub(super) fn remove_queue(&mut self, draft: &mut Draft, name: &Text, now: Time) {
        let Some((_, id)) = self.queues.remove(name) else {
            return;
        };
        self.former_queues.extend(id.map(|id| (name.clone(), id)));
        let users = self.pods.iter().filter(|(_, pod)| {
            pod.record.queue.as_ref() == Some(name) && pod.record.node.is_none()
        });
        let users: Vec<Text> = users.map(|(key, _)| key.clone()).collect();
        for key in users {
            self.enter_again(draft, &key, now);
        }
    }

    /// The queue that is charged for pods that name `name`.
    pub(super) fn queue_of(&mut self, draft: &mut Draft, name: Option<&Text>) -> Option<QueueId> {
        match name {
            Some(name) => self.queues.get(name)?.1,
            None => Some(self.default_queue(draft)),
        }
    }

    /// The default queue: the one of that name, or one without any rules.
    pub(super) fn default_queue(&mut self, draft: &mut Draft) -> QueueId {
        if let Some((_, Some(id))) = self.queues.get(DEFAULT_QUEUE) {
            return *id;
        }
        *self.default_queue.get_or_insert_with(|| {
            let spec = QueueSpec::new("(none)", None);
            draft.add_queue(spec).expect("a root is shallow")
        })
    }

    /// Adds a queue whose parent is there, and then the queues that have waited for it.
    fn add_queue(&mut self, draft: &mut Draft, name: Text, now: Time) {
        let mut ready = vec![name];
        while let Some(name) = ready.pop() {
            let Some((record, None)) = self.queues.get(&name).cloned() else {
                continue;
            };
            let parent = match &record.parent {
                None => None,
                Some(parent) => match self.queues.get(parent) {
                    Some((_, Some(id))) => Some(*id),
                    Some((_, None)) | None => continue,
                },
            };
            let spec = QueueSpec {
                weight: record.weight,
                quotas: quotas(draft, &record),
                ..QueueSpec::new(name.as_str(), parent)
            };
            let former = self.former_queues.remove(&name);
            let former = former.filter(|id| draft.queue(*id).parent == parent);
            let added = former.map_or_else(|| draft.add_queue(spec), Ok);
            match added {
                Ok(id) => {
                    self.queues.insert(name.clone(), (record, Some(id)));
                    if former.is_some() {
                        self.update_queue(draft, &name, id);
                    }
                    let children = self.queues.iter().filter(|(_, (child, id))| {
                        id.is_none() && child.parent.as_ref() == Some(&name)
                    });
                    ready.extend(children.map(|(name, _)| name.clone()));
                    self.reconsider(draft, Kind::Queue, &name, now);
                }
                Err(why) => {
                    tracing::error!(queue = %name, %why, "can't be taken in");
                    self.unreadable.insert((Kind::Queue, name), why.to_string());
                }
            }
        }
    }

    fn update_queue(&mut self, draft: &mut Draft, name: &Text, id: QueueId) {
        let Some((record, _)) = self.queues.get(name).cloned() else {
            return;
        };
        draft.set_weight(id, record.weight);
        let mut left: Vec<(Meter, Quota)> = quotas(draft, &record);
        let meters: Vec<Meter> = draft.meters().iter().collect();
        for meter in meters {
            let named = left.iter().position(|(one, _)| *one == meter);
            let quota = named.map_or_else(Quota::default, |at| left.swap_remove(at).1);
            draft.set_quota(id, meter, quota);
        }
        for (meter, quota) in left {
            draft.set_quota(id, meter, quota);
        }
    }
}

/// The rules of a queue by meter. A model that no node has counts nowhere, and has no meter yet.
fn quotas(draft: &mut Draft, record: &QueueRecord) -> Vec<(Meter, Quota)> {
    let mut quotas = Vec::new();
    for (resource, quota) in &record.quotas {
        let meter = match resource {
            QueueResource::Gpu => Meter::Gpu,
            QueueResource::Cpu => Meter::Cpu,
            QueueResource::Memory => Meter::Memory,
            QueueResource::Machines => Meter::Machines,
            QueueResource::GpuModel(name) => match draft.catalog_mut().intern_model(name) {
                Ok(model) => Meter::GpuModel(model),
                Err(why) => {
                    tracing::error!(queue = %record.name, %why, "a rule can't be taken in");
                    continue;
                }
            },
        };
        quotas.push((meter, *quota));
    }
    quotas
}
