//! What is still to come, counted: whether a world has anything left to show.
//!
//! Invariant: each counter is the number of such events in the heap that will happen. Faults of the
//! plan are not counted, since they would keep an idle world going for ever; once load has ended,
//! they no longer happen. Not here: when.

use crate::world::{Event, Origin};

/// What an event means for the end of the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something that runs will end.
    End,
    /// A caller asked for it.
    Asked,
    /// What the plan broke is mended.
    Repair,
    /// The plan breaks something.
    Fault,
}

/// What is still to come.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outlook {
    ends: usize,
    asked: usize,
    repairs: usize,
    /// Pods alive that will end once they have run.
    finite: usize,
}

impl Outlook {
    /// An event was put into the heap.
    pub(super) fn expect(&mut self, kind: Kind) {
        if let Some(count) = self.count(kind) {
            *count += 1;
        }
    }

    /// An event happened, or won't.
    pub(super) fn strike_off(&mut self, kind: Kind) {
        if let Some(count) = self.count(kind) {
            *count -= 1;
        }
    }

    /// `n` pods with an end were submitted.
    pub(super) fn submitted(&mut self, n: usize) {
        self.finite += n;
    }

    /// A pod with an end has left.
    pub(super) fn left(&mut self) {
        self.finite -= 1;
    }

    /// Whether nothing runs that will end.
    pub(super) fn nothing_ends(&self) -> bool {
        self.ends == 0
    }

    /// Whether nothing can happen any more if nobody arrives: nothing ends, nobody asked for
    /// anything, and no repair could let a pod start that would end.
    pub(super) fn is_over(&self) -> bool {
        self.ends == 0 && self.asked == 0 && (self.repairs == 0 || self.finite == 0)
    }

    fn count(&mut self, kind: Kind) -> Option<&mut usize> {
        match kind {
            Kind::End => Some(&mut self.ends),
            Kind::Asked => Some(&mut self.asked),
            Kind::Repair => Some(&mut self.repairs),
            Kind::Fault => None,
        }
    }
}

/// What `event` means for the end of the world.
pub(super) fn kind_of(event: Event) -> Kind {
    match event {
        Event::PodEnds { .. } | Event::GangEnds { .. } => Kind::End,
        Event::NodeCordoned { .. } | Event::NodeDrained { .. } => Kind::Asked,
        Event::NodeLost {
            by: Origin::Plan, ..
        }
        | Event::GpuFailed {
            by: Origin::Plan, ..
        } => Kind::Fault,
        Event::NodeBack {
            by: Origin::Plan, ..
        }
        | Event::GpuRepaired {
            by: Origin::Plan, ..
        } => Kind::Repair,
        Event::NodeLost {
            by: Origin::Caller, ..
        }
        | Event::GpuFailed {
            by: Origin::Caller, ..
        }
        | Event::NodeBack {
            by: Origin::Caller, ..
        }
        | Event::GpuRepaired {
            by: Origin::Caller, ..
        } => Kind::Asked,
    }
}
