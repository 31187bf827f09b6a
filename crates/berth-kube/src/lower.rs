//! From Kubernetes' objects to the core's facts, by hand.
//!
//! Invariant: structs in which a filter could find something are taken apart field by field, so that
//! a new field fails to compile until somebody has considered it. Defaults are the API server's: an
//! object as it is stored has them. Nothing panics on an object that the server would not have let in;
//! it is refused with the path of the field. Not here: what the facts mean.

mod affinity;
mod cluster;
mod device;
mod device_claim;
mod expression;
mod gang;
mod intern;
mod label;
mod node;
mod node_selector;
mod pod;
mod pod_volume;
mod queue;
mod record;
mod requests;
mod storage;
mod taint;

use std::collections::BTreeMap;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::exact::Exact;
use berth_core::filter::facts::label::Labels;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::quantity::{self, QuantityError};

pub use cluster::{Objects, cluster};
pub use device::{class_resources, class_selectors, slice};
pub use device_claim::device_claim;
pub use expression::{Evaluator, in_use as expressions_in_use};
pub use gang::{GangMark, GroupDialect, GroupObject, POD_GROUPS, group_objects};
pub use intern::Interner;
pub use node::{node, node_drivers};
pub use pod::pod;
pub use queue::{QueueRecord, QueueResource};
pub use record::{GpuAsk, NodeRecord, PodRecord};
pub use storage::{attachment, claim, driver, room, storage_class, volume};

/// Why an object can't be lowered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    #[error("{path}: `{text}` is no quantity: {why}")]
    Quantity {
        path: String,
        text: String,
        why: QuantityError,
    },
    #[error("{path}: `{value}` is unknown; expected {expected}")]
    Unknown {
        path: String,
        value: String,
        expected: &'static str,
    },
    #[error("{path} is missing")]
    Missing { path: String },
    #[error("{path}: a label selector can't have {why}")]
    Selector { path: String, why: &'static str },
}

/// A list of quantities by name, as Kubernetes writes it.
type Quantities = BTreeMap<String, Quantity>;

/// What selectors see of a namespace.
#[must_use]
pub fn namespace(from: &k8s_openapi::api::core::v1::Namespace) -> Labels {
    label::labels(from.metadata.labels.as_ref())
}

fn text(from: &str) -> Text {
    Text::from(from)
}

fn optional(from: Option<&String>) -> Text {
    from.map_or_else(Text::default, |from| text(from))
}

fn texts(from: Option<&Vec<String>>) -> Box<[Text]> {
    from.into_iter().flatten().map(|one| text(one)).collect()
}

fn list<T>(from: Option<&Vec<T>>) -> &[T] {
    from.map_or(&[], Vec::as_slice)
}

/// The name of an object, which the API server gives to every object.
fn name(metadata: &ObjectMeta) -> Result<Text, LowerError> {
    let name = metadata.name.as_deref();
    name.map(text).ok_or_else(|| missing("metadata.name"))
}

fn missing(path: impl Into<String>) -> LowerError {
    LowerError::Missing { path: path.into() }
}

fn unknown(path: &str, value: &str, expected: &'static str) -> LowerError {
    LowerError::Unknown {
        path: path.into(),
        value: value.into(),
        expected,
    }
}

fn amount(path: &str, from: &Quantity) -> Result<Exact, LowerError> {
    quantity::parse(&from.0).map_err(|why| LowerError::Quantity {
        path: path.into(),
        text: from.0.clone(),
        why,
    })
}
