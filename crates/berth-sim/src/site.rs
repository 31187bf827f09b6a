//! A shared site, made up from a seed: who works there, on what, and when.
//!
//! Every user draws from a stream of their own, so adding a user never changes what the others do.
//! Every number that shapes the site stands in [`Site`] with its unit and source. Invariant: every
//! user submits something. Not here: recorded traces.

use std::collections::BTreeSet;

use berth_core::time::Span;

use crate::trace::{Format, Origin};
use crate::workload::Workload;

mod cluster;
mod people;

pub use cluster::{NodeGroup, SITE_NODES, SMALL_NODES};

/// The small site's entry in the catalogue.
pub static SMALL: Format = Format {
    name: "small",
    summary: "a made-up site: 8 nodes, 40 GPUs, 60 users, 60 hours",
    manual: MANUAL,
    origin: Origin::Seed(|seed, length| Site::small().lasting(length).workload(seed)),
};

/// The large site's entry in the catalogue.
pub static SITE_1000: Format = Format {
    name: "site-1000",
    summary: "a made-up site: 1,000 users, far fewer GPUs, containers and virtual machines, 60 hours",
    manual: MANUAL,
    origin: Origin::Seed(|seed, length| Site::thousand().lasting(length).workload(seed)),
};

const MANUAL: &str = "\
A shared on-premises site over two and a half days, or `--days`, from midnight. GPU nodes of several models: whole
cards for training, time slices for batch and notebooks, MIG instances, vGPUs and cards handed
through for virtual machines, and nodes without GPU. A queue tree of faculties, teams and users with
quotas for teams and limits for teams and users. By day more is asked for than there is, so queues form; they drain by
night.

Users are of four habits: notebooks (held for hours, mostly idle), batch (arrays of short pods),
training (gangs), and virtual machines (long-lived; a card that is handed through is lent for half a
day). The teams' own quotas are equal and add up to the cluster; what a team doesn't use, others
borrow. Every number behind it, with its source, is a
field of `berth_sim::site::Site`.
";

/// How often a greedy person submits what another would submit once.
pub const GREED: u32 = 100;

/// What shapes a site. Spans are means or medians as said; parts are in thousandths.
#[derive(Debug, Clone, PartialEq)]
pub struct Site {
    /// Name for reports.
    pub name: &'static str,
    /// Nodes by group.
    pub nodes: &'static [NodeGroup],
    /// People. Default: 1,000, the size that Berth is made for.
    pub users: u32,
    /// Faculties. Default: 5, assumption.
    pub faculties: u32,
    /// Teams in each faculty. Default: 8, so 25 people a team, assumption.
    pub teams_each: u32,
    /// GPUs that a team may hold, borrowed ones included; its own are an equal part of the site.
    /// Default: 32, an eighth of the site, assumption.
    pub team_limit_gpus: u32,
    /// GPUs that one user may hold. Default: 16, two full nodes' worth of a gang, assumption.
    pub user_limit_gpus: u32,
    /// Greedy people, in thousandths, rounded up: all that they submit, they submit [`GREED`] times. They are
    /// drawn apart, so that everybody else does the same with and without them. Default: 0.
    pub greedy_permille: u32,
    /// How long the trace is. Default: 60 hours, two nights and three mornings.
    pub length: Span,
    /// When people start work after midnight, median. Default: 9 h; spread 1.5 h. Assumption.
    pub day_starts: Span,
    /// Standard deviation of that between people. Default: 1.5 h, assumption.
    pub day_start_spread: Span,
    /// How long they work. Default: 9 h, assumption.
    pub day_length: Span,
    /// People by habit, in thousandths: notebooks, batch, training, virtual machines. Default: 450,
    /// 350, 120, 80. Assumption; on shared university clusters most users are interactive while most
    /// GPU time is batch (Hu et al., "Characterization and Prediction of Deep Learning Workloads in
    /// Large-Scale GPU Datacenters", SC 2021, reports 3 % of users for most of the time).
    pub habits_permille: [u32; 4],
    /// Notebook sessions a user a day, mean. Default: 2, assumption.
    pub sessions_a_day: f64,
    /// Length of a notebook session, median; log-normal. Default: 2 h, spread 0.7; assumption, after
    /// complaints of forgotten notebooks that hold GPUs for hours.
    pub session: Span,
    /// Spread (standard deviation of the logarithm) of that.
    pub session_sigma: f64,
    /// Part of a session in which the GPU works, at most. Default: 300 (uniform from 50). Source:
    /// notebooks in Weng et al., "MLaaS in the Wild", NSDI 2022, leave most of their GPU idle; the
    /// exact number is an assumption.
    pub session_busy_permille: u16,
    /// Batch arrays a user a day, mean. Default: 3.5, assumption.
    pub arrays_a_day: f64,
    /// Pods of an array, mean of a geometric distribution. Default: 11, assumption.
    pub array_pods: f64,
    /// Run time of a batch pod, median; log-normal. Default: 616 s, the median of the public openb
    /// default list.
    pub batch_run: Span,
    /// Spread of that. Default: 1.0. The list's p90 of 7,764 s would give 2.0; its long tail is
    /// service-like and is left to the machines here.
    pub batch_run_sigma: f64,
    /// Longest run of batch and training. Default: 12 h, a common queue limit, assumption.
    pub run_max: Span,
    /// Batch pods by kind, in thousandths: without GPU, a share of a GPU, a whole GPU, a MIG
    /// instance. Default: 130, 480, 300, 90. Source: the openb default list has 133 without GPU, 378 shares
    /// and 489 with whole GPUs; part of the whole ones is moved to shares and MIG, assumption.
    pub batch_kinds_permille: [u32; 4],
    /// Gangs a training user a day, mean. Default: 1, assumption.
    pub gangs_a_day: f64,
    /// Run time of a gang, median; log-normal. Default: 45 min, spread 0.9, assumption.
    pub gang_run: Span,
    /// Spread of that.
    pub gang_run_sigma: f64,
    /// Part of a batch or training run in which the GPU works: uniform between the two. Default:
    /// 500 to 950. Source: about half on average over all tasks in "MLaaS in the Wild"; training
    /// above.
    pub batch_busy_permille: (u16, u16),
    /// Part of virtual machines with a card handed through, the others have a vGPU. Default: 150,
    /// assumption.
    pub passthrough_permille: u32,
    /// For how long a card is handed through at most; whoever wants it longer asks again the next
    /// day. Default: 12 h, assumption: there are fewer such cards than people who want one, and
    /// nothing takes a card away from a machine.
    pub passthrough_lease: Span,
}

impl Site {
    /// 1,000 users on 256 GPUs.
    #[must_use]
    pub fn thousand() -> Self {
        Self {
            name: "site:site-1000",
            nodes: SITE_NODES,
            users: 1_000,
            faculties: 5,
            teams_each: 8,
            team_limit_gpus: 32,
            user_limit_gpus: 16,
            greedy_permille: 0,
            length: Span::from_hours(60),
            day_starts: Span::from_hours(9),
            day_start_spread: Span::from_mins(90),
            day_length: Span::from_hours(9),
            habits_permille: [450, 350, 120, 80],
            sessions_a_day: 2.0,
            session: Span::from_hours(2),
            session_sigma: 0.7,
            session_busy_permille: 300,
            arrays_a_day: 3.5,
            array_pods: 11.0,
            batch_run: Span::from_secs(616),
            batch_run_sigma: 1.0,
            run_max: Span::from_hours(12),
            batch_kinds_permille: [130, 480, 300, 90],
            gangs_a_day: 1.0,
            gang_run: Span::from_mins(45),
            gang_run_sigma: 0.9,
            batch_busy_permille: (500, 950),
            passthrough_permille: 150,
            passthrough_lease: Span::from_hours(12),
        }
    }

    /// 60 users on 40 GPUs: the same habits, fewer of everything.
    #[must_use]
    pub fn small() -> Self {
        Self {
            name: "site:small",
            nodes: SMALL_NODES,
            users: 60,
            faculties: 2,
            teams_each: 3,
            team_limit_gpus: 16,
            user_limit_gpus: 8,
            // Fewer people make fewer arrays; more of them keep the queue alive. Assumption.
            arrays_a_day: 6.0,
            ..Self::thousand()
        }
    }

    /// The same site for so long, or for its usual length.
    #[must_use]
    pub fn lasting(self, length: Option<Span>) -> Self {
        let length = length.unwrap_or(self.length);
        Self { length, ..self }
    }

    /// The names of its greedy people, drawn from `seed`.
    #[must_use]
    pub fn greedy(&self, seed: u64) -> BTreeSet<String> {
        people::greedy(self, seed)
    }

    /// What the site's people do, drawn from `seed`.
    #[must_use]
    pub fn workload(&self, seed: u64) -> Workload {
        let mut jobs = people::with_greed(people::jobs(self, seed), &self.greedy(seed));
        jobs.sort_by(|a, b| (a.arrival, &a.name).cmp(&(b.arrival, &b.name)));
        Workload {
            name: self.name.to_owned(),
            nodes: cluster::nodes(self.nodes),
            queues: people::queues(self),
            vgpu_profiles: cluster::vgpu_profiles(),
            jobs,
        }
    }
}
