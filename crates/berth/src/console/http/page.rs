//! The page: complete without a script, readable without colour.
//!
//! Invariant: what the map shows, the table of nodes says in words. Not here: anything to click but
//! links.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use berth_core::sched::explain::Reason;
use serde::Deserialize;

use super::{Shared, api};
use crate::console::glyphs::{self, Glyphs};
use crate::console::view::fleet::{Cell, Fleet, NodeRow};
use crate::console::view::{View, words};

/// Nodes on the map and in the table; the API has them all.
const NODES_MAX: usize = 500;

/// Queues in the table.
const QUEUES_MAX: usize = 100;

/// Events in the list.
const EVENTS_MAX: usize = 20;

/// Seconds until the page loads itself anew.
const REFRESH_S: u32 = 5;

/// What may be chosen.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice {
    refresh: Option<String>,
}

#[derive(Debug, Template)]
#[template(path = "console.html")]
struct Page<'a> {
    view: &'a View,
    refresh_s: Option<u32>,
    held: String,
    legend: Vec<(char, &'static str)>,
    reasons: Vec<(&'static str, u64, &'static str)>,
    fleets: Vec<FleetBlock<'a>>,
    nodes: Vec<NodeLine<'a>>,
    nodes_left: usize,
    queues_shown: usize,
    events_shown: usize,
}

/// A fleet on the map.
#[derive(Debug)]
struct FleetBlock<'a> {
    name: &'a str,
    held: String,
    gpus: usize,
    nodes: Vec<(&'a str, String)>,
    nodes_left: usize,
}

/// A node in the table.
#[derive(Debug)]
struct NodeLine<'a> {
    node: &'a NodeRow,
    model: String,
    gpus: String,
    cpu: String,
    memory: String,
}

/// The page.
pub(super) async fn page(
    State(shared): State<Shared>,
    choice: Result<Query<Choice>, QueryRejection>,
) -> Response {
    let refresh = choice.ok().and_then(|Query(choice)| choice.refresh);
    let refresh_s = (refresh.as_deref() != Some("off")).then_some(REFRESH_S);
    match api::on_view(shared, move |_, view| Page::of(&view, refresh_s).render()).await {
        Ok(Ok(html)) => Html(html).into_response(),
        Ok(Err(error)) => api::problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        Err(response) => response,
    }
}

/// Its style.
pub(super) async fn style() -> Response {
    let style = include_str!("../../../templates/console.css");
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], style).into_response()
}

impl<'a> Page<'a> {
    fn of(view: &'a View, refresh_s: Option<u32>) -> Self {
        let legend = glyphs::legend();
        Self {
            view,
            refresh_s,
            held: format!("{:.1}", view.figures.gpus_held.gpus_f64()),
            legend: legend
                .map(|(cell, what)| (Glyphs::Unicode.cell(cell), what))
                .to_vec(),
            reasons: view
                .reasons
                .iter()
                .map(|(&token, &n)| (token, n, advice(token)))
                .collect(),
            fleets: view
                .fleets
                .iter()
                .map(|fleet| block(fleet, &view.nodes))
                .collect(),
            nodes: view.nodes.iter().take(NODES_MAX).map(line).collect(),
            nodes_left: view.nodes.len().saturating_sub(NODES_MAX),
            queues_shown: view.queues.len().min(QUEUES_MAX),
            events_shown: view.events.len().min(EVENTS_MAX),
        }
    }

    fn percent(&self, value: &f64) -> String {
        format!("{value:.1}")
    }

    fn seconds(&self, value: &f64) -> String {
        words::seconds(*value)
    }
}

/// What the reason `token` means and what would change it.
fn advice(token: &str) -> &'static str {
    let known = Reason::ALL
        .into_iter()
        .find(|reason| reason.token() == token);
    known.map_or(
        "More groups wait than are explained at a time.",
        Reason::advice,
    )
}

fn block<'a>(fleet: &'a Fleet, nodes: &'a [NodeRow]) -> FleetBlock<'a> {
    let shown = fleet.nodes.iter().take(NODES_MAX).map(|&at| {
        let cells = nodes[at]
            .gpus
            .iter()
            .map(|gpu| Glyphs::Unicode.cell(gpu.cell));
        (&*nodes[at].name, cells.collect())
    });
    FleetBlock {
        name: &fleet.name,
        held: format!("{:.1}", fleet.held.gpus_f64()),
        gpus: fleet.gpus,
        nodes: shown.collect(),
        nodes_left: fleet.nodes.len().saturating_sub(NODES_MAX),
    }
}

fn line(node: &NodeRow) -> NodeLine<'_> {
    let mut models: Vec<String> = Vec::new();
    for gpu in &node.gpus {
        let model = format!("{}, {}", gpu.model, gpu.mode);
        if !models.contains(&model) {
            models.push(model);
        }
    }
    NodeLine {
        node,
        model: models.join("; "),
        gpus: in_words(&node.gpus.iter().map(|gpu| gpu.cell).collect::<Vec<_>>()),
        cpu: format!(
            "{} of {}",
            node.cpu_free_milli.0 / 1000,
            node.cpu_milli.0 / 1000
        ),
        memory: format!("{} of {}", node.memory_free_bytes, node.memory_bytes),
    }
}

/// Whether a cell is of one kind.
type IsOfKind = fn(&Cell) -> bool;

/// `6 held, 1 in part, 1 free`.
fn in_words(cells: &[Cell]) -> String {
    let kinds: [(&str, IsOfKind); 7] = [
        ("held", |cell| matches!(cell, Cell::Full)),
        ("in part", |cell| matches!(cell, Cell::Part(_))),
        ("free", |cell| matches!(cell, Cell::Free)),
        ("free but closed", |cell| matches!(cell, Cell::Closed)),
        ("degraded", |cell| matches!(cell, Cell::Degraded)),
        ("failed", |cell| matches!(cell, Cell::Failed)),
        ("lost", |cell| matches!(cell, Cell::Lost)),
    ];
    let counted = kinds
        .into_iter()
        .map(|(name, is)| (name, cells.iter().filter(|c| is(c)).count()));
    let parts: Vec<String> = counted
        .filter(|(_, n)| *n > 0)
        .map(|(name, n)| format!("{n} {name}"))
        .collect();
    if parts.is_empty() {
        "none".to_owned()
    } else {
        parts.join(", ")
    }
}
