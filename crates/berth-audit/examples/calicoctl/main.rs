//! The real `calicoctl ipam check` beside the model that the tests of the audit hold the rules
//! against, on the same random states.
//!
//! `BERTH_CALICOCTL=PATH cargo run -p berth-audit --example calicoctl [-- FROM TO]` serves every
//! state as the API of a cluster on loopback, lets the program check it, and prints every class on
//! which the two differ. Building the program: `go build ./calicoctl/calicoctl` in projectcalico/calico.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "it starts a program, serves it on loopback, and prints"
)]

mod api;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/ipam/model.rs"]
mod model;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../../tests/it/ipam/state.rs"]
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};

use api::Api;
use model::Checked;
use state::State;

/// Names the program.
const PROGRAM: &str = "BERTH_CALICOCTL";

fn main() -> ExitCode {
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// How many states differ.
fn run() -> Result<usize, String> {
    let program = std::env::var(PROGRAM)
        .map_err(|_| format!("{PROGRAM} names no program; set it to a built calicoctl"))?;
    let mut numbers = std::env::args().filter_map(|word| word.parse::<u64>().ok());
    let (from, to) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(2000));
    let api = Api::start().map_err(|error| format!("unable to listen on loopback: {error}"))?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut n_different = 0;
    for seed in from..to {
        let state = State::random(seed);
        api.serve(&state.objects());
        let output = Command::new(&program)
            .args(["ipam", "check", "--show-all-ips", "--show-problem-ips"])
            .arg("--allow-version-mismatch")
            .env("DATASTORE_TYPE", "kubernetes")
            .env("K8S_API_ENDPOINT", api.url())
            .env("KUBECONFIG", "")
            .output()
            .map_err(|error| format!("unable to start {program}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !said.contains("Check complete") {
            let why = String::from_utf8_lossy(&output.stderr);
            return Err(format!("seed {seed}: it did not complete: {said}{why}"));
        }
        let (ours, theirs) = (classes(&Checked::of(&state)), classes(&read(&said)));
        for ((class, ours), (_, theirs)) in ours.iter().zip(&theirs) {
            *counts.entry(class).or_default() += theirs.len();
            if ours != theirs {
                n_different += 1;
                let missed: Vec<_> = theirs.difference(ours).collect();
                let wrongly: Vec<_> = ours.difference(theirs).collect();
                println!("seed {seed}, {class}: missed {missed:?}, wrongly {wrongly:?}");
            }
        }
    }
    let counts: Vec<String> = counts
        .iter()
        .map(|(class, n)| format!("{class}: {n}"))
        .collect();
    println!(
        "seeds {from}..{to}: {n_different} differ; {}",
        counts.join(", ")
    );
    Ok(n_different)
}

fn classes(checked: &Checked) -> [(&'static str, BTreeSet<String>); 6] {
    let texts = |addresses: &BTreeSet<std::net::IpAddr>| {
        addresses.iter().map(ToString::to_string).collect()
    };
    [
        ("leaked", texts(&checked.leaked)),
        ("in no pool", texts(&checked.in_no_pool)),
        ("not allocated", texts(&checked.not_allocated)),
        ("orphaned handles", checked.orphans.clone()),
        ("missing handles", checked.missing.clone()),
        ("invalid blocks", checked.invalid.clone()),
    ]
}

/// What the program printed, by the sentences of its source.
fn read(said: &str) -> Checked {
    let mut checked = Checked::default();
    for line in said.lines().map(str::trim) {
        let first = line.split(' ').next().unwrap_or_default();
        let address = first.parse().ok();
        if let (Some(address), true) = (address, line.contains(" leaked; attrs ")) {
            checked.leaked.insert(address);
        } else if let (Some(address), true) =
            (address, line.ends_with("not in any active IP pool."))
        {
            checked.in_no_pool.insert(address);
        } else if let (Some(address), true) = (address, line.ends_with("has no IPAM allocation.")) {
            checked.not_allocated.insert(address);
        } else if line.ends_with("doesn't have any active IPs.") {
            checked.orphans.insert(first.to_owned());
        } else if line.ends_with("is in use in a block but doesn't exist.") {
            checked.missing.insert(first.to_owned());
        } else if let Some((block, _)) = line
            .strip_prefix("IPAMBlock ")
            .and_then(|rest| rest.split_once(" is invalid: "))
        {
            let range = block
                .trim_start_matches("BlockKey(cidr=")
                .trim_end_matches(')');
            checked.invalid.insert(range.to_owned());
        }
    }
    checked
}
