//! The view of certificates.

use berth_sim::bound::Ending;

use crate::output::Document;
use crate::output::figure::{count, percent, seconds};
use crate::output::table::{Column, Table};
use crate::runs::bound::Outcome;

impl Document for Outcome {
    fn tables(&self) -> Vec<Table> {
        let figures = [
            "% arrived",
            "bound %",
            "reached %",
            "rounds",
            "configurations",
            "s",
        ];
        let mut bounds = Table::new(figures.map(Column::figure)).titled(format!(
            "openb:{}: no placement has more of the GPUs in use",
            self.trace
        ));
        let mut beside = Table::new([
            Column::figure("% arrived"),
            Column::text("policy"),
            Column::figure("allocation %"),
            Column::figure("bound %"),
            Column::figure("gap"),
        ]);
        for row in &self.rows {
            let certificate = &row.certificate;
            let reached = certificate.reached_milli / certificate.capacity_milli.max(1) as f64;
            bounds.row([
                row.percent.to_string(),
                format!("{:.3}", row.bound),
                format!("{:.3}", 100.0 * reached),
                certificate.rounds.to_string(),
                count(certificate.configurations as u64),
                seconds(row.wall_seconds),
            ]);
            for policy in &row.policies {
                beside.row([
                    row.percent.to_string(),
                    policy.policy.clone(),
                    percent(policy.allocation),
                    format!("{:.3}", row.bound),
                    percent(policy.gap),
                ]);
            }
            match certificate.ending {
                Ending::Converged => {}
                Ending::Spent => bounds.note(format!(
                    "At {} %: the search ended before the bound was as tight as it could be; it \
                     holds.",
                    row.percent
                )),
                Ending::Nothing => bounds.note(format!(
                    "At {} %: nothing that arrived can use a GPU of the cluster.",
                    row.percent
                )),
            }
            if certificate.rounded {
                bounds.note("Amounts were rounded in the cluster's favour to bound the search.");
            }
        }
        bounds.note(format!(
            "For the mean over {} order{} of arrival. Reached: what the configurations found come \
             to with parts of nodes; the best bound of this kind lies between the two.",
            self.seeds.len(),
            if self.seeds.len() == 1 { "" } else { "s" }
        ));
        match self.rows.iter().all(|row| row.policies.is_empty()) {
            true => vec![bounds],
            false => vec![bounds, beside],
        }
    }
}
