//! A reader that counts what passes, and stops at the bounds: size, and growth in unpacking.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::limits::{ENTRY_BYTES_MAX, EXPANSION_FREE_BYTES, EXPANSION_MAX};

/// Counts the bytes that go into a decompressor.
pub(super) struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

/// Stops where a decompressor gives too much for what went in, or too much at all.
pub(super) struct Guard<R> {
    inner: R,
    n_in: Rc<Cell<u64>>,
    n_out: u64,
}

impl<R> Counted<R> {
    /// The reader and its count.
    pub(super) fn new(inner: R) -> (Self, Rc<Cell<u64>>) {
        let count = Rc::new(Cell::new(0));
        (
            Self {
                inner,
                count: Rc::clone(&count),
            },
            count,
        )
    }
}

impl<R> Guard<R> {
    /// Guards the output `inner` of a decompressor whose input is counted in `n_in`.
    pub(super) fn new(inner: R, n_in: Rc<Cell<u64>>) -> Self {
        Self {
            inner,
            n_in,
            n_out: 0,
        }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.set(self.count.get() + n as u64);
        Ok(n)
    }
}

impl<R: Read> Read for Guard<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.n_out += n as u64;
        if self.n_out > ENTRY_BYTES_MAX {
            return Err(io::Error::other("it is larger than anything that is read"));
        }
        let bound = EXPANSION_FREE_BYTES.max(self.n_in.get().saturating_mul(EXPANSION_MAX));
        if self.n_out > bound {
            return Err(io::Error::other(
                "it grows in unpacking as only archive bombs do",
            ));
        }
        Ok(n)
    }
}
