//! Damaged dumps of every source kind through readers, rules and renderers.
//!
//! `cargo run --release -p berth-audit --example fuzz -- --seeds N --seed FROM` prints an object with
//! `passed` (a count) and `failures`, a list of `{"seed", "message"}`, as the simulator's fuzzer does;
//! `cargo xtask fuzz --target audit` runs it. A panic is a failure, and so is a dump that takes long.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "it reads its arguments, the clock and the examples, and prints"
)]

#[path = "../tests/it/damage.rs"]
mod damage;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A dump of some kilobytes takes milliseconds; this is far beyond what a busy machine explains.
const LONG: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let number = |name: &str, default: u64| {
        let mut words = std::env::args().skip_while(|word| word != name).skip(1);
        words
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(default)
    };
    let (seeds, from) = (number("--seeds", 100), number("--seed", 0));
    let samples = damage::samples();
    let mut failures: Vec<Value> = Vec::new();
    for seed in from..from.saturating_add(seeds) {
        let begun = Instant::now();
        let files = damage::damaged(&samples, seed);
        let outcome = catch_unwind(AssertUnwindSafe(|| damage::audited(&files)));
        let message = match outcome {
            Ok(()) if begun.elapsed() < LONG => continue,
            Ok(()) => format!("it took {} s", begun.elapsed().as_secs()),
            Err(panic) => said(panic.as_ref()),
        };
        failures.push(json!({"seed": seed, "message": message}));
    }
    let passed = seeds - failures.len() as u64;
    let is_clean = failures.is_empty();
    println!("{}", json!({"passed": passed, "failures": failures}));
    ExitCode::from(u8::from(!is_clean))
}

fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked").to_owned()
}
