//! Storage and devices: objects that filters look at, and expressions over devices.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use berth_core::filter::dynamic_resources::extended;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{
    AllocatedDevice, Allocation, Choice, DeviceClaim, DeviceKey, DeviceSlice, Request, Says, Wanted,
};
use berth_core::filter::facts::inventory::Devices;
use berth_core::filter::facts::node_selector::NodeSelector;
use berth_core::filter::facts::pod::PodFacts;
use berth_core::filter::facts::storage::{Attachment, ClaimKey, StorageRoom};
use berth_core::model::draft::Draft;
use berth_core::model::snapshot::Snapshot;
use k8s_openapi::api::core::v1 as api;
use k8s_openapi::api::resource::v1 as resource;

use crate::live::act::claims::{ClaimOrder, Give, GivenDevice};
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
                if claim.is_bound || claim.selected_node.is_some() {
                    storage.decided.remove(&claim.key);
                }
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
                let devices = Arc::make_mut(&mut facts.devices);
                let claim = with_decision(*claim, devices);
                devices.set_claim(claim);
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
            | Kind::PodGroup(_)
            | Kind::Pod => unreachable!("the feed itself takes these"),
        }
    }

    /// The node that the slice of this name is for, if there is such a slice.
    pub(super) fn node_of(&self, slice: &Text) -> Option<Text> {
        let slice = self.slices.get(slice)?;
        slice.spec.node_name.as_deref().map(Text::from)
    }

    /// The pod whose extended resources the claim of this name stands for.
    pub(super) fn pod_of(&self, draft: &Draft, claim: &Text) -> Option<Text> {
        let key = claim_key(claim);
        let claim = draft.facts().devices.claims().get(&key)?;
        let (pod, _) = key.name.rsplit_once("-extended-resources-")?;
        claim
            .is_for_extended
            .then(|| Text::from(format!("{}/{pod}", key.namespace)))
    }

    /// What the claims of a pod get, as the index has it decided, in the words of the API.
    pub(super) fn orders(&self, index: &Snapshot, pod: &PodFacts) -> Vec<ClaimOrder> {
        let devices = &index.facts().devices;
        let extended = (!pod.template.containers.is_empty()).then(|| extended::claim_key(pod));
        let keys = pod.device_claim_keys().chain(extended);
        let claims = keys.filter_map(|key| devices.claims().get(&key));
        let order = |claim: &DeviceClaim| {
            let decided = claim.allocation.as_ref();
            let decided = decided.filter(|one| one.says == Says::Decision);
            ClaimOrder {
                name: claim.key.name.clone(),
                uid: claim.uid.clone(),
                give: decided.map(|allocation| self.give(devices, claim, allocation)),
                make: (claim.is_for_extended && claim.uid.is_empty())
                    .then(|| claim.requests.iter().filter_map(request).collect()),
            }
        };
        claims.map(order).collect()
    }

    fn give(&self, devices: &Devices, claim: &DeviceClaim, allocation: &Allocation) -> Give {
        let given = |is_admin: bool| {
            move |device: &AllocatedDevice| {
                let raw = self.device(devices, &device.key);
                GivenDevice {
                    device: device.clone(),
                    is_admin,
                    binding_conditions: raw.and_then(|raw| raw.binding_conditions.clone()),
                    binding_failure_conditions: raw
                        .and_then(|raw| raw.binding_failure_conditions.clone()),
                }
            }
        };
        let used = allocation.devices.iter().map(given(false));
        let looked_after = allocation.looked_after.iter().map(given(true));
        let all = allocation.devices.iter().chain(&allocation.looked_after);
        let mut classes: Vec<(Text, Vec<resource::DeviceClassConfiguration>)> = Vec::new();
        for device in all {
            let class = class_of(claim, &device.request);
            let class = class.and_then(|class| self.classes.get(class));
            let known = classes
                .iter()
                .any(|(request, _)| *request == device.request);
            if let Some(config) = class.and_then(|class| class.spec.as_ref()?.config.clone())
                && !known
            {
                classes.push((device.request.clone(), config));
            }
        }
        Give {
            devices: used.chain(looked_after).collect(),
            nodes: self.nodes_of(devices, allocation),
            classes,
        }
    }

    /// The nodes that can use what has been allocated: the node itself where a device belongs to it.
    fn nodes_of(&self, devices: &Devices, allocation: &Allocation) -> Option<api::NodeSelector> {
        let all = allocation.devices.iter().chain(&allocation.looked_after);
        let everywhere = all.clone().all(|device| {
            let slice = self.slice(devices, &device.key);
            slice.is_some_and(|slice| slice.spec.all_nodes == Some(true))
        });
        let node = allocation.nodes.as_ref().and_then(NodeSelector::names)?;
        let names = node.iter().map(ToString::to_string).collect();
        let term = api::NodeSelectorTerm {
            match_expressions: None,
            match_fields: Some(vec![api::NodeSelectorRequirement {
                key: "metadata.name".to_owned(),
                operator: "In".to_owned(),
                values: Some(names),
            }]),
        };
        (!everywhere).then(|| api::NodeSelector {
            node_selector_terms: vec![term],
        })
    }

    fn slice(&self, devices: &Devices, key: &DeviceKey) -> Option<&resource::ResourceSlice> {
        let mut slices = devices.slices_of(&key.driver, &key.pool);
        let has = |slice: &&DeviceSlice| slice.devices.iter().any(|one| one.name == key.device);
        self.slices.get(&slices.find(has)?.name)
    }

    fn device(&self, devices: &Devices, key: &DeviceKey) -> Option<&resource::Device> {
        let slice = self.slice(devices, key)?;
        let mut all = slice.spec.devices.iter().flatten();
        all.find(|one| one.name == *key.device)
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

/// The claim as it was told, with what has been decided for it and has yet to be carried out.
fn with_decision(mut claim: DeviceClaim, devices: &Devices) -> DeviceClaim {
    let known = devices.claims().get(&claim.key);
    if claim.allocation.is_none()
        && let Some(known) = known
        && known.uid == claim.uid
    {
        let decided = known.allocation.as_ref();
        claim.allocation = decided.filter(|one| one.says == Says::Decision).cloned();
    }
    claim
}

/// A request for devices that stand for an extended resource, in the words of the API.
fn request(from: &Request) -> Option<resource::DeviceRequest> {
    let Choice::Exactly(ask) = &from.choice else {
        return None;
    };
    let Wanted::Count(count) = ask.wanted else {
        return None;
    };
    Some(resource::DeviceRequest {
        name: from.name.to_string(),
        exactly: Some(resource::ExactDeviceRequest {
            device_class_name: ask.class.to_string(),
            allocation_mode: Some("ExactCount".to_owned()),
            count: Some(count),
            ..resource::ExactDeviceRequest::default()
        }),
        first_available: None,
    })
}

/// The class that a request of a claim names.
fn class_of<'a>(claim: &'a DeviceClaim, request: &str) -> Option<&'a Text> {
    let (name, alternative) = match request.split_once('/') {
        Some((name, alternative)) => (name, Some(alternative)),
        None => (request, None),
    };
    let request = claim.requests.iter().find(|one| one.name == name)?;
    match (&request.choice, alternative) {
        (Choice::Exactly(ask), _) => Some(&ask.class),
        (Choice::FirstAvailable(asks), Some(alternative)) => {
            let (_, ask) = asks.iter().find(|(name, _)| name == alternative)?;
            Some(&ask.class)
        }
        (Choice::FirstAvailable(_) | Choice::Unknown, _) => None,
    }
}

fn claim_key(key: &Text) -> ClaimKey {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    ClaimKey {
        namespace: Text::from(namespace),
        name: Text::from(name),
    }
}
