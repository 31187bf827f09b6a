//! Scenarios: a small cluster, some jobs, some trouble, and what must come of it, as text.
//!
//! A scenario is a fenced block ` ```scenario ` in a Markdown file, whose prose says what it is
//! about. Every scenario is played under every policy (unless it names one) and with the nodes
//! listed in either order, since neither may change a verdict. Invariant: reading never panics, and
//! what is unknown is refused by line.
//!
//! ```text
//! node n1 gpu=8xA100:80GiB cpu=64 memory=512GiB pods=110 mode=time-slice
//! node m x100 gpu=4xT4             100 nodes, m-001 to m-100
//! queue team limit=4 parent=site
//! job j1 x16 gpu=0.5 run=10m       16 pods, submitted at t=0
//! job g x4 gang gpu=1 t=1m times=60 every=15s    60 gangs of 4: g-01 to g-60
//! at 5m fail n1:3                  lose, drain, cordon, return NODE; fail, repair NODE:GPU
//! at 6m restart                    the scheduler starts anew from what the cluster shows
//! evictions min-runtime=0s max=3 patience=0s   or `evictions off`
//! order fifo                       or `fair-share`
//! policy fgd
//! expect 0s running=16 pending=0 card-max-tenants=2
//! expect 5m j1.running>=14 j1.reason=GpuUnhealthy
//! expect end completed=16
//! ```
//!
//! Not here: files; the caller finds and opens them.

use berth_core::sched::room::EvictionRules;
use berth_core::sched::turns::Order;
use berth_core::time::Time;

use crate::workload::Workload;

mod read;
mod run;
mod story;

pub use read::read;
pub use run::{Verdict, run, tell};
pub use story::{Moment, What};

/// What must come of a small cluster.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// The heading above it in its file.
    pub title: String,
    /// Line of its first line in the file.
    pub line: u64,
    /// Nodes, queues and jobs.
    pub workload: Workload,
    /// Trouble and its end, by time.
    pub troubles: Vec<Befalls>,
    /// When the scheduler starts anew, earliest first: it forgets all that the cluster doesn't show.
    pub restarts: Vec<Time>,
    /// The one policy that it is about; `None` for all of them.
    pub policy: Option<String>,
    /// When work may lose its place to other work.
    pub evictions: Option<EvictionRules>,
    /// Whose turn it is.
    pub order: Order,
    /// What must hold, by time.
    pub expectations: Vec<Expectation>,
}

/// Something that befalls a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Befalls {
    /// When.
    pub at: Time,
    /// What.
    pub what: Misfortune,
    /// Which node.
    pub node: String,
    /// Which of its GPUs, where it befalls one.
    pub gpu: u8,
}

/// What may befall a node in a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misfortune {
    /// The node is lost.
    Lose,
    /// The node is emptied and takes nothing new.
    Drain,
    /// The node takes nothing new.
    Cordon,
    /// The node takes work again.
    Return,
    /// A GPU fails.
    Fail,
    /// A GPU is repaired.
    Repair,
}

/// What must hold at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Expectation {
    /// Its line in the file.
    pub line: u64,
    /// When; `None` when everything has ended.
    pub at: Option<Time>,
    /// What is looked at.
    pub what: Measure,
    /// How it compares.
    pub relation: Relation,
    /// With what: a number, or a reason token.
    pub value: String,
}

/// What an expectation looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Measure {
    /// A figure of the whole cluster.
    Cluster(Figure),
    /// A figure of one job's pods.
    Job(String, Figure),
}

/// A figure that a scenario can speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Running pods.
    Running,
    /// Waiting pods.
    Pending,
    /// Pods that have left after running.
    Completed,
    /// Lost places so far; of the whole cluster only.
    Evictions,
    /// Most tenants on any one card; of the whole cluster only.
    CardMaxTenants,
    /// Scheduling cycles so far; of the whole cluster only.
    Cycles,
    /// Reason token of the oldest waiting pod; of a job only.
    Reason,
}

/// How a figure compares with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// Is equal.
    Equal,
    /// Is at most.
    AtMost,
    /// Is at least.
    AtLeast,
}
