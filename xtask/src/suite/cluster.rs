//! Suite `cluster`: the scheduler against a real API server, one file a category.
//!
//! Invariant: whatever a case does, all pods of the cluster are followed while it does it, and no node
//! may ever hold more GPUs than it has. A case has a namespace of its own and leaves nothing behind.
//! The testbed ends with the suite, whatever happens.

mod bind;
mod case;
mod dra;
mod events;
mod failover;
mod faults;
mod gang;
mod hostile;
mod object;
mod observer;
mod preemption;
mod queue;
mod restart;
mod volume;

use std::time::Instant;

use self::case::{Case, World};
use super::testbed::cluster::is_left_clean;
use super::{Context, InCi, Outcome, Suite};
use crate::process;
use crate::tally::{Checked, Tally};
use crate::testbed::scheduler::install_crds;
use crate::testbed::{Options, Testbed, stage};

pub(super) const SUITE: Suite = Suite {
    name: "cluster",
    about: "berth scheduler places pods of a real Kubernetes with fake nodes",
    run,
};

/// Fake nodes, with eight GPUs each: the cases count on it.
const N_NODES: u32 = 30;
const GPUS_PER_NODE: u64 = 8;

/// Runs only the cases whose category or name contains one of these, separated by commas.
const ONLY_VARIABLE: &str = "BERTH_CLUSTER_CASES";

/// Every category, in order: what leaves the scheduler in peace stands first.
const ALL: &[(&str, &[Case])] = &[
    ("bind", bind::CASES),
    ("queue", queue::CASES),
    ("gang", gang::CASES),
    ("volume", volume::CASES),
    ("dra", dra::CASES),
    ("preemption", preemption::CASES),
    ("events", events::CASES),
    ("hostile", hostile::CASES),
    ("restart", restart::CASES),
    ("faults", faults::CASES),
    ("failover", failover::CASES),
];

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let workspace = &cx.workspace;
    let needed = [&stage::PKI, &stage::ETCD, &stage::KUBERNETES_STAGE];
    if !stage::all_built(workspace, &needed)?
        && let Some(why) = stage::go_is_missing()
    {
        return Ok(Outcome::Skipped {
            why,
            in_ci: InCi::MustRun,
        });
    }
    process::require(&mut workspace.cargo(["build", "--quiet", "--package", "berth"]))?;
    let berth = workspace.target().join("debug/berth");
    let name = format!("cluster-{}", std::process::id());
    let testbed = Testbed::up(workspace, &name, &Options::fake_nodes(N_NODES))?;
    let world = install_crds(&testbed, &berth).and_then(|()| World::new(testbed.clone(), berth));
    // Cases restart processes, so that the world's testbed is the one to end.
    let (ran, testbed) = match world {
        Ok(mut world) => (Ok(run_all(&mut world)), world.testbed.clone()),
        Err(why) => (Err(why), testbed),
    };
    let clean = is_left_clean(&testbed)?;
    let mut tally = ran?;
    tally += clean;
    Ok(Outcome::Ran(tally))
}

fn run_all(world: &mut World) -> Tally {
    let only = std::env::var(ONLY_VARIABLE).unwrap_or_default();
    let mut tally = Tally::default();
    for (category, cases) in ALL {
        let started = Instant::now();
        let mut of_category = Tally::default();
        for case in *cases {
            let name = format!("{category}: {}", case.name);
            if !only.split(',').any(|part| name.contains(part)) {
                continue;
            }
            let result = world.run(case);
            if let Err(why) = &result {
                println!("{name}: {why:#}");
            }
            of_category.count(Checked::of(result.is_ok()));
        }
        let seconds = started.elapsed().as_secs_f64();
        println!("{category}: {of_category} in {seconds:.1} s");
        tally += of_category;
    }
    tally
}
