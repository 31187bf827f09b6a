//! What Berth adds to the Kubernetes API: custom resources, labels and annotations.
//!
//! Invariant: a published contract. Names and meanings of one version never change; wire types are
//! lowered to the core's by `berth-kube` and know nothing of it. Not here: clients and decisions.

// Lints on code that derives generate: a private copy of each type, and columns as attributes.
#![allow(unreachable_pub, clippy::duplicated_attributes)]

pub mod grant;
pub mod mark;
pub mod queue;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

pub use grant::GpuGrant;
pub use queue::Queue;

/// The API group of everything that Berth adds.
pub const GROUP: &str = "berth.dev";

/// The definition of every custom resource, in the order of installation.
#[must_use]
pub fn definitions() -> Vec<CustomResourceDefinition> {
    vec![Queue::crd(), GpuGrant::crd()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_of_the_group_and_have_columns_and_descriptions() {
        for definition in definitions() {
            let spec = &definition.spec;
            assert_eq!(spec.group, GROUP);
            for version in &spec.versions {
                let columns = version.additional_printer_columns.as_deref();
                assert!(columns.is_some_and(|columns| columns.len() >= 3));
                let schema = version.schema.as_ref().expect("a structural schema");
                let schema = schema.open_api_v3_schema.as_ref().expect("of OpenAPI");
                let properties = schema.properties.as_ref().expect("with properties");
                let description = properties["spec"].description.as_deref();
                assert!(description.is_some_and(|text| text.len() > 20));
            }
        }
    }
}
