//! The view for pipes and logs: a line every few seconds on standard error.

use std::time::{Duration, Instant};

use super::Console;
use super::view::figures::Figures;
use super::view::words;
use crate::service::control::Control;

/// Distance of two lines in real time.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The longest sleep, so that the end of the service is seen at once.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Prints lines until the service stops.
pub(crate) fn show(console: &Console, control: &Control) {
    let mut next = Instant::now() + LINE_EVERY;
    while !control.is_stopping() {
        control.wait(control.wish(), LOOK_EVERY);
        if Instant::now() >= next {
            eprintln!("{}", line(&console.view().figures));
            next += LINE_EVERY;
        }
    }
}

/// Waits in silence until the service stops.
pub(crate) fn wait(control: &Control) {
    while !control.is_stopping() {
        control.wait(control.wish(), LOOK_EVERY);
    }
}

/// The state of the cluster in a line.
fn line(figures: &Figures) -> String {
    let pace = if figures.is_late() {
        format!(", {} behind", words::seconds(figures.lag_s))
    } else {
        String::new()
    };
    let out = match figures.gpus_out {
        0 => String::new(),
        n => format!(", {n} GPUs out of order"),
    };
    format!(
        "{}{pace}: {:.1} of {} GPUs held ({:.1} %), {} pods running, {} waiting, {} ended, {} evicted, {:.0} decisions/s{out}",
        figures.clock,
        figures.gpus_held.gpus_f64(),
        figures.gpus,
        figures.allocation_percent,
        figures.pods_running,
        figures.pods_waiting,
        figures.completed,
        figures.evicted,
        figures.decisions_per_s,
    )
}
