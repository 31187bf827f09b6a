//! Threads that share out a list of runs, with a progress bar where somebody watches.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cli::exit::Failure;
use crate::output;

/// How often the progress bar is drawn without progress, so that its clock moves.
const TICK: Duration = Duration::from_millis(500);

/// Threads that work on a list.
#[derive(Debug)]
pub(crate) struct Crew {
    pool: ThreadPool,
}

/// What a task came to, and how long it took.
#[derive(Debug)]
pub(crate) struct Timed<T> {
    /// Its result.
    pub(crate) result: T,
    /// Wall time.
    pub(crate) wall: Duration,
}

/// How far one task is.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    bar: &'a ProgressBar,
    done: u64,
}

/// Steps in which a task's part of the bar fills.
const PARTS: u64 = 1000;

impl Part<'_> {
    /// Tells that the part `fraction` of the task is done, 0 to 1.
    pub(crate) fn at(&mut self, fraction: f64) {
        // Only the end of the task fills its part.
        self.reach(((fraction * PARTS as f64) as u64).min(PARTS - 1));
    }

    fn reach(&mut self, done: u64) {
        self.bar.inc(done.saturating_sub(self.done));
        self.done = self.done.max(done);
    }
}

impl Crew {
    /// A crew of `jobs` threads, or one thread a core.
    pub(crate) fn new(jobs: Option<NonZeroUsize>) -> Result<Self, Failure> {
        let threads = jobs.map_or(0, NonZeroUsize::get);
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self {
            pool: pool.context("unable to start threads")?,
        })
    }

    /// Does every task; the results stand in the order of the tasks. The first failure in that
    /// order ends it.
    pub(crate) fn run_all<T: Sync, R: Send>(
        &self,
        tasks: &[T],
        run: impl Fn(&T, &mut Part<'_>) -> Result<R, Failure> + Sync,
    ) -> Result<Vec<Timed<R>>, Failure> {
        let bar = progress(tasks.len());
        let timed = |task: &T| {
            let began = Instant::now();
            let mut part = Part { bar: &bar, done: 0 };
            let result = run(task, &mut part)?;
            part.reach(PARTS);
            Ok(Timed {
                result,
                wall: began.elapsed(),
            })
        };
        // One task at a time: runs differ in length by far more than a hand-over costs.
        let results = self
            .pool
            .install(|| tasks.par_iter().with_max_len(1).map(timed).collect());
        bar.finish_and_clear();
        results
    }
}

/// A bar on standard error; hidden where nobody watches.
fn progress(tasks: usize) -> ProgressBar {
    if !output::watched() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{elapsed} {wide_bar} {percent} %, {eta} left")
        .expect("the template is constant");
    let bar = ProgressBar::new(tasks as u64 * PARTS).with_style(style);
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_the_tasks() {
        let crew = Crew::new(NonZeroUsize::new(4)).unwrap();
        let tasks: Vec<u32> = (0..100).collect();
        let results = crew.run_all(&tasks, |n, _| Ok(n * 2)).unwrap();
        assert!(
            results
                .iter()
                .map(|timed| timed.result)
                .eq((0..100).map(|n| n * 2))
        );
    }

    #[test]
    fn a_failure_ends_the_list() {
        let crew = Crew::new(NonZeroUsize::new(2)).unwrap();
        let run = |n: &u32, _: &mut Part<'_>| {
            if *n == 3 {
                Err(Failure::usage("three"))
            } else {
                Ok(*n)
            }
        };
        assert!(crew.run_all(&[1, 2, 3], run).is_err());
    }
}
