//! Views of runs that play a workload by its times: tables, and a page of charts.

use std::collections::{BTreeMap, BTreeSet};

use berth_sim::report::{Report as Played, Sample};

use crate::output::Document;
use crate::output::chart::gantt::Gantt;
use crate::output::chart::lines::{Extent, Lines, Series};
use crate::output::chart::quantiles::{Quantiles, Row};
use crate::output::chart::scale::{self, Kind};
use crate::output::figure::{count, percent, seconds, span};
use crate::output::html::{Figure, Page, Report};
use crate::output::table::{Column, Table};
use crate::runs::played::{Means, Outcome};
use crate::runs::spread::mean;

mod fairness;

/// Points of a curve over time: more than a chart has room to tell apart.
const POINTS: u32 = 240;
/// More bands than this hide one another.
const BANDS_MAX: usize = 4;
/// GPUs shown in a chart of lanes: a screenful.
const LANES_MAX: usize = 32;

impl Document for Outcome {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.summary(), fairness::table(self)];
        tables.extend(self.reasons());
        tables
    }
}

impl Report for Outcome {
    fn page(&self, command: String) -> Page {
        let first = self.results.first();
        let trace = first.map_or("", |report| &report.trace);
        let lead = first.map_or_else(String::new, |report| {
            let seeds: BTreeSet<u64> = self.results.iter().map(|report| report.seed).collect();
            format!(
                "{} users on {} GPUs of {} nodes for {}, faults: {}; {} policies, {} seed{}.",
                count(u64::from(report.users_seen)),
                count(u64::from(report.gpus)),
                count(u64::from(report.nodes)),
                span(report.simulated_hours * 3600.0),
                report.faults,
                self.means.len(),
                seeds.len(),
                if seeds.len() == 1 { "" } else { "s" },
            )
        });
        let share = |sample: &Sample| sample.allocation;
        let mut figures = vec![
            self.over_time("GPUs held", "held by pods, % of all GPUs", share),
            self.over_time("GPUs at work", "really working, % of all GPUs", |s| {
                s.utilisation
            }),
            self.over_time("Waiting pods", "pods that wait", |sample| {
                sample.pending as f64
            }),
            self.waits(),
            self.users(),
        ];
        figures.extend(self.gantts());
        Page {
            title: format!("Policies on {trace}"),
            lead,
            command,
            tables: self.tables(),
            figures,
        }
    }
}

impl Outcome {
    fn summary(&self) -> Table {
        let mut table = Table::new([
            Column::text("policy"),
            Column::figure("runs"),
            Column::figure("held %"),
            Column::figure("at work %"),
            Column::figure("fragm. %"),
            Column::figure("wait p50"),
            Column::figure("p90"),
            Column::figure("p99"),
            Column::figure("done"),
            Column::figure("waiting"),
            Column::figure("evicted"),
            Column::figure("s a run"),
        ]);
        if let Some(report) = self.results.first() {
            table = table.titled(format!(
                "{}, {} GPUs, {} simulated, faults: {}",
                report.trace,
                count(u64::from(report.gpus)),
                span(report.simulated_hours * 3600.0),
                report.faults
            ));
        }
        for means in &self.means {
            table.row(self.row(means));
        }
        table.note("Held and at work: means over time in percent of all GPUs, lost ones included.");
        if self
            .means
            .iter()
            .any(|means| means.allocation_under_load.is_some())
        {
            table.note("Held: while jobs arrive; the rest counts until the last one has ended.");
        }
        table
    }

    fn row(&self, means: &Means) -> [String; 12] {
        let timed = self.results.iter().zip(&self.wall_seconds);
        let own = timed.filter(|(report, _)| means.are_of(report));
        let whole = |value: f64| count(value.round() as u64);
        [
            self.name(means),
            means.seeds.to_string(),
            percent(means.allocation_under_load.unwrap_or(means.allocation_mean)),
            percent(means.utilisation_mean),
            percent(means.fragmentation_mean),
            span(means.wait_p50_s),
            span(means.wait_p90_s),
            span(means.wait_p99_s),
            whole(means.completed),
            whole(means.pending_at_end),
            whole(means.evictions),
            seconds(mean(own.map(|(_, wall)| *wall)).unwrap_or(0.0)),
        ]
    }

    /// Hours of waiting by reason; none where nothing waited.
    fn reasons(&self) -> Option<Table> {
        let mut hours: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (index, means) in self.means.iter().enumerate() {
            for report in self.results.iter().filter(|report| means.are_of(report)) {
                for (reason, pod_hours) in &report.reasons_pod_hours {
                    let row = hours
                        .entry(reason)
                        .or_insert_with(|| vec![0.0; self.means.len()]);
                    row[index] += pod_hours / means.seeds as f64;
                }
            }
        }
        if hours.is_empty() {
            return None;
        }
        let policies = self
            .means
            .iter()
            .map(|means| Column::figure(self.name(means)));
        let columns = [Column::text("reason")].into_iter().chain(policies);
        let mut table = Table::new(columns).titled("Why pods waited, in pod-hours of a run");
        for (reason, row) in hours {
            let figures = row.iter().map(|hours| count(hours.round() as u64));
            table.row([reason.to_owned()].into_iter().chain(figures));
        }
        Some(table)
    }

    /// What the runs behind `means` are called: by their policy, and by their order where there are
    /// several.
    fn name(&self, means: &Means) -> String {
        let first = self.means.first();
        match first.is_some_and(|first| self.means.iter().any(|m| m.order != first.order)) {
            true => format!("{}, {}", means.policy, means.order),
            false => means.policy.clone(),
        }
    }

    fn of<'a>(&'a self, means: &'a Means) -> impl Iterator<Item = &'a Played> {
        self.results.iter().filter(|report| means.are_of(report))
    }

    fn over_time(&self, title: &str, y_name: &'static str, of: fn(&Sample) -> f64) -> Figure {
        let hours = self
            .results
            .iter()
            .map(|report| report.simulated_hours)
            .fold(0.0, f64::max);
        let points: Vec<f64> = (0..=POINTS)
            .map(|n| hours * f64::from(n) / f64::from(POINTS))
            .collect();
        let series: Vec<Series> = self
            .means
            .iter()
            .enumerate()
            .map(|(slot, means)| {
                let curve = |report: &Played| -> Vec<(f64, f64)> {
                    report
                        .series
                        .iter()
                        .map(|sample| (sample.t_h, of(sample)))
                        .collect()
                };
                let curves: Vec<_> = self.of(means).map(curve).collect();
                let series = Series::of_seeds(self.name(means), slot, &curves, &points);
                if self.means.len() > BANDS_MAX {
                    series.without_band()
                } else {
                    series
                }
            })
            .collect();
        let seen = series
            .iter()
            .flat_map(|series| &series.line)
            .map(|point| point.1);
        let most = seen.fold(0.0, f64::max);
        let chart = Lines {
            label: format!("{title} over time, by policy"),
            x: Extent {
                name: "time since the run began",
                kind: Kind::Hours,
                low: 0.0,
                high: hours,
            },
            y: Extent {
                name: y_name,
                kind: Kind::Linear,
                low: 0.0,
                high: scale::round_up(most),
            },
            series,
        };
        let reading = match self.means.first() {
            Some(Means { seeds: 2.., .. }) if self.means.len() <= BANDS_MAX => {
                "Lines are medians over seeds, bands hold the middle half of them."
            }
            Some(Means { seeds: 2.., .. }) => "Lines are medians over seeds.",
            _ => "One line a policy.",
        };
        Figure {
            title: title.to_owned(),
            reading: reading.to_owned(),
            svg: chart.svg(),
        }
    }

    fn waits(&self) -> Figure {
        let row = |(slot, means): (usize, &Means)| Row {
            name: self.name(means),
            slot,
            seconds: vec![
                means.wait_p50_s,
                means.wait_p90_s,
                means.wait_p99_s,
                means.wait_max_s,
            ],
        };
        let chart = Quantiles {
            label: "Quantiles of waiting, by policy".to_owned(),
            names: vec!["p50", "p90", "p99", "max"],
            rows: self.means.iter().enumerate().map(row).collect(),
        };
        Figure {
            title: "From submission to start".to_owned(),
            reading:
                "Half of the pods that started waited at most p50, nine of ten at most p90; the \
                      axis is logarithmic."
                    .to_owned(),
            svg: chart.svg(),
        }
    }

    fn users(&self) -> Figure {
        let curve = |report: &Played| -> Vec<(f64, f64)> {
            let deciles = report.wait_p95_by_user_decile.iter().zip(1u8..);
            deciles
                .map(|(&wait_s, decile)| (f64::from(decile) * 10.0, wait_s))
                .collect()
        };
        let points: Vec<f64> = (1..=10).map(|decile| f64::from(decile) * 10.0).collect();
        let series: Vec<Series> = self
            .means
            .iter()
            .enumerate()
            .map(|(slot, means)| {
                let curves: Vec<_> = self.of(means).map(curve).collect();
                Series::of_seeds(self.name(means), slot, &curves, &points)
            })
            .collect();
        let longest = series
            .iter()
            .flat_map(|series| &series.line)
            .map(|point| point.1)
            .fold(1.0, f64::max);
        let chart = Lines {
            label: "How long users wait, by policy".to_owned(),
            x: Extent {
                name: "users, % of all",
                kind: Kind::Linear,
                low: 10.0,
                high: 100.0,
            },
            y: Extent {
                name: "p95 of their waits",
                kind: Kind::LogSeconds,
                low: 1.0,
                high: longest,
            },
            series,
        };
        Figure {
            title: "How evenly users wait".to_owned(),
            reading: "Each user has a p95 wait of their own; so many percent of the users have at \
                      most this one."
                .to_owned(),
            svg: chart.svg(),
        }
    }

    /// One chart a policy, of its first run.
    fn gantts(&self) -> Vec<Figure> {
        let firsts = self
            .means
            .iter()
            .filter_map(|means| Some((self.name(means), self.of(means).next()?)));
        let shown = firsts.filter(|(_, report)| !report.gantt.is_empty());
        shown
            .map(|(name, report)| {
                let lanes = &report.gantt[..report.gantt.len().min(LANES_MAX)];
                let ends = lanes
                    .iter()
                    .flat_map(|lane| &lane.spans)
                    .map(|span| span.end_h);
                let chart = Gantt {
                    label: format!("Who held which GPU when under {name}"),
                    lanes,
                    hours: ends.fold(0.0, f64::max),
                };
                Figure {
                    title: format!("Who held which GPU: {name}"),
                    reading: format!(
                        "{} of {} GPUs, seed {}. A box is a pod, its height the part of the GPU \
                         that it held; point at it for its name.",
                        lanes.len(),
                        count(u64::from(report.gpus)),
                        report.seed
                    ),
                    svg: chart.svg(),
                }
            })
            .collect()
    }
}
