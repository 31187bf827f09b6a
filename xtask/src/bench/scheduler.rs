//! Bench group `scheduler`: the live scheduler on a real API server, beside kube-scheduler.
//!
//! The pods are created while nobody schedules; then the scheduler is started and binds all of them,
//! so that neither side competes with their creation. Nobody else has anything to do with the pods:
//! the fake nodes leave them as they are bound. Pods a second count from the first bind to the last,
//! as a watch sees them; CPU seconds and peak memory are those of the whole process until then,
//! listing included. Both sides speak to the server as its administrator, without a limit of their
//! own, and both write the events that they write by default.

mod beside;
mod cache;
mod gangs;
mod load;

use super::{Context, Group, Measured};
use crate::testbed::Options;

pub(super) const GROUP: Group = Group {
    name: "scheduler",
    about: "Live scheduler beside kube-scheduler",
    run,
};

const COMMAND: &str = "cargo xtask bench scheduler";

/// Measures only the cases whose names contain this.
const ONLY_VARIABLE: &str = "BERTH_BENCH_CASES";

fn run(cx: &Context<'_>) -> anyhow::Result<Measured> {
    cx.workspace.build_release()?;
    let mut measured = Measured::default();
    beside::measure(cx, &mut measured)?;
    gangs::measure(cx, &mut measured)?;
    cache::measure(cx, &mut measured)?;
    Ok(measured)
}

/// Whether a case of this name is wanted.
fn is_wanted(name: &str) -> bool {
    let only = std::env::var(ONLY_VARIABLE).unwrap_or_default();
    name.contains(&only)
}

/// A testbed where nobody but the schedulers has anything to do with pods.
fn options(n_nodes: u32) -> Options {
    Options {
        still_pods: true,
        ..Options::fake_nodes(n_nodes)
    }
}
