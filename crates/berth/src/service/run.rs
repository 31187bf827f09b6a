//! The thread of the service: step up to the present, publish, look whether to stop.
//!
//! Invariant: it never waits for a reader, and looks at [`Control`] at least every
//! [`SLICE`](super::SLICE). Not here: threads and channels (the service makes them).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_core::cow::CowVec;
use berth_core::id::UserId;
use berth_core::invariant::Violation;
use berth_core::model::node::Node;
use berth_core::sched::scheduler::{Scheduler, Step};
use berth_core::sched::turns;
use berth_core::time::{Span, Time};
use tokio::sync::watch;

use super::clock::{Flow, VirtualClock};
use super::control::{Control, Stop};
use super::events::Ring;
use super::published::{Books, Pace, Published, Rates};
use super::tally::{Shares, Tally, next_sample};
use super::{Feed, LAST_STRETCH, Options, PUBLISH_EVERY, SLICE};

/// Publications that rates in real time are taken over: some seconds.
const PUBLICATIONS_MAX: usize = 25;

/// Samples that rates in virtual time are taken over: an hour.
const SAMPLES_MAX: usize = 12;

/// The longest sleep when there is nothing to do, so that slow virtual time moves smoothly too.
const REST: Duration = Duration::from_millis(20);

/// The state of the thread.
#[derive(Debug)]
pub(super) struct Runner<C> {
    scheduler: Scheduler<C>,
    options: Options,
    clock: VirtualClock,
    control: Arc<Control>,
    now: Time,
    next_sample: Time,
    tally: Tally,
    ring: Ring,
    seen_nodes: CowVec<Arc<Node>>,
    publications: Window<PUBLICATIONS_MAX>,
    samples: Window<SAMPLES_MAX>,
    users: BTreeSet<UserId>,
    number: u64,
    books: Books,
}

/// The latest marks, at most `N` of them.
#[derive(Debug, Default)]
struct Window<const N: usize>(VecDeque<Mark>);

/// Counters at one moment, to take rates from.
#[derive(Debug, Clone, Copy)]
struct Mark {
    real: Instant,
    now: Time,
    placed: u64,
    completed: u64,
    decisions: u64,
}

/// How far a slice came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Up to the present.
    CaughtUp,
    /// Not quite; there is more to do.
    Behind,
    /// The books don't balance; nothing more is done.
    Broken,
}

impl<C: Feed> Runner<C> {
    pub(super) fn new(
        scheduler: Scheduler<C>,
        options: Options,
        clock: VirtualClock,
        control: Arc<Control>,
    ) -> Self {
        let start = options.start;
        let seen_nodes = scheduler.index().nodes().clone();
        let mut samples = Window::default();
        let real = Instant::now();
        samples.push(Mark {
            real,
            now: start,
            placed: 0,
            completed: 0,
            decisions: 0,
        });
        Self {
            scheduler,
            clock,
            control,
            now: start,
            next_sample: next_sample(start, start),
            tally: Tally::default(),
            ring: Ring::default(),
            seen_nodes,
            publications: Window::default(),
            samples,
            users: BTreeSet::new(),
            number: 0,
            books: Books::Balanced,
            options,
        }
    }

    /// Runs until it is stopped or its time is up, and publishes the last view at the end.
    pub(super) fn run(&mut self, sender: &watch::Sender<Arc<Published>>) {
        // However this thread ends, those who wait for it learn of it.
        let control = Arc::clone(&self.control);
        let _stopped = StopOnDrop(&control);
        let mut published = Instant::now();
        loop {
            let wish = self.control.wish();
            let at = Instant::now();
            if self.clock.flow() != wish.flow {
                self.clock.set_flow(wish.flow, at);
            }
            let progress = self.slice(at + SLICE);
            let after = Instant::now();
            if wish.stop == Stop::Now || self.is_done(progress, after) {
                break;
            }
            if after.saturating_duration_since(published) >= PUBLISH_EVERY {
                sender.send_replace(Arc::new(self.view()));
                published = after;
            }
            if progress != Progress::Behind {
                let rest = self
                    .clock
                    .left(after)
                    .map_or(REST, |left| left.clamp(Duration::from_millis(1), REST));
                self.control.wait(wish, rest);
            }
        }
        sender.send_replace(Arc::new(self.view()));
    }

    fn is_done(&self, progress: Progress, at: Instant) -> bool {
        let is_late = || {
            self.clock
                .is_over(at.checked_sub(LAST_STRETCH).unwrap_or(at))
        };
        self.clock.is_over(at)
            && match progress {
                Progress::CaughtUp => {
                    self.clock.flow() == Flow::Paused || self.lag(at) == Span::ZERO || is_late()
                }
                Progress::Behind => is_late(),
                Progress::Broken => true,
            }
    }

    /// Steps towards the present, until it is reached or `until` has come.
    fn slice(&mut self, until: Instant) -> Progress {
        if self.books != Books::Balanced {
            return Progress::Broken;
        }
        let target = self.clock.target(Instant::now());
        loop {
            let stop = target.min(self.next_sample);
            let before = Instant::now();
            match self.scheduler.step(stop) {
                Ok(Some(step)) => {
                    let after = Instant::now();
                    self.take(&step, after.saturating_duration_since(before));
                    if after >= until {
                        return Progress::Behind;
                    }
                }
                Ok(None) => {
                    self.now = self.now.max(stop);
                    if stop == self.next_sample {
                        self.sample();
                    }
                    if stop == target {
                        return Progress::CaughtUp;
                    }
                    if Instant::now() >= until {
                        return Progress::Behind;
                    }
                }
                Err(violations) => {
                    self.books =
                        Books::Broken(violations.iter().map(Violation::to_string).collect());
                    return Progress::Broken;
                }
            }
        }
    }

    fn take(&mut self, step: &Step, real: Duration) {
        self.now = self.now.max(step.now);
        self.tally.cycle(real);
        let decisions = &step.decisions;
        self.tally.placed += decisions.binds.len() as u64;
        self.tally.decisions += (decisions.binds.len() + decisions.evictions.len()) as u64;
        let index = self.scheduler.index();
        for bind in &decisions.binds {
            let Some(pod) = index.pod(bind.pod) else {
                continue;
            };
            self.users.insert(pod.spec.user);
            if pod.evictions == 0 {
                self.tally.waited(step.now.since(pod.spec.created));
            }
        }
        self.ring.note_step(step, index);
        self.note_nodes();
    }

    fn note_nodes(&mut self) {
        let index = self.scheduler.index();
        self.ring.note_nodes(self.now, &self.seen_nodes, index);
        self.seen_nodes = index.nodes().clone();
    }

    fn sample(&mut self) {
        let shares = Shares::of(self.scheduler.index(), &self.options.profile.workload);
        self.tally.shares.add(shares);
        let completed = self.scheduler.cluster.totals().completed;
        self.samples.push(self.mark(Instant::now(), completed));
        self.next_sample = next_sample(self.options.start, self.next_sample);
    }

    fn lag(&self, at: Instant) -> Span {
        self.clock.target(at).since(self.now)
    }

    fn mark(&self, real: Instant, completed: u64) -> Mark {
        let (placed, decisions) = (self.tally.placed, self.tally.decisions);
        Mark {
            real,
            now: self.now,
            placed,
            completed,
            decisions,
        }
    }

    /// The view of this moment.
    pub(super) fn view(&mut self) -> Published {
        let at = Instant::now();
        let totals = self.scheduler.cluster.totals();
        let mark = self.mark(at, totals.completed);
        self.publications.push(mark);
        self.number += 1;
        let index = self.scheduler.index();
        // Whoever submitted anything has had a start, which was noted, or still waits.
        let waiting = index.pending().values().flat_map(|group| group.values());
        self.users.extend(
            waiting
                .filter_map(|&pod| index.pod(pod))
                .map(|pod| pod.spec.user),
        );
        Published {
            number: self.number,
            name: self.options.name.as_str().into(),
            policy: self.options.profile.policy.name,
            seed: self.options.seed,
            snapshot: index.clone(),
            waiting: turns::in_order(
                self.options.profile.order,
                index,
                self.now,
                self.scheduler.waiting(),
            )
            .into(),
            pace: Pace {
                start: self.options.start,
                head_start: self.options.head_start,
                now: self.now,
                // Less than a slice is not behind, it is between two looks at the clock.
                lag: Some(self.lag(at))
                    .filter(|&lag| lag > super::scaled(SLICE * 2, self.options.speed))
                    .unwrap_or(Span::ZERO),
                speed: self.options.speed,
                flow: self.clock.flow(),
            },
            tally: self.tally.clone(),
            users_seen: self.users.len() as u64,
            rates: Rates {
                decisions_per_s: self.publications.decisions_per_s(&mark),
                starts_per_min: self.samples.starts_per_min(&mark),
                ends_per_min: self.samples.ends_per_min(&mark),
            },
            totals,
            shares: Shares::of(index, &self.options.profile.workload),
            events: self.ring.newest_first(),
            books: self.books.clone(),
            at,
        }
    }
}

/// Asks for the end when it is dropped, also by a panic.
struct StopOnDrop<'a>(&'a Control);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl<const N: usize> Window<N> {
    fn push(&mut self, mark: Mark) {
        if self.0.len() == N {
            self.0.pop_front();
        }
        self.0.push_back(mark);
    }

    fn decisions_per_s(&self, now: &Mark) -> f64 {
        let Some(then) = self.0.front() else {
            return 0.0;
        };
        let seconds = now.real.saturating_duration_since(then.real).as_secs_f64();
        rate(now.decisions - then.decisions, seconds)
    }

    fn starts_per_min(&self, now: &Mark) -> f64 {
        self.0.front().map_or(0.0, |then| {
            rate(now.placed - then.placed, minutes(then, now))
        })
    }

    fn ends_per_min(&self, now: &Mark) -> f64 {
        self.0.front().map_or(0.0, |then| {
            rate(now.completed - then.completed, minutes(then, now))
        })
    }
}

fn minutes(then: &Mark, now: &Mark) -> f64 {
    now.now.since(then.now).as_secs_f64() / 60.0
}

fn rate(n: u64, over: f64) -> f64 {
    if over > 0.0 { n as f64 / over } else { 0.0 }
}
