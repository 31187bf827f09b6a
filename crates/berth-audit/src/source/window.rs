//! A window over a stream: bytes from a kept position on, read on demand, with line numbers.
//!
//! Invariant: the window holds at most one object ([`OBJECT_BYTES_MAX`]) and one chunk. What is kept
//! beyond that is dropped and marked as lost.

use std::io::{self, Read};

use crate::limits::OBJECT_BYTES_MAX;

/// Bytes read at once: large enough that a call a chunk costs nothing, small beside the bounds.
const CHUNK_BYTES_MAX: usize = 256 << 10;
/// Bytes that the first read asks for: most files of a dump are one small object.
const CHUNK_BYTES_MIN: usize = 16 << 10;

/// A window over a stream.
pub(super) struct Window<'a> {
    input: &'a mut dyn Read,
    buffer: Vec<u8>,
    /// The cursor.
    pos: usize,
    /// Where what is kept begins.
    keep: usize,
    /// Bytes of `buffer` that were read.
    end: usize,
    /// Up to where lines are counted.
    counted: usize,
    line: u32,
    is_lost: bool,
    is_at_end: bool,
    error: Option<io::Error>,
}

impl<'a> Window<'a> {
    /// A window at the start of a stream.
    pub(super) fn new(input: &'a mut dyn Read) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            pos: 0,
            keep: 0,
            end: 0,
            counted: 0,
            line: 1,
            is_lost: false,
            is_at_end: false,
            error: None,
        }
    }

    /// The error that ended the stream early, if one did.
    pub(super) fn take_error(&mut self) -> Option<io::Error> {
        self.error.take()
    }

    /// The byte under the cursor; `None` at the end.
    pub(super) fn peek(&mut self) -> Option<u8> {
        if self.pos == self.end && !self.fill() {
            return None;
        }
        Some(self.buffer[self.pos])
    }

    /// What is read and not yet passed; never empty before the end.
    pub(super) fn rest(&mut self) -> &[u8] {
        if self.pos == self.end {
            self.fill();
        }
        &self.buffer[self.pos..self.end]
    }

    /// Moves the cursor over `n` bytes of [`Self::rest`].
    pub(super) fn advance(&mut self, n: usize) {
        self.pos += n;
        debug_assert!(self.pos <= self.end);
    }

    /// Keeps what follows from the cursor on, and forgets what was kept.
    pub(super) fn keep_from_here(&mut self) {
        self.keep = self.pos;
        self.is_lost = false;
    }

    /// How many bytes are kept.
    pub(super) fn kept_len(&self) -> usize {
        self.pos - self.keep
    }

    /// What is kept, from the `from`th byte on; `None` where it was too large to keep.
    pub(super) fn kept(&self, from: usize) -> Option<&[u8]> {
        (!self.is_lost).then(|| &self.buffer[(self.keep + from).min(self.pos)..self.pos])
    }

    /// The 1-based line of the cursor.
    pub(super) fn line(&mut self) -> u32 {
        self.count_to(self.pos);
        self.line
    }

    /// Moves to the first byte that is no blank; `None` at the end.
    pub(super) fn skip_blanks(&mut self) -> Option<u8> {
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return None;
            }
            match rest.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(at) => {
                    let byte = rest[at];
                    self.advance(at);
                    return Some(byte);
                }
                None => {
                    let n = rest.len();
                    self.advance(n);
                }
            }
        }
    }

    /// Keeps one line and moves behind it; false at the end. The line end is kept too.
    pub(super) fn keep_line(&mut self) -> bool {
        self.keep_from_here();
        let mut any = false;
        loop {
            let rest = self.rest();
            if rest.is_empty() {
                return any;
            }
            any = true;
            match memchr::memchr(b'\n', rest) {
                Some(at) => {
                    self.advance(at + 1);
                    return true;
                }
                None => {
                    let n = rest.len();
                    self.advance(n);
                }
            }
        }
    }

    /// Reads on, so that [`Self::rest`] grows; false at the end or at the bound of one object.
    pub(super) fn grow(&mut self) -> bool {
        self.end - self.keep <= OBJECT_BYTES_MAX && self.fill()
    }

    fn count_to(&mut self, to: usize) {
        let n = memchr::memchr_iter(b'\n', &self.buffer[self.counted..to]).count();
        self.line = self
            .line
            .saturating_add(u32::try_from(n).unwrap_or(u32::MAX));
        self.counted = to;
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> bool {
        if self.is_at_end {
            return false;
        }
        if self.pos - self.keep > OBJECT_BYTES_MAX {
            self.is_lost = true;
            self.keep = self.pos;
        }
        self.count_to(self.keep.max(self.counted));
        if self.keep > 0 {
            // Lines are counted up to the cursor at most, so what goes away has been counted.
            self.count_to(self.counted.max(self.keep));
            self.buffer.copy_within(self.keep..self.end, 0);
            self.pos -= self.keep;
            self.end -= self.keep;
            self.counted -= self.keep;
            self.keep = 0;
        }
        let chunk = self.buffer.len().clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
        if self.buffer.len() < self.end + chunk {
            self.buffer.resize(self.end + chunk, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_at_end = true,
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.error = Some(error);
                    self.is_at_end = true;
                }
            }
            return !self.is_at_end;
        }
    }
}
