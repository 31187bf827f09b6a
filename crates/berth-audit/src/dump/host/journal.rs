//! Lines of journals and kernel rings that rules look for; everything else is skipped.
//!
//! Adding a text to look for is one line in `NEEDLES`.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use crate::dump::place::Place;
use crate::dump::text::Text;
use crate::limits::JOURNAL_LINES_MAX;

/// A text that rules look for in journals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Needle {
    /// A GPU error of the kernel driver.
    Xid,
    /// The store has lost its leader.
    NoDqliteLeader,
    /// A request to the store took too long.
    DeadlineExceeded,
    /// etcd waited for the disk.
    SlowFdatasync,
    /// A lease was lost, so a component starts again.
    LeaseLost,
    /// containerd does not know a runtime handler.
    NoRuntime,
    /// A pod was refused because of its devices.
    UnexpectedAdmission,
    /// Time that Felix needed to apply policy.
    FelixApply,
    /// Memory ran out.
    OutOfMemory,
    /// The store takes no more writes.
    NoSpace,
    /// A certificate is out of date.
    CertificateExpired,
}

/// Each needle and how a line shows it.
const NEEDLES: &[(Needle, &str)] = &[
    (Needle::Xid, "NVRM: Xid"),
    (
        Needle::NoDqliteLeader,
        "no available dqlite leader server found",
    ),
    (Needle::DeadlineExceeded, "context deadline exceeded"),
    (Needle::SlowFdatasync, "slow fdatasync"),
    (Needle::LeaseLost, "failed to renew lease"),
    (Needle::NoRuntime, "no runtime for"),
    (Needle::UnexpectedAdmission, "UnexpectedAdmissionError"),
    (Needle::FelixApply, "msecToApply="),
    (Needle::OutOfMemory, "Out of memory: Killed process"),
    (Needle::NoSpace, "mvcc: database space exceeded"),
    (Needle::CertificateExpired, "certificate has expired"),
];

/// Finds lines with any needle in one pass: all but a few have none.
static ANY: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let texts = NEEDLES.iter().map(|(_, text)| text);
    AhoCorasick::new(texts).expect("a dozen short texts make a small automaton")
});

/// Lines found in the journals of one host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Journal {
    /// The lines, in the order of reading.
    pub lines: Vec<JournalLine>,
    /// Lines that matched beyond [`JOURNAL_LINES_MAX`] of one journal.
    pub n_more: u64,
    /// Lines that were looked at; 0 where the report has no journal.
    pub n_read: u64,
}

/// A line that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// What it shows.
    pub needle: Needle,
    /// The line, cut at 400 bytes.
    pub text: Text,
    /// Where it stands.
    pub place: Place,
}

/// Journal lines are cut here: what they show stands at their start.
const TEXT_BYTES_MAX: usize = 400;

impl Journal {
    /// Lines that show `needle`.
    pub fn of(&self, needle: Needle) -> impl Iterator<Item = &JournalLine> {
        self.lines.iter().filter(move |line| line.needle == needle)
    }

    /// Looks at one line.
    pub(crate) fn look(&mut self, line: &[u8], place: Place) {
        self.n_read += 1;
        if ANY.is_match(line) {
            self.keep(String::from_utf8_lossy(line).trim_end(), place);
        }
    }

    /// Keeps a line for each needle that it shows.
    fn keep(&mut self, line: &str, place: Place) {
        let found = NEEDLES
            .iter()
            .filter(|(_, text)| memchr::memmem::find(line.as_bytes(), text.as_bytes()).is_some());
        for (needle, _) in found {
            if self.lines.len() >= JOURNAL_LINES_MAX {
                self.n_more += 1;
                continue;
            }
            let end = line.floor_char_boundary(TEXT_BYTES_MAX.min(line.len()));
            self.lines.push(JournalLine {
                needle: *needle,
                text: line[..end].into(),
                place,
            });
        }
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.n_more += other.n_more;
        self.n_read += other.n_read;
    }
}
