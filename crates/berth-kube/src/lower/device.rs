//! `ResourceSlice`, `DeviceClass` and `DeviceTaintRule`.

use std::collections::BTreeMap;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{
    AllowedCapacity, Attribute, Capacity, CapacityPolicy, CapacityRange, CounterSet, Device,
    DeviceNodes, DeviceSlice, Sharing,
};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as api;

use super::node_selector::node_selector;
use super::taint::device_taint;
use super::{LowerError, amount, list, optional, text};

/// The prefix of the extended resource that stands for a class by its name.
const CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// A part of a pool, with the taints of `rules` on its devices.
///
/// `None` where a device belongs to compatibility groups: kube-scheduler leaves such slices out
/// while `DRADeviceCompatibilityGroups` is off.
///
/// # Errors
/// If a quantity can't be read.
pub fn slice(
    from: &api::ResourceSlice,
    rules: &[api::DeviceTaintRule],
) -> Result<Option<DeviceSlice>, LowerError> {
    let api::ResourceSliceSpec {
        all_nodes,
        devices,
        driver,
        node_name,
        node_selector: selector,
        partition_type_attribute: _,
        per_device_node_selection,
        pool,
        shared_counters,
        skip_node_operations: _,
    } = &from.spec;
    let devices = list(devices.as_ref());
    let takes = |device: &api::Device| device.consumes_counters.iter().flatten().cloned().collect();
    let groups =
        |set: &api::DeviceCounterConsumption| !list(set.compatibility_groups.as_ref()).is_empty();
    let has_groups = |device: &api::Device| {
        let sets: Vec<api::DeviceCounterConsumption> = takes(device);
        sets.iter().any(groups)
    };
    if devices.iter().any(has_groups) {
        return Ok(None);
    }
    let lower = |one: &api::Device| device(one, &from.spec, rules);
    let nodes = nodes(node_name.as_ref(), *all_nodes, selector.as_ref());
    let by_device = nodes == DeviceNodes::Unknown && *per_device_node_selection == Some(true);
    Ok(Some(DeviceSlice {
        name: optional(from.metadata.name.as_ref()),
        driver: text(driver),
        pool: text(&pool.name),
        generation: pool.generation,
        slices_in_pool: pool.resource_slice_count,
        nodes: if by_device {
            DeviceNodes::ByDevice
        } else {
            nodes
        },
        devices: devices.iter().map(lower).collect::<Result<_, _>>()?,
        counters: list(shared_counters.as_ref())
            .iter()
            .map(|set| counters(&set.name, &set.counters))
            .collect::<Result<_, _>>()?,
    }))
}

fn nodes(
    name: Option<&String>,
    all: Option<bool>,
    selector: Option<&core::NodeSelector>,
) -> DeviceNodes {
    match name.filter(|name| !name.is_empty()) {
        Some(name) => DeviceNodes::Named(text(name)),
        None if all == Some(true) => DeviceNodes::Every,
        None => selector.map_or(DeviceNodes::Unknown, |one| {
            DeviceNodes::Selected(node_selector(one))
        }),
    }
}

fn device(
    from: &api::Device,
    slice: &api::ResourceSliceSpec,
    rules: &[api::DeviceTaintRule],
) -> Result<Device, LowerError> {
    let api::Device {
        all_nodes,
        allow_multiple_allocations,
        attributes,
        binding_conditions,
        binding_failure_conditions: _,
        binds_to_node: _,
        capacity,
        consumes_counters,
        name,
        node_allocatable_resources: _,
        node_name,
        node_selector,
        taints,
    } = from;
    let own = list(taints.as_ref()).iter();
    let by_rule = rules
        .iter()
        .filter(|rule| concerns(rule, slice, name))
        .map(|rule| &rule.spec.taint);
    let sets = list(consumes_counters.as_ref()).iter();
    let attributes = attributes.iter().flatten();
    let capacities = capacity.iter().flatten();
    Ok(Device {
        name: text(name),
        attributes: attributes
            .map(|(name, value)| (text(name), attribute(value)))
            .collect(),
        capacity: capacities
            .map(|(name, one)| Ok((text(name), self::capacity(one)?)))
            .collect::<Result<_, LowerError>>()?,
        taints: own.chain(by_rule).filter_map(device_taint).collect(),
        takes: sets
            .map(|set| counters(&set.counter_set, &set.counters))
            .collect::<Result<_, _>>()?,
        sharing: match allow_multiple_allocations {
            Some(true) => Sharing::Several,
            Some(false) | None => Sharing::One,
        },
        nodes: nodes(node_name.as_ref(), *all_nodes, node_selector.as_ref()),
        has_conditions: binding_conditions.is_some(),
    })
}

/// Whether a rule taints the device.
fn concerns(rule: &api::DeviceTaintRule, slice: &api::ResourceSliceSpec, device: &str) -> bool {
    let Some(api::DeviceTaintSelector {
        device: wanted_device,
        driver,
        pool,
    }) = &rule.spec.device_selector
    else {
        return false;
    };
    let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|one| one == name);
    is(driver, &slice.driver) && is(pool, &slice.pool.name) && is(wanted_device, device)
}

/// An attribute. Lists, whose gate (`DRAListTypeAttributes`) is off, can't be compared.
fn attribute(from: &api::DeviceAttribute) -> Attribute {
    let api::DeviceAttribute {
        bool,
        bools: _,
        int,
        ints: _,
        string,
        strings: _,
        version,
        versions: _,
    } = from;
    let number = int.map(Attribute::Number);
    let flag = bool.map(Attribute::Flag);
    let words = string.as_ref().map(|one| Attribute::Text(text(one)));
    let version = version.as_ref().map(|one| Attribute::Version(text(one)));
    number
        .or(flag)
        .or(words)
        .or(version)
        .unwrap_or(Attribute::Other)
}

fn capacity(from: &api::DeviceCapacity) -> Result<Capacity, LowerError> {
    let path = "spec.devices[].capacity";
    let api::DeviceCapacity {
        request_policy,
        value,
    } = from;
    Ok(Capacity {
        value: amount(path, value)?,
        policy: request_policy.as_ref().map(policy).transpose()?,
    })
}

fn policy(from: &api::CapacityRequestPolicy) -> Result<CapacityPolicy, LowerError> {
    let path = "spec.devices[].capacity.requestPolicy";
    let api::CapacityRequestPolicy {
        default,
        valid_range,
        valid_values,
    } = from;
    let allowed = match (valid_range, valid_values) {
        (Some(range), _) => AllowedCapacity::Range(CapacityRange {
            min: amount(path, &range.min)?,
            max: range
                .max
                .as_ref()
                .map(|max| amount(path, max))
                .transpose()?,
            step: range
                .step
                .as_ref()
                .map(|step| amount(path, step))
                .transpose()?,
        }),
        (None, Some(values)) => {
            let values = values.iter().map(|value| amount(path, value));
            AllowedCapacity::Values(values.collect::<Result<_, _>>()?)
        }
        (None, None) => AllowedCapacity::Any,
    };
    Ok(CapacityPolicy {
        default: default.as_ref().map(|one| amount(path, one)).transpose()?,
        allowed,
    })
}

fn counters(name: &str, from: &BTreeMap<String, api::Counter>) -> Result<CounterSet, LowerError> {
    let path = "spec.sharedCounters[].counters";
    let lower =
        |(name, counter): (&String, &api::Counter)| Ok((text(name), amount(path, &counter.value)?));
    Ok(CounterSet {
        name: text(name),
        counters: from.iter().map(lower).collect::<Result<_, LowerError>>()?,
    })
}

/// The expressions by which a class selects devices.
#[must_use]
pub fn class_selectors(from: &api::DeviceClass) -> Box<[Text]> {
    let api::DeviceClass { metadata: _, spec } = from;
    let selectors = spec.as_ref().and_then(|spec| spec.selectors.as_ref());
    expressions(list(selectors))
}

/// The expressions of selectors; one without an expression is one that can't be evaluated.
pub(super) fn expressions(from: &[api::DeviceSelector]) -> Box<[Text]> {
    let expression = |one: &api::DeviceSelector| {
        let cel = one.cel.as_ref();
        cel.map_or_else(Text::default, |cel| text(&cel.expression))
    };
    from.iter().map(expression).collect()
}

/// The extended resources that classes stand for (KEP-5004). Of several classes for one resource, the
/// newest counts, then the first by name.
#[must_use]
pub fn class_resources(classes: &[api::DeviceClass]) -> BTreeMap<Text, Text> {
    let mut resources = BTreeMap::new();
    let mut order: Vec<&api::DeviceClass> = classes.iter().collect();
    order.sort_by(|a, b| {
        let (a, b) = (&a.metadata, &b.metadata);
        let by_age = a.creation_timestamp.cmp(&b.creation_timestamp);
        by_age.then_with(|| b.name.cmp(&a.name))
    });
    for class in order {
        let name = optional(class.metadata.name.as_ref());
        let spec = class.spec.as_ref();
        if let Some(resource) = spec.and_then(|spec| spec.extended_resource_name.as_ref()) {
            resources.insert(text(resource), name.clone());
        }
        resources.insert(text(&format!("{CLASS_PREFIX}{name}")), name);
    }
    resources
}
