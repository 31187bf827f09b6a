//! The time of the live cluster: wall-clock time that never steps.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use berth_core::time::Time;

/// Milliseconds since the Unix epoch at the start, and monotonic from there: whatever becomes of the
/// machine's clock, decisions see time pass as it does.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Time,
    since: Instant,
}

impl Clock {
    /// A clock that agrees with the machine's now.
    #[must_use]
    pub fn start() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let millis = since_epoch.map_or(0, |since| since.as_millis());
        Self {
            start: Time(i64::try_from(millis).unwrap_or(i64::MAX)),
            since: Instant::now(),
        }
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Time {
        let passed = i64::try_from(self.since.elapsed().as_millis()).unwrap_or(i64::MAX);
        Time(self.start.0.saturating_add(passed))
    }

    /// How long it is until `at`.
    #[must_use]
    pub fn until(&self, at: Time) -> Duration {
        let left = at.0.saturating_sub(self.now().0).max(0);
        Duration::from_millis(left.unsigned_abs())
    }
}
