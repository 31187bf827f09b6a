//! What programs read: health, metrics, and the cluster as JSON.
//!
//! Invariant: the API has a version; a list that is cut says how many rows it leaves out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Shared;
use crate::console::view::event::EventRow;
use crate::console::view::figures::Figures;
use crate::console::view::fleet::NodeRow;
use crate::console::view::queue::QueueRow;
use crate::console::view::waiting::WaitingRow;
use crate::console::view::{Bounded, View};
use crate::console::{Console, Front, metrics};
use crate::service::published::{Books, Published};

/// Version of the API.
const API_VERSION: &str = "console.berth.dev/v1";

/// Rows of each list unless asked otherwise: the nodes of a large site.
const LIMIT_DEFAULT: usize = 1_000;

/// The most rows that can be asked for: some 30 MB of JSON.
const LIMIT_MAX: usize = 10_000;

/// Without a publication for so long, something is wrong: twenty-five are due in that time.
const STALLED_AFTER: Duration = Duration::from_secs(5);

/// A refusal as RFC 9457 has it.
pub(super) fn problem(status: StatusCode, detail: &str) -> Response {
    let title = status.canonical_reason().unwrap_or("Error");
    let body = json!({ "title": title, "status": status.as_u16(), "detail": detail });
    (
        status,
        [(header::CONTENT_TYPE, "application/problem+json")],
        body.to_string(),
    )
        .into_response()
}

/// Whether the service is well: standing by it is, and while it lists.
pub(super) async fn healthz(State(shared): State<Shared>) -> Response {
    match shared.front() {
        Front::Listing => "ok: listing the cluster\n".into_response(),
        Front::StandingBy => "ok: standing by\n".into_response(),
        Front::Scheduling(console) => health(&console),
    }
}

/// Whether the service could decide at once, if it doesn't already.
pub(super) async fn readyz(State(shared): State<Shared>) -> Response {
    match shared.front() {
        Front::Listing => problem(
            StatusCode::SERVICE_UNAVAILABLE,
            "the cluster is being listed",
        ),
        Front::StandingBy => "ok: standing by\n".into_response(),
        Front::Scheduling(console) => health(&console),
    }
}

fn health(console: &Console) -> Response {
    match ailment(&console.published(), Instant::now()) {
        None => "ok\n".into_response(),
        Some(ailment) => problem(StatusCode::SERVICE_UNAVAILABLE, &ailment),
    }
}

/// What ails the service at `now`.
fn ailment(published: &Published, now: Instant) -> Option<String> {
    if let Books::Broken(violations) = &published.books {
        let first = violations.first().map_or("", String::as_str);
        return Some(format!(
            "{} invariant violations, the first: {first}",
            violations.len()
        ));
    }
    let age = now.saturating_duration_since(published.at);
    (age > STALLED_AFTER).then(|| format!("nothing has been published for {} s", age.as_secs()))
}

/// Every metric; none while standing by, so that only one scheduler's figures are summed up.
pub(super) async fn metrics(State(shared): State<Shared>) -> Response {
    if !matches!(shared.front(), Front::Scheduling(_)) {
        return (
            [(header::CONTENT_TYPE, metrics::CONTENT_TYPE)],
            metrics::NONE,
        )
            .into_response();
    }
    let text = on_view(shared, metrics::render).await;
    match text {
        Ok(text) => ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response(),
        Err(response) => response,
    }
}

/// How many rows are asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Limits {
    limit: Option<usize>,
}

/// The cluster.
#[derive(Debug, Serialize)]
struct Snapshot<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    kind: &'static str,
    figures: &'a Figures,
    nodes: Bounded<&'a NodeRow>,
    queues: Bounded<&'a QueueRow>,
    waiting: Bounded<&'a WaitingRow>,
    reasons: &'a std::collections::BTreeMap<&'static str, u64>,
    events: Bounded<&'a EventRow>,
}

/// The cluster as JSON.
pub(super) async fn snapshot(
    State(shared): State<Shared>,
    limits: Result<Query<Limits>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let limit = match limits {
        Ok(Query(Limits { limit })) => limit.unwrap_or(LIMIT_DEFAULT),
        Err(_) => return problem(StatusCode::BAD_REQUEST, "limit is a whole number"),
    };
    if limit > LIMIT_MAX {
        return problem(
            StatusCode::BAD_REQUEST,
            &format!("limit is at most {LIMIT_MAX}"),
        );
    }
    let value = on_view(shared, move |_, view| {
        serde_json::to_value(of_view(&view, limit))
    })
    .await;
    match value {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(error)) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
        Err(response) => response,
    }
}

fn of_view(view: &View, limit: usize) -> Snapshot<'_> {
    let mut waiting = Bounded::first(view.waiting.items.iter(), limit);
    waiting.truncated = view.waiting.total - waiting.items.len();
    waiting.total = view.waiting.total;
    Snapshot {
        api_version: API_VERSION,
        kind: "Snapshot",
        figures: &view.figures,
        nodes: Bounded::first(view.nodes.iter(), limit),
        queues: Bounded::first(view.queues.iter(), limit),
        waiting,
        reasons: &view.reasons,
        events: Bounded::first(view.events.iter(), limit),
    }
}

/// `render` over the latest view, off the threads that answer: a view takes some milliseconds.
pub(super) async fn on_view<T: Send + 'static>(
    shared: Shared,
    render: impl FnOnce(Arc<Published>, Arc<View>) -> T + Send + 'static,
) -> Result<T, Response> {
    let why = match shared.front() {
        Front::Scheduling(console) => {
            return rendered(console, render).await;
        }
        Front::Listing => "the cluster is being listed; try again in a moment",
        Front::StandingBy => {
            "this scheduler stands by; the one that holds the Lease shows the cluster"
        }
    };
    Err(problem(StatusCode::SERVICE_UNAVAILABLE, why))
}

async fn rendered<T: Send + 'static>(
    console: Arc<Console>,
    render: impl FnOnce(Arc<Published>, Arc<View>) -> T + Send + 'static,
) -> Result<T, Response> {
    let task = tokio::task::spawn_blocking(move || {
        let view = console.view();
        render(console.published(), view)
    });
    let failed = |_| {
        problem(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the view could not be made",
        )
    };
    task.await.map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::scripted;

    #[test]
    fn health_needs_balanced_books_and_recent_news() {
        let mut published = scripted::published();
        let at = published.at;
        assert_eq!(ailment(&published, at), None);
        let late = ailment(&published, at + Duration::from_secs(9)).unwrap();
        assert_eq!(late, "nothing has been published for 9 s");
        published.books = Books::Broken(["node a: off".to_owned()].into());
        let broken = ailment(&published, at).unwrap();
        assert_eq!(broken, "1 invariant violations, the first: node a: off");
    }
}
