//! Every metric that Berth exposes, with its help; the manual page is made from this table.
//!
//! Invariant: a metric is read from the latest publication and view when somebody asks, so it can't
//! disagree with what people see; labels are bounded. Not here: the server.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::exemplar::Exemplar;
use prometheus_client::registry::Registry;

use super::view::View;
use crate::service::published::Published;
use crate::service::tally::Buckets;

/// Queues deeper than this have no series of their own: a thousand users would be a thousand series.
const QUEUE_DEPTH_MAX: usize = 1;

/// The content type of what [`render`] returns.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// An answer without metrics.
pub(crate) const NONE: &str = "# EOF\n";

/// A metric.
#[derive(Debug)]
pub(crate) struct Metric {
    /// Full name as it is exposed; a histogram's is without `_bucket`, `_sum` and `_count`.
    pub(crate) name: &'static str,
    /// What it says, in one sentence.
    pub(crate) help: &'static str,
    /// Names of its labels.
    pub(crate) labels: &'static [&'static str],
    /// What kind it is, and where it is read.
    pub(crate) read: Read,
}

/// What kind a metric is, and where it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Read {
    /// Goes up and down.
    Gauge(fn(&Source<'_>) -> Samples),
    /// Only rises.
    Counter(fn(&Source<'_>) -> Samples),
    /// Counts in buckets.
    Histogram(fn(&Published) -> &Buckets),
}

/// Where metrics are read.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    published: &'a Published,
    view: &'a View,
}

/// Label values, in the order of the labels' names, and the value.
pub(crate) type Samples = Vec<(Vec<String>, f64)>;

/// Every metric, by name.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        name: "berth_binds_total",
        help: "Starts of pods decided",
        labels: &[],
        read: Read::Counter(|source| plain(source.published.tally.placed as f64)),
    },
    Metric {
        name: "berth_build_info",
        help: "The build that runs; always 1",
        labels: &["version"],
        read: Read::Gauge(|_| vec![(vec![env!("CARGO_PKG_VERSION").to_owned()], 1.0)]),
    },
    Metric {
        name: "berth_cycle_seconds",
        help: "Real time of a scheduling step: observe, decide, recount the books, act",
        labels: &[],
        read: Read::Histogram(|published| &published.tally.cycle_s),
    },
    Metric {
        name: "berth_evictions_total",
        help: "Lost places by cause",
        labels: &["cause"],
        read: Read::Counter(|source| {
            let evictions = source.published.totals.evictions.iter();
            evictions
                .map(|(cause, &n)| (vec![cause.clone()], n as f64))
                .collect()
        }),
    },
    Metric {
        name: "berth_gpu_allocated_ratio",
        help: "GPU held by pods, in parts of all GPUs, lost nodes included",
        labels: &[],
        read: Read::Gauge(|source| plain(source.published.shares.allocated)),
    },
    Metric {
        name: "berth_gpu_fragmented_ratio",
        help: "GPU that a task of the target workload could not use, in parts of all GPUs",
        labels: &[],
        read: Read::Gauge(|source| plain(source.published.shares.fragmented)),
    },
    Metric {
        name: "berth_gpus",
        help: "GPUs by model and mode",
        labels: &["gpu_class"],
        read: Read::Gauge(|source| {
            let fleets = source.view.fleets.iter();
            fleets
                .map(|fleet| (vec![fleet.name.clone()], fleet.gpus as f64))
                .collect()
        }),
    },
    Metric {
        name: "berth_gpus_allocated",
        help: "GPU held by pods, by model and mode, in whole GPUs",
        labels: &["gpu_class"],
        read: Read::Gauge(|source| {
            let fleets = source.view.fleets.iter();
            fleets
                .map(|fleet| (vec![fleet.name.clone()], fleet.held.gpus_f64()))
                .collect()
        }),
    },
    Metric {
        name: "berth_gpus_out_of_order",
        help: "GPUs that have failed or are on lost nodes, by model and mode",
        labels: &["gpu_class"],
        read: Read::Gauge(|source| {
            let fleets = source.view.fleets.iter();
            fleets
                .map(|fleet| (vec![fleet.name.clone()], fleet.out as f64))
                .collect()
        }),
    },
    Metric {
        name: "berth_invariant_failures_total",
        help: "Broken books found; anything but 0 is a defect of Berth",
        labels: &[],
        read: Read::Counter(|source| plain(source.published.n_violations() as f64)),
    },
    Metric {
        name: "berth_nodes",
        help: "Nodes by readiness",
        labels: &["readiness"],
        read: Read::Gauge(|source| {
            ["ready", "cordoned", "lost"]
                .into_iter()
                .map(|readiness| {
                    let nodes = source.view.nodes.iter();
                    let n = nodes.filter(|node| node.readiness == readiness).count();
                    (vec![readiness.to_owned()], n as f64)
                })
                .collect()
        }),
    },
    Metric {
        name: "berth_pods",
        help: "Pods by phase",
        labels: &["phase"],
        read: Read::Gauge(|source| {
            let figures = &source.view.figures;
            vec![
                (vec!["bound".to_owned()], figures.pods_running as f64),
                (vec!["pending".to_owned()], figures.pods_waiting as f64),
            ]
        }),
    },
    Metric {
        name: "berth_pods_completed_total",
        help: "Pods that ran to their end",
        labels: &[],
        read: Read::Counter(|source| plain(source.published.totals.completed as f64)),
    },
    Metric {
        name: "berth_pods_submitted_total",
        help: "Pods submitted",
        labels: &[],
        read: Read::Counter(|source| plain(source.published.totals.submitted as f64)),
    },
    Metric {
        name: "berth_pods_waiting",
        help: "Waiting pods by reason; NotAssessed counts those beyond the bound on explanations",
        labels: &["reason"],
        read: Read::Gauge(|source| {
            let reasons = source.view.reasons.iter();
            reasons
                .map(|(&reason, &n)| (vec![reason.to_owned()], n as f64))
                .collect()
        }),
    },
    Metric {
        name: "berth_queue_limit_gpus",
        help: "The most that a queue of the two upper levels may hold, in physical-GPU equivalents",
        labels: &["queue"],
        read: Read::Gauge(|source| {
            let queues = source
                .view
                .queues
                .iter()
                .filter(|row| row.depth <= QUEUE_DEPTH_MAX);
            let limited = queues.filter_map(|row| Some((row, row.limit?)));
            limited
                .map(|(row, limit)| (vec![row.name.to_string()], limit.gpus_f64()))
                .collect()
        }),
    },
    Metric {
        name: "berth_queue_used_gpus",
        help: "What a queue of the two upper levels and those below hold, in physical-GPU equivalents",
        labels: &["queue"],
        read: Read::Gauge(|source| {
            let queues = source
                .view
                .queues
                .iter()
                .filter(|row| row.depth <= QUEUE_DEPTH_MAX);
            queues
                .map(|row| (vec![row.name.to_string()], row.used.gpus_f64()))
                .collect()
        }),
    },
    Metric {
        name: "berth_virtual_lag_seconds",
        help: "How far virtual time is behind where the chosen speed would have it",
        labels: &[],
        read: Read::Gauge(|source| plain(source.view.figures.lag_s)),
    },
    Metric {
        name: "berth_virtual_time_seconds",
        help: "Virtual time since the start",
        labels: &[],
        read: Read::Gauge(|source| plain(source.published.elapsed().as_secs_f64())),
    },
    Metric {
        name: "berth_wait_seconds",
        help: "Virtual time from submission to first start",
        labels: &[],
        read: Read::Histogram(|published| &published.tally.wait_s),
    },
];

/// The exposition of every metric.
pub(crate) fn render(published: Arc<Published>, view: Arc<View>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Reader { published, view }));
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("writing to a string does not fail");
    text
}

#[derive(Debug)]
struct Reader {
    published: Arc<Published>,
    view: Arc<View>,
}

impl Collector for Reader {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let source = Source {
            published: &self.published,
            view: &self.view,
        };
        for metric in METRICS {
            metric.encode(&source, &mut encoder)?;
        }
        Ok(())
    }
}

impl Metric {
    fn encode(
        &self,
        source: &Source<'_>,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        // The encoder writes the suffix of a counter itself.
        let name = self.name.strip_suffix("_total").unwrap_or(self.name);
        let kind = match self.read {
            Read::Gauge(_) => MetricType::Gauge,
            Read::Counter(_) => MetricType::Counter,
            Read::Histogram(_) => MetricType::Histogram,
        };
        let mut family = encoder.encode_descriptor(name, self.help, None, kind)?;
        match self.read {
            Read::Gauge(read) => {
                for (values, value) in read(source) {
                    family
                        .encode_family(&self.label_set(values))?
                        .encode_gauge(&value)?;
                }
            }
            Read::Counter(read) => {
                for (values, value) in read(source) {
                    let labels = self.label_set(values);
                    let exemplar: Option<&Exemplar<LabelSet, f64>> = None;
                    family
                        .encode_family(&labels)?
                        .encode_counter(&value, exemplar)?;
                }
            }
            Read::Histogram(read) => {
                let buckets = read(source.published);
                let bounds = buckets.bounds.iter().copied().chain([f64::INFINITY]);
                let counted: Vec<(f64, u64)> = bounds.zip(buckets.counts.iter().copied()).collect();
                family.encode_histogram::<LabelSet>(buckets.sum, buckets.n(), &counted, None)?;
            }
        }
        Ok(())
    }

    fn label_set(&self, values: Vec<String>) -> LabelSet {
        self.labels.iter().copied().zip(values).collect()
    }
}

type LabelSet = Vec<(&'static str, String)>;

fn plain(value: f64) -> Samples {
    vec![(Vec::new(), value)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::scripted;

    #[test]
    fn names_are_sorted_unique_and_carry_the_prefix() {
        assert!(METRICS.is_sorted_by(|a, b| a.name < b.name));
        for metric in METRICS {
            assert!(metric.name.starts_with("berth_"), "{}", metric.name);
            let is_counter = matches!(metric.read, Read::Counter(_));
            assert_eq!(
                metric.name.ends_with("_total"),
                is_counter,
                "{}",
                metric.name
            );
            assert!(
                !metric.help.ends_with('.') && !metric.help.contains('\n'),
                "{}",
                metric.name
            );
        }
    }

    #[test]
    fn the_exposition_names_every_metric_and_ends_properly() {
        let published = Arc::new(scripted::published());
        let view = Arc::new(View::of(&published));
        let text = render(published, view);
        for metric in METRICS {
            let name = metric.name.strip_suffix("_total").unwrap_or(metric.name);
            assert!(text.contains(&format!("# HELP {name} ")), "{name}");
        }
        assert!(text.contains("berth_gpus{gpu_class=\"A100\"} 8"), "{text}");
        assert!(
            text.contains("berth_pods_waiting{reason=\"GpuBusy\"} 2"),
            "{text}"
        );
        assert!(
            text.contains("berth_evictions_total{cause=\"node-lost\"} 1"),
            "{text}"
        );
        assert!(
            text.contains("berth_wait_seconds_bucket{le=\"+Inf\"} 1"),
            "{text}"
        );
        assert!(text.ends_with("# EOF\n"));
    }
}
