//! The view of scenarios: what happened, and what was expected.

use berth_core::time::Time;
use berth_sim::scenario::What;

use crate::output::Document;
use crate::output::table::{Column, Table};
use crate::runs::scenario::{Outcome, Story};

/// Lines that one story shows; the whole of it is in the JSON.
const LINES_MAX: usize = 60;

impl Document for Outcome {
    fn tables(&self) -> Vec<Table> {
        let stories = self.stories.iter();
        stories
            .flat_map(|story| [happened(story), expected(story)])
            .collect()
    }
}

fn happened(story: &Story) -> Table {
    let columns = ["time", "pod", "what"].map(Column::text);
    let title = format!("{} ({})", story.title, story.policy);
    let mut table = Table::new(columns).titled(title);
    for moment in story.moments.iter().take(LINES_MAX) {
        let what = match &moment.what {
            What::Starts { node } => format!("starts on {node}"),
            What::Evicted { cause, by: None } => format!("evicted: {}", cause.token()),
            What::Evicted {
                cause,
                by: Some(by),
            } => {
                format!("evicted for {by}: {}", cause.token())
            }
            What::Waits { pods, reason, next } => {
                let others = match pods {
                    1 => String::new(),
                    pods => format!(" with {} others", pods - 1),
                };
                let way = next.first().map(|way| format!("; it starts if {way}"));
                format!("waits{others}: {reason}{}", way.unwrap_or_default())
            }
        };
        table.row([
            moment.at.since(Time::ZERO).to_string(),
            moment.pod.clone(),
            what,
        ]);
    }
    let more = story.moments.len().saturating_sub(LINES_MAX);
    if more > 0 {
        table.note(format!("{more} more lines in --output json."));
    }
    table
}

fn expected(story: &Story) -> Table {
    let mut table = Table::new(["line", "expected", "found", ""].map(Column::text));
    for expected in &story.expectations {
        let verdict = if expected.holds {
            "as expected"
        } else {
            "WRONG"
        };
        table.row([
            expected.line.to_string(),
            expected.expected.clone(),
            expected.found.clone(),
            verdict.to_owned(),
        ]);
    }
    table
}
