//! Why something waits, as tables and documents.
//!
//! Invariant: the first line names the reason token; lists that are cut in the tables say by how
//! much, and documents have all. Not here: how the answer is found.

use serde::Serialize;

use super::Document;
use super::table::{Column, Table};
use crate::console::view::words;
use berth_core::sched::explain::Obstacle;

/// Holders shown in a table.
const HOLDERS_SHOWN_MAX: usize = 10;

/// Why a pod, gang or queue waits.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Why {
    pub(crate) api_version: &'static str,
    pub(crate) kind: &'static str,
    /// `pod/NAMESPACE/NAME`, `gang/NAMESPACE/NAME` or `queue/NAME`.
    pub(crate) subject: String,
    pub(crate) state: State,
    /// The reason's token.
    pub(crate) reason: String,
    /// What it means, in a sentence.
    pub(crate) message: String,
    /// What this answer is made of.
    pub(crate) basis: Basis,
    /// What is known beside that, in pairs of name and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) facts: Vec<Fact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turn: Option<Turn>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) evidence: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) short: Option<Short>,
    /// Nodes by what stands in the way there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) nodes: Vec<Nodes>,
    /// Nodes with room by the rule that keeps the pod out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rules: Vec<Rule>,
    /// Groups that wait in the queue, in the order of turns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) waiting: Vec<Group>,
    /// The cheapest changes that would start it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) next: Vec<String>,
    /// What this answer doesn't know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// How the subject stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum State {
    /// It waits.
    #[default]
    Waiting,
    /// It would start in the next cycle.
    Starting,
    /// It holds its place.
    Placed,
    /// It has ended, or is about to.
    Ended,
    /// A queue in which nothing waits.
    Idle,
}

/// What an answer is made of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Basis {
    /// The whole cluster, and a cycle on it.
    #[default]
    Cycle,
    /// The object's own status.
    Status,
}

/// Something that is known.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Fact {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

/// Whose turn comes when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Turn {
    /// The turn of its group among all groups that wait, from 1.
    pub(crate) turn: usize,
    pub(crate) turns: usize,
    /// Its place among the pods of its group, which are alike, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) place: Option<usize>,
    pub(crate) pods: usize,
}

/// What is short, and who holds it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Short {
    pub(crate) what: String,
    pub(crate) holders: Vec<Holder>,
}

/// What one user holds in one queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Holder {
    pub(crate) queue: String,
    pub(crate) user: String,
    pub(crate) amount: String,
    pub(crate) pods: u32,
    pub(crate) largest: String,
}

/// Nodes with the same obstacle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Nodes {
    pub(crate) obstacle: Obstacle,
    pub(crate) nodes: u32,
}

/// Nodes that one rule rules out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Rule {
    pub(crate) rule: String,
    pub(crate) nodes: u32,
}

/// A group that waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Group {
    pub(crate) turn: usize,
    pub(crate) oldest: String,
    pub(crate) user: String,
    pub(crate) pods: usize,
    pub(crate) asks: String,
    pub(crate) reason: String,
}

impl Why {
    /// An answer about `subject`.
    pub(crate) fn new(
        subject: String,
        state: State,
        reason: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            api_version: super::API_VERSION,
            kind: "Why",
            subject,
            state,
            reason: reason.into(),
            message: message.into(),
            ..Self::default()
        }
    }

    /// Adds a fact.
    pub(crate) fn fact(&mut self, name: &'static str, value: impl Into<String>) {
        let value = value.into();
        self.facts.push(Fact { name, value });
    }

    fn about(&self) -> Table {
        let mut table = Table::new([Column::text("what"), Column::text("value")]);
        table = table.titled(format!("{}: {}", self.subject, self.reason));
        let mut row = |what: &str, value: &str| table.row([what, value]);
        row("meaning", &self.message);
        for Fact { name, value } in &self.facts {
            row(name, value);
        }
        if let Some(turn) = &self.turn {
            row("turn", &turn.words());
        }
        if let Some(evidence) = self.evidence.as_ref().filter(|text| !text.is_empty()) {
            row("in the way", evidence);
        }
        for next in &self.next {
            row("would start it", next);
        }
        for note in &self.notes {
            table.note(note.clone());
        }
        table
    }
}

impl Turn {
    fn words(self) -> String {
        let Self {
            turn,
            turns,
            place,
            pods,
        } = self;
        match place {
            Some(place) if pods > 1 => {
                format!("{turn} of {turns}; pod {place} of {pods} that are alike")
            }
            Some(_) | None => format!("{turn} of {turns}"),
        }
    }
}

impl Short {
    fn table(&self) -> Table {
        let columns = [
            Column::text("queue"),
            Column::text("user"),
            Column::figure("holds"),
            Column::figure("pods"),
            Column::text("largest"),
        ];
        let mut table = Table::new(columns).titled(format!("Who holds {}", self.what));
        for holder in self.holders.iter().take(HOLDERS_SHOWN_MAX) {
            table.row([
                holder.queue.clone(),
                holder.user.clone(),
                holder.amount.clone(),
                holder.pods.to_string(),
                holder.largest.clone(),
            ]);
        }
        if let Some(more) = self.holders.len().checked_sub(HOLDERS_SHOWN_MAX)
            && more > 0
        {
            table.note(format!("{more} more; --output json shows all"));
        }
        table
    }
}

impl Document for Why {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.about()];
        if !self.nodes.is_empty() {
            let columns = [
                Column::figure("nodes"),
                Column::text("what stands in the way"),
            ];
            let mut table = Table::new(columns);
            // What a start is nearest to comes first.
            for Nodes { obstacle, nodes } in self.nodes.iter().rev() {
                table.row([nodes.to_string(), words::obstacle(*obstacle).to_owned()]);
            }
            tables.push(table);
        }
        if !self.rules.is_empty() {
            let columns = [
                Column::figure("nodes"),
                Column::text("rule that keeps it out"),
            ];
            let mut table = Table::new(columns);
            for Rule { rule, nodes } in &self.rules {
                table.row([nodes.to_string(), rule.clone()]);
            }
            tables.push(table);
        }
        if let Some(short) = self
            .short
            .as_ref()
            .filter(|short| !short.holders.is_empty())
        {
            tables.push(short.table());
        }
        if !self.waiting.is_empty() {
            tables.push(groups(&self.waiting));
        }
        tables
    }
}

fn groups(waiting: &[Group]) -> Table {
    let columns = [
        Column::figure("turn"),
        Column::text("oldest"),
        Column::text("user"),
        Column::figure("pods"),
        Column::text("each asks for"),
        Column::text("reason"),
    ];
    let mut table = Table::new(columns).titled("Who waits in it");
    for group in waiting {
        table.row([
            group.turn.to_string(),
            group.oldest.clone(),
            group.user.clone(),
            group.pods.to_string(),
            group.asks.clone(),
            group.reason.clone(),
        ]);
    }
    table
}
