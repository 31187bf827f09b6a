//! The published tables: allocation and fragmentation by trace, policy and seed.

use std::collections::BTreeMap;

use super::POLICIES;
use super::measure::Column;
use crate::trace::table::{ReadError, clip};

/// Published columns by trace (`default`), policy (`fgd`) and seed.
pub type ExpectedTable = BTreeMap<(String, String, u64), Vec<Column>>;

/// Reads the two published tables.
///
/// # Errors
/// If a table isn't what it should be, with line and column.
pub fn expected(
    (allocation_file, allocation): (&str, &[u8]),
    (fragmentation_file, fragmentation): (&str, &[u8]),
) -> Result<ExpectedTable, ReadError> {
    let allocations = read(allocation_file, allocation)?;
    let fragmentations = read(fragmentation_file, fragmentation)?;
    let joined = allocations.into_iter().map(|(key, allocations)| {
        let Some(fragmentations) = fragmentations.get(&key) else {
            return Err(ReadError {
                file: fragmentation_file.to_owned(),
                line: 0,
                column: String::new(),
                expected: format!("a row for {key:?} as in {allocation_file}"),
                found: "none".to_owned(),
                hint: "fetch both files of the same revision".to_owned(),
            });
        };
        let columns = allocations.iter().zip(fragmentations).zip(0..);
        let columns = columns.map(|((&allocation, &fragmentation), percent)| Column {
            percent,
            allocation,
            fragmentation,
        });
        Ok((key, columns.collect()))
    });
    joined.collect()
}

type Rows = BTreeMap<(String, String, u64), Vec<f64>>;

fn read(file: &str, bytes: &[u8]) -> Result<Rows, ReadError> {
    let fault = |line: u64, column: &str, expected: &str, found: &str| ReadError {
        file: file.to_owned(),
        line,
        column: column.to_owned(),
        expected: expected.to_owned(),
        found: format!("`{}`", clip(found)),
        hint: "fetch the file anew from the published repository".to_owned(),
    };
    let mut reader = csv::Reader::from_reader(bytes);
    let unreadable = |error: csv::Error| fault(0, "", "a CSV table", &error.to_string());
    let header = reader.headers().map_err(unreadable)?.clone();
    let position = |name: &str| {
        let found = header.iter().position(|column| column == name);
        found.ok_or_else(|| fault(1, name, "such a column", &header.iter().collect::<String>()))
    };
    let (trace_at, policy_at, seed_at) = (
        position("workload")?,
        position("sc_policy")?,
        position("seed")?,
    );
    let first = position("0")?;
    let mut rows = Rows::new();
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        let text = |at: usize| record.get(at).unwrap_or("");
        let trace = text(trace_at)
            .strip_prefix("openb_pod_list_")
            .ok_or_else(|| fault(line, "workload", "openb_pod_list_...", text(trace_at)))?;
        let label = text(policy_at);
        let policy = POLICIES.iter().find(|(_, published)| *published == label);
        let (policy, _) =
            policy.ok_or_else(|| fault(line, "sc_policy", "a published policy", label))?;
        let seed = text(seed_at)
            .parse()
            .map_err(|_| fault(line, "seed", "a whole number", text(seed_at)))?;
        let values = record.iter().enumerate().skip(first).map(|(at, value)| {
            let column = header.get(at).unwrap_or("");
            value
                .parse::<f64>()
                .map_err(|_| fault(line, column, "a number", value))
        });
        let values = values.collect::<Result<Vec<f64>, _>>()?;
        rows.insert((trace.to_owned(), (*policy).to_owned(), seed), values);
    }
    Ok(rows)
}
