//! The service as its readers see it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use berth_core::model::draft::Draft;
use berth_core::model::snapshot::Snapshot;
use berth_core::sched::decisions::Decisions;
use berth_core::sched::scheduler::{Cluster, Scheduler};
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};

use super::control::Control;
use super::{Feed, Options, Service, Totals, scripted};

/// How long a condition may take to come true on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A cluster with news every `period` of virtual time, each of which takes `effort` of real time.
struct Ticking {
    next: Time,
    period: Span,
    effort: Duration,
    ticks: u64,
}

impl Cluster for Ticking {
    fn observe(&mut self, _: &mut Draft, until: Time) -> Option<Time> {
        if self.next > until {
            return None;
        }
        let end = Instant::now() + self.effort;
        while Instant::now() < end {
            std::hint::spin_loop();
        }
        let now = self.next;
        self.next += self.period;
        self.ticks += 1;
        Some(now)
    }

    fn pass(&mut self, _: Time) {}

    fn act(&mut self, _: &Snapshot, _: &Decisions, _: Time) {}
}

impl Feed for Ticking {
    fn totals(&self) -> Totals {
        Totals {
            completed: self.ticks,
            ..Totals::default()
        }
    }
}

fn start(
    period: Span,
    effort: Duration,
    speed: f64,
    for_: Option<Duration>,
) -> (Service, Arc<Control>) {
    let cluster = Ticking {
        next: Time::ZERO + period,
        period,
        effort,
        ticks: 0,
    };
    let profile = scripted::profile();
    let scheduler = Scheduler::new(cluster, Draft::new(), &profile, Stream::from_seed(1));
    let (name, seed) = ("ticking".to_owned(), Some(1));
    let options = Options {
        profile,
        name,
        seed,
        start: Time::ZERO,
        head_start: Span::ZERO,
        speed,
        for_,
    };
    let control = Arc::new(Control::default());
    let service = Service::start(scheduler, options, Arc::clone(&control)).unwrap();
    (service, control)
}

fn wait_until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "the condition never came true");
        std::thread::yield_now();
    }
}

#[test]
fn a_run_of_set_length_ends_at_the_very_instant_and_has_seen_everything() {
    let for_ = Some(Duration::from_millis(100));
    let (service, control) = start(Span::from_mins(1), Duration::ZERO, 36_000.0, for_);
    wait_until(|| control.is_stopping());
    let last = service.finish().unwrap();
    assert_eq!(last.elapsed(), Span::from_hours(1));
    assert_eq!((last.totals.completed, last.tally.cycles), (60, 60));
    assert_eq!(last.pace.lag, Span::ZERO);
}

#[test]
fn a_cluster_that_is_too_slow_lags_and_says_so() {
    // Each second of virtual time takes 5 ms, so that at most 200 of 10,000 pass in a second.
    let (service, control) = start(Span::from_secs(1), Duration::from_millis(5), 10_000.0, None);
    let latest = service.latest();
    wait_until(|| latest.borrow().pace.lag > Span::from_secs(1_000));
    control.stop();
    let last = service.finish().unwrap();
    assert!(last.totals.completed >= 1);
    let passed = i64::try_from(last.totals.completed).unwrap();
    assert_eq!(
        last.elapsed(),
        Span::from_secs(passed),
        "only what was worked through counts"
    );
}

#[test]
fn a_stop_is_obeyed_while_there_is_no_end_of_work() {
    let (service, control) = start(Span(1), Duration::from_micros(200), 1e9, None);
    let latest = service.latest();
    wait_until(|| latest.borrow().number > 1);
    let asked = Instant::now();
    control.stop();
    assert!(service.finish().is_some());
    assert!(asked.elapsed() < PATIENCE);
}

#[test]
fn paused_time_stands_still_for_everyone() {
    let (service, control) = start(Span::from_secs(1), Duration::ZERO, 1_000.0, None);
    let latest = service.latest();
    wait_until(|| latest.borrow().elapsed() > Span::from_secs(5));
    control.toggle_pause();
    wait_until(|| latest.borrow().pace.flow == super::clock::Flow::Paused);
    let (number, stood) = (latest.borrow().number, latest.borrow().elapsed());
    wait_until(|| latest.borrow().number > number + 1);
    assert_eq!(latest.borrow().elapsed(), stood);
    control.toggle_pause();
    wait_until(|| latest.borrow().elapsed() > stood);
    assert!(service.finish().is_some());
}

#[test]
fn a_panic_of_the_cluster_ends_the_service_instead_of_hanging_its_readers() {
    struct Faulty;
    impl Cluster for Faulty {
        fn observe(&mut self, _: &mut Draft, _: Time) -> Option<Time> {
            panic!("on purpose, for a test")
        }
        fn pass(&mut self, _: Time) {}
        fn act(&mut self, _: &Snapshot, _: &Decisions, _: Time) {}
    }
    impl Feed for Faulty {
        fn totals(&self) -> Totals {
            Totals::default()
        }
    }
    let profile = scripted::profile();
    let scheduler = Scheduler::new(Faulty, Draft::new(), &profile, Stream::from_seed(1));
    let (name, seed, start) = ("faulty".to_owned(), Some(1), Time::ZERO);
    let options = Options {
        profile,
        name,
        seed,
        start,
        head_start: Span::ZERO,
        speed: 1.0,
        for_: None,
    };
    let control = Arc::new(Control::default());
    let service = Service::start(scheduler, options, Arc::clone(&control)).unwrap();
    wait_until(|| control.is_stopping());
    assert!(service.finish().is_none());
}
