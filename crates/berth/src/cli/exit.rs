//! How a command ends: an exit code, or a failure that says what, why and what next.
//!
//! Invariant: every failure names its class in brackets, and the class decides the exit code.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// Exit codes, the same for every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done, or nothing to complain about.
    Done = 0,
    /// Findings, or a negative answer.
    Negative = 1,
    /// The command line asks for something that doesn't exist or can't be.
    Usage = 2,
    /// An input couldn't be read.
    Unreadable = 3,
    /// There was too little evidence for an answer.
    Incomplete = 4,
    /// A defect of Berth, or of the machine under it.
    Internal = 5,
}

/// Why a command has no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    what: String,
    why: Option<String>,
    next: Option<String>,
    broken_pipe: bool,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Exit {
    /// The name of the class in messages.
    const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Negative => "negative",
            Self::Usage => "usage",
            Self::Unreadable => "unreadable",
            Self::Incomplete => "incomplete",
            Self::Internal => "internal",
        }
    }
}

impl Failure {
    /// A failure of the class `exit`; `what` is lower-case without a final full stop.
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: what.into(),
            why: None,
            next: None,
            broken_pipe: false,
        }
    }

    /// The command line asks for what can't be.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// An input can't be read.
    pub(crate) fn unreadable(what: impl Into<String>) -> Self {
        Self::new(Exit::Unreadable, what)
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, why: impl fmt::Display) -> Self {
        self.why = Some(why.to_string());
        self
    }

    /// Adds what the reader can do about it.
    #[must_use]
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The exit code.
    pub(crate) const fn exit(&self) -> Exit {
        self.exit
    }

    /// True where the reader of our output has gone away, which is no fault.
    pub(crate) const fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.exit.name(), self.what)?;
        if let Some(why) = &self.why {
            write!(f, "\n  why:  {why}")?;
        }
        if let Some(next) = &self.next {
            write!(f, "\n  next: {next}")?;
        }
        Ok(())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let broken_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Self {
            broken_pipe,
            ..Self::new(Exit::Internal, "unable to write").because(error)
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<io::Error>() {
            Ok(error) => error.into(),
            Err(error) => Self::new(Exit::Internal, format!("{error:#}"))
                .next("this is a defect of Berth: please report it with the command line"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_why_and_what_next() {
        let failure = Failure::usage("no such thing")
            .because("it is gone")
            .next("take another");
        assert_eq!(
            failure.to_string(),
            "error[usage]: no such thing\n  why:  it is gone\n  next: take another"
        );
        assert_eq!(failure.exit(), Exit::Usage);
    }

    #[test]
    fn a_reader_that_went_away_is_no_fault() {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(Failure::from(gone()).is_broken_pipe());
        assert!(Failure::from(anyhow::Error::from(gone())).is_broken_pipe());
        assert!(!Failure::from(io::Error::from(io::ErrorKind::StorageFull)).is_broken_pipe());
    }
}
