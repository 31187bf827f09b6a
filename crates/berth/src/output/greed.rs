//! The view of what greed gains.

use crate::output::Document;
use crate::output::figure::{count, span};
use crate::output::table::{Column, Table};
use crate::runs::greed::{Outcome, Pair};

impl Document for Outcome {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([
            Column::text("order"),
            Column::text("who"),
            Column::figure("GPU-h without"),
            Column::figure("with greed"),
            Column::figure("change"),
            Column::figure("p95 wait without"),
            Column::figure("with greed"),
        ])
        .titled(format!(
            "{}, {} days, seed {}: {} people submit everything a hundred times",
            self.site, self.days, self.seed, self.greedy
        ));
        for row in &self.rows {
            table.row(cells(row.order, "the greedy", &row.greedy));
            table.row(cells(row.order, "the others", &row.others));
        }
        table.note("P95 wait: the median over the people of each one's own.");
        table.note("What the greedy hold in addition was idle, as far as the others lose nothing.");
        vec![table]
    }
}

fn cells(order: &str, who: &str, pair: &Pair) -> [String; 7] {
    let (before, after) = (&pair.without, &pair.with);
    let change = 100.0 * (after.gpu_h / before.gpu_h.max(f64::MIN_POSITIVE) - 1.0);
    [
        order.to_owned(),
        who.to_owned(),
        count(before.gpu_h.round() as u64),
        count(after.gpu_h.round() as u64),
        format!("{change:+.1} %"),
        span(before.wait_p95_s),
        span(after.wait_p95_s),
    ]
}
