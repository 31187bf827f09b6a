//! An API server that refuses, hangs, loses answers and cuts watches, all at once.

use std::env;
use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;

use super::case::{Case, Cx};
use super::object::{POD_GROUPS, in_group, pod_group, pods, priority};
use super::observer::Seen;
use super::restart::kill_all;
use crate::testbed::faulty::Faulty;

pub(super) const CASES: &[Case] = &[Case {
    name: "whatever an API server does to requests, all is placed once and gangs are whole",
    run: storms,
}];

/// How many seeds are played; more are a campaign.
const SEEDS_VARIABLE: &str = "BERTH_FAULT_SEEDS";
const SEEDS_DEFAULT: u64 = 2;

/// Retries and rests add up, and a supervisor starts a scheduler anew that has lost its Lease.
const STORM_WITHIN: Duration = Duration::from_secs(240);

const N_GANGS: usize = 4;
const GANG_SIZE: usize = 20;
const N_SINGLES: usize = 160;
const N_URGENT: usize = 3;

fn storms(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let n_seeds = match env::var(SEEDS_VARIABLE) {
        Ok(text) => text.parse().context("BERTH_FAULT_SEEDS is a number")?,
        Err(_) => SEEDS_DEFAULT,
    };
    for seed in 0..n_seeds {
        kill_all(cx);
        let faulty = Faulty::start(&cx.world.testbed, &cx.world.api, seed)?;
        cx.world.through = Some(faulty.kubeconfig().to_owned());
        let result = storm(cx, &faulty, seed);
        println!("faults: seed {seed}: {}", faulty.tally());
        cx.world.through = None;
        kill_all(cx);
        result.with_context(|| format!("seed {seed}; the scheduler said: {}", cx.said()))?;
        cx.clear()?;
    }
    Ok(())
}

/// Fills all 240 GPUs, then lets urgent work in, which takes three whole nodes.
fn storm(cx: &mut Cx<'_>, faulty: &Faulty, seed: u64) -> anyhow::Result<()> {
    cx.world.start()?;
    let gang = |at: usize| format!("gang-{seed}-{at}-");
    for at in 0..N_GANGS {
        let name = gang(at);
        let group = name.trim_end_matches('-');
        cx.make(POD_GROUPS, &pod_group(group, GANG_SIZE))?;
        let more = super::object::with(in_group(group), &priority("low"));
        cx.pods(&pods(&name, GANG_SIZE, 1, &more))?;
    }
    cx.pods(&pods("single", N_SINGLES, 1, &priority("low")))?;
    cx.until_supervised(STORM_WITHIN, "all 240 GPUs held", |seen| {
        seen.n_bound("") == N_GANGS * GANG_SIZE + N_SINGLES
    })?;
    cx.pods(&pods("urgent", N_URGENT, 8, &priority("high")))?;
    let is_whole = |seen: &Seen<'_>, at: usize| matches!(seen.n_bound(&gang(at)), 0 | GANG_SIZE);
    cx.until_supervised(
        STORM_WITHIN,
        "urgent work bound, and gangs whole or gone",
        |seen| seen.n_bound("urgent") == N_URGENT && (0..N_GANGS).all(|at| is_whole(seen, at)),
    )?;
    faulty.behave();
    cx.pods(&pods("late", 1, 0, &json!({})))?;
    cx.until_supervised(STORM_WITHIN, "work after the storm bound", |seen| {
        seen.n_bound("late") == 1
    })
}
