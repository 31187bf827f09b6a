//! The table of how evenly users were served, one row a policy and order.

use crate::output::figure::{count, span};
use crate::output::table::{Column, Table};
use crate::runs::played::{Means, Outcome};

/// How evenly users were served.
pub(super) fn table(outcome: &Outcome) -> Table {
    let mut table = Table::new([
        Column::text("policy"),
        Column::figure("share error 1 d"),
        Column::figure("7 d"),
        Column::figure("end"),
        Column::figure("jain"),
        Column::figure("starved"),
        Column::figure("p95 wait 50 %"),
        Column::figure("90 %"),
        Column::figure("all"),
        Column::figure("made room"),
        Column::figure("starts"),
        Column::figure("lost GPU-h"),
    ])
    .titled("Fairness");
    for means in &outcome.means {
        table.row(row(outcome.name(means), means));
    }
    table.note(
        "Share error: the part of all GPU time that went to others than the queue tree says.",
    );
    table.note("Jain: 1 where every user gets the same part of what they ask for.");
    table.note("Starved: the longest that a user waited for GPU and held none.");
    table.note("P95 wait: what 50 %, 90 %, all of the users have at most as their own.");
    table.note(
        "Made room: evicted for others, and the pods or gangs that started for it; lost: runs \
         that had to begin anew.",
    );
    table
}

fn row(name: String, means: &Means) -> [String; 12] {
    let error = |error: Option<f64>| error.map_or_else(|| "-".to_owned(), |e| format!("{e:.3}"));
    let deciles = &means.wait_p95_by_user_decile;
    let wait = |decile: usize| {
        deciles
            .get(decile - 1)
            .map_or_else(|| "-".to_owned(), |&s| span(s))
    };
    [
        name,
        error(means.share_error_1d),
        error(means.share_error_7d),
        error(Some(means.share_error)),
        format!("{:.3}", means.jain),
        span(means.starvation_longest_h * 3600.0),
        wait(5),
        wait(9),
        wait(10),
        count(means.evictions_for_others.round() as u64),
        count(means.evictions_starts.round() as u64),
        count(means.lost_gpu_h.round() as u64),
    ]
}
