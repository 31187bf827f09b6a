//! Virtual time as a function of real time.
//!
//! Invariant: the target never goes back, stands still while paused, and never passes the end that
//! the run was given, so that equal runs end at the same instant. Not here: reading the clock.

use std::time::{Duration, Instant};

use berth_core::time::Time;

use super::scaled;

/// What the virtual clock should show.
#[derive(Debug, Clone)]
pub(crate) struct VirtualClock {
    base: Time,
    since: Instant,
    speed: f64,
    flow: Flow,
    end: Option<Time>,
    deadline: Option<Instant>,
}

/// Whether virtual time passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It passes.
    Running,
    /// It stands still.
    Paused,
}

impl VirtualClock {
    /// A clock that shows `start` at `now` and runs for `for_` of real time.
    pub(crate) fn new(start: Time, speed: f64, for_: Option<Duration>, now: Instant) -> Self {
        Self {
            base: start,
            since: now,
            speed,
            flow: Flow::Running,
            end: for_.map(|real| start + scaled(real, speed)),
            deadline: for_.and_then(|real| now.checked_add(real)),
        }
    }

    /// What the clock should show at `now`.
    pub(crate) fn target(&self, now: Instant) -> Time {
        let target = match self.flow {
            Flow::Paused => self.base,
            Flow::Running => {
                self.base + scaled(now.saturating_duration_since(self.since), self.speed)
            }
        };
        self.end.map_or(target, |end| target.min(end))
    }

    /// Whether the real time is up at `now`.
    pub(crate) fn is_over(&self, now: Instant) -> bool {
        self.deadline.is_some_and(|deadline| now >= deadline)
    }

    /// How long until the real time is up, at `now`.
    pub(crate) fn left(&self, now: Instant) -> Option<Duration> {
        self.deadline
            .map(|deadline| deadline.saturating_duration_since(now))
    }

    /// Lets time pass or stand still from `now` on.
    pub(crate) fn set_flow(&mut self, flow: Flow, now: Instant) {
        self.base = self.target(now);
        self.since = now;
        self.flow = flow;
    }

    /// Whether virtual time passes.
    pub(crate) fn flow(&self) -> Flow {
        self.flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_a_second_for_a_minute_is_sixty_hours_and_no_more() {
        let now = Instant::now();
        let clock = VirtualClock::new(Time::ZERO, 3600.0, Some(Duration::from_secs(60)), now);
        let at = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(clock.target(at(1)), Time::from_secs(3600));
        assert!(!clock.is_over(at(59)));
        assert!(clock.is_over(at(60)));
        assert_eq!(clock.target(at(61)), Time::from_secs(60 * 3600));
    }

    #[test]
    fn paused_time_stands_still_and_goes_on_where_it_stood() {
        let now = Instant::now();
        let mut clock = VirtualClock::new(Time::ZERO, 10.0, None, now);
        let at = |seconds| now + Duration::from_secs(seconds);
        clock.set_flow(Flow::Paused, at(2));
        assert_eq!(clock.target(at(9)), Time::from_secs(20));
        clock.set_flow(Flow::Running, at(10));
        assert_eq!(clock.target(at(11)), Time::from_secs(30));
    }
}
