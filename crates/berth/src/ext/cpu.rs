//! CPU time of this process, for figures that don't depend on what else the machine does.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time that all threads of the process have used so far.
pub(crate) fn time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("a process uses no negative time");
    Duration::new(
        seconds,
        u32::try_from(time.tv_nsec).expect("nanoseconds are below a second"),
    )
}
