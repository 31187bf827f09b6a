//! The console: what the service publishes, made readable.
//!
//! Invariant: terminal, page, API and summary render the same [`view::View`], so they can't
//! disagree; nothing here decides or explains anything itself. Not here: who may see what.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::service::published::Published;

pub(crate) mod glyphs;
pub(crate) mod http;
pub(crate) mod metrics;
pub(crate) mod plain;
pub(crate) mod summary;
pub(crate) mod tui;
pub(crate) mod view;

use view::View;

/// What there is to show.
#[derive(Debug, Clone)]
pub(crate) enum Front {
    /// Nothing yet: the cluster is being listed.
    Listing,
    /// Another scheduler decides; this one is ready to.
    StandingBy,
    /// What this scheduler works on.
    Scheduling(Arc<Console>),
}

/// The latest publication and its view, worked out once for all who look.
#[derive(Debug)]
pub(crate) struct Console {
    latest: watch::Receiver<Arc<Published>>,
    view: Mutex<Option<(u64, Arc<View>)>>,
}

impl Console {
    /// A console over what `latest` receives.
    pub(crate) fn new(latest: watch::Receiver<Arc<Published>>) -> Self {
        Self {
            latest,
            view: Mutex::new(None),
        }
    }

    /// The latest publication.
    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.latest.borrow())
    }

    /// The view of the latest publication.
    ///
    /// Takes some milliseconds for the first who asks; others wait for it instead of repeating it.
    pub(crate) fn view(&self) -> Arc<View> {
        // A panic while the lock was held left the old view or none; both are whole.
        let mut view = self.view.lock().unwrap_or_else(PoisonError::into_inner);
        let published = self.published();
        match &*view {
            Some((number, view)) if *number == published.number => Arc::clone(view),
            _ => {
                let fresh = Arc::new(View::of(&published));
                *view = Some((published.number, Arc::clone(&fresh)));
                fresh
            }
        }
    }
}
