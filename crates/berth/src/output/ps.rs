//! Pods that run or wait, as a table and a document.

use serde::Serialize;

use super::Document;
use super::table::{Column, Table};

/// Pods.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodList {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) pods: Vec<PodRow>,
}

/// A pod.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PodRow {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) user: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    /// What it asks for.
    pub(crate) asks: String,
    /// Physical GPUs that it holds, in equivalents.
    pub(crate) gpus_held: f64,
    /// Where it has its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) node: Option<String>,
    /// Why it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    pub(crate) age: String,
    pub(crate) age_ms: i64,
}

impl Document for PodList {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([
            Column::text("namespace"),
            Column::text("pod"),
            Column::text("queue"),
            Column::text("user"),
            Column::text("asks for"),
            Column::text("node or reason"),
            Column::figure("age"),
        ]);
        for pod in &self.pods {
            let place = pod.node.as_ref().or(pod.reason.as_ref());
            table.row([
                pod.namespace.clone(),
                pod.name.clone(),
                pod.queue.clone().unwrap_or_else(|| "-".to_owned()),
                pod.user.clone(),
                pod.asks.clone(),
                place.cloned().unwrap_or_default(),
                pod.age.clone(),
            ]);
        }
        if self.pods.is_empty() {
            table.note("no such pod runs or waits");
        }
        vec![table]
    }
}
