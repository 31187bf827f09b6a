//! A question as the oracle reads it (one cluster, one pod), and the answer in the oracle's words.
//!
//! Invariant: the answer comes from the product's lowering and filters alone. Used by the tests of
//! recorded cases and by the differential example.

use std::collections::BTreeMap;

use berth_core::filter::check::{Answer, Objection, Start, start};
use berth_core::filter::cluster::Cluster;
use berth_core::filter::verdict::{Reason, Refusal, Remedy};
use berth_core::time::Time;
use berth_kube::lower::{self, Objects};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What is said of one node, or of all at once under the name `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Fits,
    /// By which plugin, and with which code. The plugin is empty where several together narrowed
    /// the nodes.
    Refused(String, &'static str),
    Failed(String),
}

/// Answers by node.
pub(crate) type Answers = BTreeMap<String, Said>;

/// What all nodes are called together.
pub(crate) const ALL: &str = "*";
pub(crate) const UNSCHEDULABLE: &str = "Unschedulable";
pub(crate) const UNRESOLVABLE: &str = "UnschedulableAndUnresolvable";

/// Our answer; an error if an object can't be lowered.
pub(crate) fn ours(case: &Value) -> Result<Answers, String> {
    let objects = objects(case)?;
    let cluster = lower::cluster(&objects).map_err(|error| error.to_string())?;
    let pod = read(&case["pod"], "pod")?;
    let pod = lower::pod(&pod).map_err(|error| error.to_string())?;
    Ok(match start(&cluster, &pod) {
        Start::Refused(objection) => all(refused(&objection)),
        Start::Failed(objection) => all(Said::Failed(objection.filter.into())),
        Start::Open(check) => ask(&cluster, |node| check.ask(node)),
    })
}

fn ask(
    cluster: &Cluster,
    question: impl Fn(&berth_core::filter::cluster::NodeEntry) -> Answer,
) -> Answers {
    let nodes = cluster.nodes();
    let said = nodes.map(|node| {
        let said = match question(node) {
            Answer::Fits => Said::Fits,
            Answer::Refused(objection) => refused(&objection),
            Answer::Failed(objection) => Said::Failed(objection.filter.into()),
        };
        (node.facts.name.to_string(), said)
    });
    said.collect()
}

fn all(said: Said) -> Answers {
    BTreeMap::from([(ALL.to_owned(), said)])
}

fn refused(objection: &Objection<Refusal>) -> Said {
    let code = match objection.what.remedy {
        Remedy::PodsLeave => UNSCHEDULABLE,
        Remedy::SomethingElse => UNRESOLVABLE,
    };
    let is_joint = objection.what.reason == Reason::NotNamed;
    let plugin = if is_joint { "" } else { objection.filter };
    Said::Refused(plugin.into(), code)
}

/// The lists of a question, as typed objects.
pub(crate) fn objects(case: &Value) -> Result<Objects, String> {
    Ok(Objects {
        namespaces: read_list(case, "namespaces")?,
        nodes: read_list(case, "nodes")?,
        pods: read_list(case, "pods")?,
        claims: read_list(case, "pvcs")?,
        volumes: read_list(case, "pvs")?,
        storage_classes: read_list(case, "storageClasses")?,
        csi_drivers: read_list(case, "csiDrivers")?,
        csi_nodes: read_list(case, "csiNodes")?,
        csi_storage_capacities: read_list(case, "csiStorageCapacities")?,
        volume_attachments: read_list(case, "volumeAttachments")?,
        resource_claims: read_list(case, "resourceClaims")?,
        resource_slices: read_list(case, "resourceSlices")?,
        device_classes: read_list(case, "deviceClasses")?,
        device_taint_rules: read_list(case, "deviceTaintRules")?,
        now: now(),
    })
}

/// The present: the other side looks at the clock too.
fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let ms = since.map_or(0, |since| since.as_millis());
    Time(i64::try_from(ms).unwrap_or(i64::MAX))
}

fn read_list<T: DeserializeOwned>(case: &Value, key: &str) -> Result<Vec<T>, String> {
    match case.get(key) {
        None => Ok(Vec::new()),
        Some(list) => read(list, key),
    }
}

fn read<T: DeserializeOwned>(value: &Value, key: &str) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| format!("{key}: {error}"))
}
