//! Storage and devices: objects that filters look at, and expressions over devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::storage::{Attachment, ClaimKey, StorageRoom};
use berth_core::model::draft::Draft;
use k8s_openapi::api::resource::v1 as resource;

use crate::live::change::{Kind, Object};
use crate::lower::{self, Evaluator};

/// What has to be kept beside the facts: objects that are lowered together with others.
#[derive(Debug, Default)]
pub(super) struct DeviceObjects {
    slices: BTreeMap<Text, resource::ResourceSlice>,
    classes: BTreeMap<Text, resource::DeviceClass>,
    rules: BTreeMap<Text, resource::DeviceTaintRule>,
    rooms: BTreeMap<Text, StorageRoom>,
    attachments: BTreeMap<Text, (Text, Attachment)>,
    /// Expressions whose answers are known for every slice.
    expressions: BTreeSet<Text>,
    evaluator: Evaluator,
}

impl DeviceObjects {
    pub(super) fn set(&mut self, draft: &mut Draft, key: &Text, object: Object) {
        let facts = draft.facts_mut();
        match object {
            Object::PersistentVolumeClaim(claim) => {
                let storage = Arc::make_mut(&mut facts.storage);
                storage.claims.insert(claim.key.clone(), *claim);
            }
            Object::PersistentVolume(volume) => {
                let storage = Arc::make_mut(&mut facts.storage);
                storage.volumes.insert(volume.name.clone(), *volume);
            }
            Object::StorageClass(class) => {
                let storage = Arc::make_mut(&mut facts.storage);
                storage.classes.insert(class.name.clone(), *class);
            }
            Object::CsiDriver(driver) => {
                let storage = Arc::make_mut(&mut facts.storage);
                storage.drivers.insert(driver.name.clone(), driver);
            }
            Object::CsiStorageCapacity(room) => {
                self.rooms.insert(key.clone(), *room);
                self.tell_rooms(draft);
            }
            Object::VolumeAttachment(Some(attachment)) => {
                self.attachments.insert(key.clone(), attachment);
                self.tell_attachments(draft);
            }
            Object::VolumeAttachment(None) => self.remove(draft, Kind::VolumeAttachment, key),
            Object::ResourceClaim(claim) => {
                Arc::make_mut(&mut facts.devices).set_claim(*claim);
                self.evaluate_new(draft);
            }
            Object::ResourceSlice(slice) => {
                self.slices.insert(key.clone(), *slice);
                self.tell_slice(draft, key);
            }
            Object::DeviceClass(class) => {
                self.classes.insert(key.clone(), *class);
                self.tell_classes(draft);
            }
            Object::DeviceTaintRule(rule) => {
                self.rules.insert(key.clone(), *rule);
                self.tell_all_slices(draft);
            }
            Object::Namespace(_)
            | Object::Node(_)
            | Object::CsiNode(_)
            | Object::Queue(_)
            | Object::GpuGrant(_)
            | Object::PodGroup(_)
            | Object::Pod(_) => unreachable!("the feed itself takes these"),
        }
    }

    pub(super) fn remove(&mut self, draft: &mut Draft, kind: Kind, key: &Text) {
        let facts = draft.facts_mut();
        match kind {
            Kind::PersistentVolumeClaim => {
                Arc::make_mut(&mut facts.storage)
                    .claims
                    .remove(&claim_key(key));
            }
            Kind::PersistentVolume => {
                Arc::make_mut(&mut facts.storage).volumes.remove(key);
            }
            Kind::StorageClass => {
                Arc::make_mut(&mut facts.storage).classes.remove(key);
            }
            Kind::CsiDriver => {
                Arc::make_mut(&mut facts.storage).drivers.remove(key);
            }
            Kind::CsiStorageCapacity => {
                self.rooms.remove(key);
                self.tell_rooms(draft);
            }
            Kind::VolumeAttachment => {
                if self.attachments.remove(key).is_some() {
                    self.tell_attachments(draft);
                }
            }
            Kind::ResourceClaim => {
                Arc::make_mut(&mut facts.devices).remove_claim(&claim_key(key));
            }
            Kind::ResourceSlice => {
                self.slices.remove(key);
                Arc::make_mut(&mut facts.devices).remove_slice(key);
            }
            Kind::DeviceClass => {
                self.classes.remove(key);
                self.tell_classes(draft);
            }
            Kind::DeviceTaintRule => {
                self.rules.remove(key);
                self.tell_all_slices(draft);
            }
            Kind::Namespace
            | Kind::Node
            | Kind::CsiNode
            | Kind::Queue
            | Kind::GpuGrant
            | Kind::PodGroup
            | Kind::Pod => unreachable!("the feed itself takes these"),
        }
    }

    fn tell_rooms(&self, draft: &mut Draft) {
        let storage = Arc::make_mut(&mut draft.facts_mut().storage);
        storage.rooms = self.rooms.values().cloned().collect();
    }

    fn tell_attachments(&self, draft: &mut Draft) {
        let mut by_node: BTreeMap<Text, Vec<Attachment>> = BTreeMap::new();
        for (node, attachment) in self.attachments.values() {
            by_node
                .entry(node.clone())
                .or_default()
                .push(attachment.clone());
        }
        Arc::make_mut(&mut draft.facts_mut().storage).attachments = by_node;
    }

    fn tell_classes(&mut self, draft: &mut Draft) {
        let devices = Arc::make_mut(&mut draft.facts_mut().devices);
        let classes = self.classes.iter();
        devices.classes = classes
            .map(|(name, class)| (name.clone(), lower::class_selectors(class)))
            .collect();
        let all: Vec<resource::DeviceClass> = self.classes.values().cloned().collect();
        devices.resources = lower::class_resources(&all);
        self.evaluate_new(draft);
    }

    fn tell_all_slices(&mut self, draft: &mut Draft) {
        let names: Vec<Text> = self.slices.keys().cloned().collect();
        for name in names {
            self.tell_slice(draft, &name);
        }
    }

    fn tell_slice(&mut self, draft: &mut Draft, key: &Text) {
        let Some(slice) = self.slices.get(key) else {
            return;
        };
        let rules: Vec<resource::DeviceTaintRule> = self.rules.values().cloned().collect();
        let devices = Arc::make_mut(&mut draft.facts_mut().devices);
        match lower::slice(slice, &rules) {
            Ok(Some(lowered)) => devices.set_slice(lowered),
            Ok(None) => devices.remove_slice(key),
            Err(why) => {
                tracing::warn!(slice = %key, %why, "can't be read; it is left out");
                devices.remove_slice(key);
            }
        }
        for expression in &self.expressions {
            self.evaluator
                .evaluate(expression, slice, &mut devices.expressions);
        }
    }

    /// Evaluates expressions that nobody has used before.
    fn evaluate_new(&mut self, draft: &mut Draft) {
        let in_use = lower::expressions_in_use(&draft.facts().devices);
        let new: Vec<Text> = in_use.difference(&self.expressions).cloned().collect();
        if new.is_empty() {
            return;
        }
        let devices = Arc::make_mut(&mut draft.facts_mut().devices);
        // What nobody uses any more goes when something new comes.
        if self.expressions.len() > 2 * in_use.len() + 64 {
            self.expressions
                .retain(|expression| in_use.contains(expression));
            devices
                .expressions
                .retain(|expression| in_use.contains(expression));
        }
        for expression in new {
            for slice in self.slices.values() {
                self.evaluator
                    .evaluate(&expression, slice, &mut devices.expressions);
            }
            self.expressions.insert(expression);
        }
    }
}

fn claim_key(key: &Text) -> ClaimKey {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    ClaimKey {
        namespace: Text::from(namespace),
        name: Text::from(name),
    }
}
