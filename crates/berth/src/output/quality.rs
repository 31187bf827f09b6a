//! The view of the own policy beside FGD.

use crate::output::Document;
use crate::output::figure::{count, percent};
use crate::output::table::{Column, Table};
use crate::runs::quality::Quality;

impl Document for Quality {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([
            Column::text("trace"),
            Column::figure("% arrived"),
            Column::text("policy"),
            Column::figure("allocation %"),
            Column::figure("sd"),
            Column::figure("bound %"),
            Column::figure("gap"),
            Column::figure("pods placed"),
        ])
        .titled("GPU in use, percent of the cluster");
        for row in &self.rows {
            table.row([
                row.trace.clone(),
                row.percent.to_string(),
                row.policy.clone(),
                percent(row.mean),
                percent(row.sd),
                format!(
                    "{:.3}{}",
                    row.bound,
                    if row.bound_converged { "" } else { " *" }
                ),
                percent(row.gap),
                count(row.pods_placed.round() as u64),
            ]);
        }
        table.note(format!(
            "Means over {} orders of arrival. The bound is what no placement can exceed; * where it \
             isn't the tightest of its kind.",
            self.seeds.len()
        ));
        table.note("In every run, no pod was turned away that fitted anywhere.");
        vec![table]
    }
}
