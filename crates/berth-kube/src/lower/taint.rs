//! Taints and tolerations, of nodes and of devices.
//!
//! Both kinds have the same fields, and differ in the effects that there are.

use berth_core::filter::facts::taint::{Effect, Taint, ToleratedValue, Toleration};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::resource::v1 as resource;

use super::{optional, text};

/// A taint; `None` where its effect is unknown, which kube-scheduler passes over.
pub(super) fn taint(from: &core::Taint) -> Option<Taint> {
    let core::Taint {
        effect,
        key,
        time_added: _,
        value,
    } = from;
    taint_of(key, value.as_ref(), node_effect(effect))
}

/// A device's taint; `None` where its effect keeps nobody away.
pub(super) fn device_taint(from: &resource::DeviceTaint) -> Option<Taint> {
    let resource::DeviceTaint {
        effect,
        key,
        time_added: _,
        value,
    } = from;
    taint_of(key, value.as_ref(), device_effect(effect))
}

/// A toleration; `None` where it can't tolerate anything.
pub(super) fn toleration(from: &core::Toleration) -> Option<Toleration> {
    let core::Toleration {
        effect,
        key,
        operator,
        toleration_seconds: _,
        value,
    } = from;
    let value = tolerated(operator.as_ref(), value.as_ref())?;
    toleration_of(key.as_ref(), value, effect.as_ref(), node_effect)
}

/// A toleration of devices' taints; `None` where it can't tolerate anything.
pub(super) fn device_toleration(from: &resource::DeviceToleration) -> Option<Toleration> {
    let resource::DeviceToleration {
        effect,
        key,
        operator,
        toleration_seconds: _,
        value,
    } = from;
    let value = tolerated(operator.as_ref(), value.as_ref())?;
    toleration_of(key.as_ref(), value, effect.as_ref(), device_effect)
}

fn taint_of(key: &str, value: Option<&String>, effect: Option<Effect>) -> Option<Taint> {
    Some(Taint {
        key: text(key),
        value: optional(value),
        effect: effect?,
    })
}

fn toleration_of(
    key: Option<&String>,
    value: ToleratedValue,
    effect: Option<&String>,
    known: fn(&str) -> Option<Effect>,
) -> Option<Toleration> {
    let effect = match effect.map(String::as_str) {
        None | Some("") => None,
        Some(name) => Some(known(name)?),
    };
    let key = key.filter(|key| !key.is_empty());
    Some(Toleration {
        key: key.map(|key| text(key)),
        value,
        effect,
    })
}

/// Which values an operator tolerates. `Gt` and `Lt` are behind a gate that is off.
fn tolerated(operator: Option<&String>, value: Option<&String>) -> Option<ToleratedValue> {
    match operator.map(String::as_str) {
        None | Some("" | "Equal") => Some(ToleratedValue::Equal(optional(value))),
        Some("Exists") => Some(ToleratedValue::Any),
        Some(_) => None,
    }
}

fn node_effect(from: &str) -> Option<Effect> {
    match from {
        "PreferNoSchedule" => Some(Effect::PreferNoSchedule),
        other => device_effect(other),
    }
}

fn device_effect(from: &str) -> Option<Effect> {
    match from {
        "NoSchedule" => Some(Effect::NoSchedule),
        "NoExecute" => Some(Effect::NoExecute),
        _ => None,
    }
}
