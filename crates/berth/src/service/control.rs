//! What others may ask of the service: to stop, to pause, to go on.
//!
//! Invariant: a stop can't be taken back. Asking never waits for the thread that is asked.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::clock::Flow;

/// The shared switch.
#[derive(Debug)]
pub(crate) struct Control {
    wish: Mutex<Wish>,
    changed: Condvar,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Whether to stop.
    pub(crate) stop: Stop,
    /// Whether virtual time should pass.
    pub(crate) flow: Flow,
}

/// Whether to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Go on.
    GoOn,
    /// Stop as soon as possible.
    Now,
}

impl Default for Control {
    fn default() -> Self {
        let wish = Wish {
            stop: Stop::GoOn,
            flow: Flow::Running,
        };
        Self {
            wish: Mutex::new(wish),
            changed: Condvar::new(),
        }
    }
}

impl Control {
    /// Asks for the end.
    pub(crate) fn stop(&self) {
        self.change(|wish| wish.stop = Stop::Now);
    }

    /// Lets virtual time stand still, or pass again.
    pub(crate) fn toggle_pause(&self) {
        self.change(|wish| {
            wish.flow = match wish.flow {
                Flow::Running => Flow::Paused,
                Flow::Paused => Flow::Running,
            };
        });
    }

    /// What is asked for now.
    pub(crate) fn wish(&self) -> Wish {
        // A panic while the lock was held can't have left half a wish.
        *self.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the end has been asked for.
    pub(crate) fn is_stopping(&self) -> bool {
        self.wish().stop == Stop::Now
    }

    /// Waits until something else than `known` is asked for, at most for `timeout`.
    pub(crate) fn wait(&self, known: Wish, timeout: Duration) {
        let wish = self.wish.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.changed
                .wait_timeout_while(wish, timeout, |wish| *wish == known),
        );
    }

    fn change(&self, change: impl FnOnce(&mut Wish)) {
        change(&mut self.wish.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}
