//! The view of the fuzzer's findings.

use crate::output::Document;
use crate::output::figure::count;
use crate::output::table::{Column, Table};
use crate::runs::fuzz::Outcome;

impl Document for Outcome {
    fn tables(&self) -> Vec<Table> {
        let columns = ["passed", "failed", "steps", "pods", "starts", "lost places"];
        let mut summary = Table::new(columns.map(Column::figure));
        let failed = self.failures.len() as u64;
        summary.row(
            [
                self.passed,
                failed,
                self.steps,
                self.pods,
                self.binds,
                self.evictions,
            ]
            .map(count),
        );
        if self.failures.is_empty() {
            return vec![summary];
        }
        let mut findings = Table::new([Column::figure("seed"), Column::text("what is wrong")])
            .titled("Defects of Berth");
        for finding in &self.failures {
            findings.row([finding.seed.to_string(), finding.message.clone()]);
        }
        findings.note("`berth simulate fuzz --seed SEED` repeats one.");
        vec![summary, findings]
    }
}
