//! Views of the published experiment: a table of runs, and the comparison of the whole grid.

use std::collections::BTreeSet;

use crate::output::Document;
use crate::output::chart::lines::{Extent, Lines, Series};
use crate::output::chart::scale::{self, Kind};
use crate::output::figure::{count, percent, seconds};
use crate::output::html::{Figure, Page, Report};
use crate::output::table::{Column, Table};
use crate::runs::published::{Mean, Outcome};
use crate::runs::spread::mean;
use crate::runs::suite::Comparison;

impl Document for Outcome {
    fn tables(&self) -> Vec<Table> {
        let percents = self.percents();
        let names: Vec<(String, String)> = percents
            .iter()
            .map(|at| {
                (
                    format!("allocation % at {at}"),
                    format!("fragmented % at {at}"),
                )
            })
            .collect();
        let mut columns = vec![Column::text("policy"), Column::figure("runs")];
        for (allocation, fragmentation) in names {
            columns.push(Column::figure(allocation));
            columns.push(Column::figure(fragmentation));
        }
        columns.extend(["placed", "offered", "s a run"].map(Column::figure));
        let trace = self.results.first().map_or("", |run| &run.trace);
        let mut table = Table::new(columns).titled(format!("openb:{trace}, {} GPUs", self.gpus));
        for policy in self.policies() {
            table.row(self.row(policy, &percents));
        }
        table.note(
            "Means over runs. Percent of the cluster's GPUs, when demand for so many percent of \
             them has arrived.",
        );
        vec![table]
    }
}

impl Outcome {
    /// The policies, in the order of the results.
    pub(crate) fn policies(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.results.iter().map(|run| run.policy.as_str()).collect();
        names.dedup();
        names
    }

    /// Where there are means, in percent arrived.
    fn percents(&self) -> Vec<u32> {
        let mut percents: Vec<u32> = self.means.iter().map(|mean| mean.percent).collect();
        percents.sort_unstable();
        percents.dedup();
        percents
    }

    fn row(&self, policy: &str, percents: &[u32]) -> Vec<String> {
        let timed = self.results.iter().zip(&self.wall_seconds);
        let own: Vec<_> = timed.filter(|(run, _)| run.policy == policy).collect();
        let mut cells = vec![policy.to_owned(), own.len().to_string()];
        for &at in percents {
            let found = self
                .means
                .iter()
                .find(|m| m.policy == policy && m.percent == at);
            let figure = |of: fn(&Mean) -> f64| percent(found.map(of));
            cells.push(figure(|mean| mean.allocation));
            cells.push(figure(|mean| mean.fragmentation));
        }
        let pods = |of: fn(&berth_sim::published::Run) -> u64| {
            let pods = mean(own.iter().map(|(run, _)| of(run) as f64)).unwrap_or(0.0);
            count(pods.round() as u64)
        };
        cells.push(pods(|run| run.pods_placed));
        cells.push(pods(|run| run.pods_offered));
        cells.push(seconds(
            mean(own.iter().map(|(_, wall)| **wall)).unwrap_or(0.0),
        ));
        cells
    }
}

impl Document for Comparison {
    fn tables(&self) -> Vec<Table> {
        let mut table = Table::new([
            Column::text("policy"),
            Column::figure("runs"),
            Column::figure("different"),
            Column::figure("allocation off by"),
            Column::figure("fragmentation off by"),
            Column::figure("allocation % at 130"),
            Column::figure("published"),
            Column::figure("s, all runs"),
        ])
        .titled("The published FGD experiment: 17 traces, 10 seeds");
        for row in &self.policies {
            table.row([
                row.policy.clone(),
                row.runs.to_string(),
                row.runs_different.to_string(),
                format!("{:.4}", row.max_allocation_diff),
                format!("{:.4}", row.max_frag_diff),
                percent(row.allocation_at_130),
                percent(row.published_at_130),
                seconds(row.run_seconds),
            ]);
        }
        let tolerance = &self.tolerance;
        table.note(format!(
            "{} of {} published runs compared: {}.",
            self.runs,
            self.runs_published,
            if self.is_within_tolerance() {
                "equal within the tolerance"
            } else {
                "DIFFERENT"
            }
        ));
        table.note(format!(
            "Tolerance: {} in any column from 1 to 130; means of random off by {:.3}, of {} allowed.",
            tolerance.allocation, self.random_mean_diff, tolerance.random_mean
        ));
        table.note(format!(
            "{} s of wall time, {} s of CPU.",
            seconds(self.wall_seconds),
            seconds(self.cpu_seconds)
        ));
        vec![table]
    }
}

/// From here on, policies part: the close-up of the allocation begins here, in percent arrived.
const CLOSE_UP_FROM: f64 = 80.0;

impl Report for Outcome {
    fn page(&self, command: String) -> Page {
        let trace = self.results.first().map_or("", |run| &run.trace);
        let last = self
            .results
            .iter()
            .filter_map(|run| run.arrived.last())
            .map(|c| c.percent);
        let last = f64::from(last.max().unwrap_or(0));
        let seeds = self
            .results
            .iter()
            .map(|run| run.seed)
            .collect::<BTreeSet<u64>>()
            .len();
        let mut figures = vec![self.figure(
            "Allocation as demand arrives",
            "GPU in use, % of the cluster",
            (0.0, last),
            |column| column.allocation,
        )];
        if last > CLOSE_UP_FROM {
            figures.push(self.figure(
                "Where the policies part",
                "GPU in use, % of the cluster",
                (CLOSE_UP_FROM, last),
                |column| column.allocation,
            ));
        }
        figures.push(self.figure(
            "Fragmentation as demand arrives",
            "GPU that a typical task can't use, % of the cluster",
            (0.0, last),
            |column| column.fragmentation,
        ));
        Page {
            title: format!("Policies on openb:{trace}"),
            lead: format!(
                "{} policies place the same pods on {} GPUs, with {seeds} order{} of arrival each. \
                 Pods come one by one; each finds a place or is lost, and none ends.",
                self.policies().len(),
                count(self.gpus.unsigned_abs()),
                if seeds == 1 { "" } else { "s" },
            ),
            command,
            tables: self.tables(),
            figures,
        }
    }
}

impl Outcome {
    fn figure(
        &self,
        title: &str,
        y_name: &'static str,
        (low, high): (f64, f64),
        of: fn(&berth_sim::published::Column) -> f64,
    ) -> Figure {
        let points: Vec<f64> = (0..=high as u32)
            .map(f64::from)
            .filter(|x| *x >= low)
            .collect();
        let curve = |run: &berth_sim::published::Run| -> Vec<(f64, f64)> {
            run.arrived
                .iter()
                .map(|column| (f64::from(column.percent), of(column)))
                .collect()
        };
        let policies = self.policies();
        let series: Vec<Series> = policies
            .iter()
            .enumerate()
            .map(|(slot, policy)| {
                let own = self.results.iter().filter(|run| run.policy == *policy);
                let curves: Vec<_> = own.map(curve).collect();
                Series::of_seeds((*policy).to_owned(), slot, &curves, &points)
            })
            .collect();
        let seen = series
            .iter()
            .flat_map(|series| &series.line)
            .map(|point| point.1);
        let (least, most) = seen.fold((f64::MAX, 0.0), |(a, b), y| {
            (f64::min(a, y), f64::max(b, y))
        });
        // A close-up begins below its lowest line; a whole curve begins at nothing.
        let floor = if low > 0.0 {
            (least / 5.0).floor() * 5.0
        } else {
            0.0
        };
        let chart = Lines {
            label: format!("{title}: {}", policies.join(", ")),
            x: Extent {
                name: "GPU demand arrived, % of the cluster",
                kind: Kind::Linear,
                low,
                high,
            },
            y: Extent {
                name: y_name,
                kind: Kind::Linear,
                low: floor,
                high: scale::round_up(most),
            },
            series,
        };
        Figure {
            title: title.to_owned(),
            reading: "Lines are medians over seeds, bands hold the middle half of them.".to_owned(),
            svg: chart.svg(),
        }
    }
}
