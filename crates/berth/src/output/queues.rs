//! Queues as tables and documents.

use serde::Serialize;

use super::Document;
use super::table::{Column, Table};

/// Queues, each below its parent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueList {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) queues: Vec<QueueRow>,
}

/// A queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueRow {
    pub(crate) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<String>,
    /// Levels above it.
    #[serde(skip)]
    pub(crate) depth: usize,
    /// Whether its work is scheduled.
    pub(crate) ready: bool,
    /// The reason of that, as in its condition.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) weight: u32,
    /// GPUs that it and those below hold.
    pub(crate) gpus_held: f64,
    /// Its part of what it and the queues beside it hold, in percent; none where nobody holds any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share_percent: Option<f64>,
    /// Pods that wait in it and below.
    pub(crate) pending: u64,
    /// What the site has decided, resource by resource.
    pub(crate) quotas: Vec<QuotaRow>,
}

/// The rule of a queue for a resource, and what it holds of that.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QuotaRow {
    pub(crate) resource: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) nominal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) borrowing_limit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lending_limit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<String>,
    pub(crate) held: String,
    /// What it holds beyond its own, on credit of others.
    pub(crate) borrowed: String,
}

/// One queue in full.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueShow {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) queue: QueueRow,
    /// Queues right below it.
    pub(crate) children: Vec<String>,
}

/// What stands where there is no rule.
const NONE: &str = "-";

impl QueueRow {
    fn gpu(&self, of: fn(&QuotaRow) -> &Option<String>) -> String {
        let quota = self.quotas.iter().find(|quota| quota.resource == "gpu");
        let amount = quota.and_then(|quota| of(quota).clone());
        amount.unwrap_or_else(|| NONE.to_owned())
    }

    fn share(&self) -> String {
        let share = self.share_percent;
        share.map_or_else(|| NONE.to_owned(), |share| format!("{share:.0} %"))
    }

    fn ready(&self) -> String {
        if self.ready {
            "yes".to_owned()
        } else {
            format!("no: {}", self.reason)
        }
    }
}

impl Document for QueueList {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([
            Column::text("queue"),
            Column::figure("nominal"),
            Column::figure("borrowing"),
            Column::figure("limit"),
            Column::figure("held"),
            Column::figure("share"),
            Column::figure("pending"),
            Column::text("ready"),
        ]);
        for queue in &self.queues {
            table.row([
                format!("{}{}", "  ".repeat(queue.depth), queue.name),
                queue.gpu(|quota| &quota.nominal),
                queue.gpu(|quota| &quota.borrowing_limit),
                queue.gpu(|quota| &quota.limit),
                queue.gpus_held.to_string(),
                queue.share(),
                queue.pending.to_string(),
                queue.ready(),
            ]);
        }
        if self.queues.is_empty() {
            table.note("no queue exists: work is charged to nobody and placed by priority and age");
        }
        vec![table]
    }
}

impl Document for QueueShow {
    fn tables(&self) -> Vec<Table> {
        let queue = &self.queue;
        let mut about = Table::new([Column::text("what"), Column::text("value")]);
        about = about.titled(format!("queue/{}", queue.name));
        let mut row = |what: &str, value: String| about.row([what.to_owned(), value]);
        row("ready", queue.ready());
        row("meaning", queue.message.clone());
        let none = || NONE.to_owned();
        row("parent", queue.parent.clone().unwrap_or_else(none));
        row("children", list(&self.children));
        row("weight", queue.weight.to_string());
        row("GPUs held", queue.gpus_held.to_string());
        row("share beside its siblings", queue.share());
        row("pods waiting", queue.pending.to_string());
        let mut quotas = Table::new([
            Column::text("resource"),
            Column::figure("nominal"),
            Column::figure("borrowing limit"),
            Column::figure("lending limit"),
            Column::figure("limit"),
            Column::figure("held"),
            Column::figure("borrowed"),
        ]);
        for quota in &queue.quotas {
            let or_none = |amount: &Option<String>| amount.clone().unwrap_or_else(none);
            quotas.row([
                quota.resource.clone(),
                or_none(&quota.nominal),
                or_none(&quota.borrowing_limit),
                or_none(&quota.lending_limit),
                or_none(&quota.limit),
                quota.held.clone(),
                quota.borrowed.clone(),
            ]);
        }
        vec![about, quotas]
    }
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        NONE.to_owned()
    } else {
        names.join(", ")
    }
}
