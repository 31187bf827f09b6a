//! Suite `testbed`: the oracle judges its hand-written cases, and a cluster with fake nodes lives.
//!
//! The programs come from the cache, or are built into it with Go.

pub(super) mod cluster;
mod oracle;

use super::{Context, InCi, Outcome, Suite};
use crate::testbed::stage;

pub(super) const SUITE: Suite = Suite {
    name: "testbed",
    about: "a real Kubernetes with fake nodes, and the oracle over kube-scheduler's filters",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let workspace = &cx.workspace;
    let needed = [
        &stage::PKI,
        &stage::ETCD,
        &stage::KUBERNETES_STAGE,
        &stage::ORACLE,
    ];
    if !stage::all_built(workspace, &needed)?
        && let Some(why) = stage::go_is_missing()
    {
        return Ok(Outcome::Skipped {
            why,
            in_ci: InCi::MustRun,
        });
    }
    let mut tally = oracle::run(workspace)?;
    tally += cluster::run(workspace)?;
    Ok(Outcome::Ran(tally))
}
