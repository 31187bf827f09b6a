//! The draws of Go's `math/rand` version 1, from its first 607 outputs on.
//!
//! The generator is an additive lagged Fibonacci: x[i] = x[i-607] + x[i-273] mod 2^64, so the first
//! 607 outputs of a seed determine all later ones. Invariant: each method consumes the generator
//! exactly as Go does. Not here: seeding.

/// Outputs that determine the rest.
const LAG: usize = 607;
/// The nearer of the two terms of the recurrence.
const TAP: usize = 273;

/// Go's `math/rand` version 1 generator of one seed.
#[derive(Debug, Clone)]
pub struct GoRand {
    ring: Box<[u64; LAG]>,
    next: usize,
}

impl GoRand {
    /// The generator whose first 607 outputs are `bytes`, as little-endian 64-bit words; `None`
    /// unless there are exactly 4,856 bytes.
    #[must_use]
    pub fn from_first_outputs(bytes: &[u8]) -> Option<Self> {
        if bytes.len() != LAG * 8 {
            return None;
        }
        let mut ring = Box::new([0; LAG]);
        for (word, chunk) in ring.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().expect("chunks of 8 bytes"));
        }
        Some(Self { ring, next: 0 })
    }

    /// `Uint64`.
    pub fn uint64(&mut self) -> u64 {
        // Slot `next` holds x[i] on the first round and x[i-607] afterwards; each read refreshes
        // it for the next round, when x[i-273+607] = x[i+334] is still of this round.
        let at = self.next % LAG;
        if self.next >= LAG {
            let tap = self.ring[(at + LAG - TAP) % LAG];
            self.ring[at] = self.ring[at].wrapping_add(tap);
        }
        self.next += 1;
        self.ring[at]
    }

    /// `Int63`.
    pub fn int63(&mut self) -> i64 {
        i64::try_from(self.uint64() & (u64::MAX >> 1)).expect("63 bits")
    }

    /// `Uint32`.
    pub fn uint32(&mut self) -> u32 {
        u32::try_from(self.int63() >> 31).expect("32 bits")
    }

    /// `Int31`.
    pub fn int31(&mut self) -> i32 {
        i32::try_from(self.int63() >> 32).expect("31 bits")
    }

    /// `Intn(n)` for `0 < n < 2^31`: a mask for powers of two, else rejection below the largest
    /// multiple of `n`.
    pub fn intn(&mut self, n: usize) -> usize {
        let n = i32::try_from(n).expect("lists are bounded");
        assert!(n > 0, "a draw needs something to draw from");
        if n & (n - 1) == 0 {
            return (self.int31() & (n - 1)) as usize;
        }
        let most = i32::MAX - ((1u32 << 31) % n.unsigned_abs()) as i32;
        loop {
            let drawn = self.int31();
            if drawn <= most {
                return (drawn % n) as usize;
            }
        }
    }

    /// The index draw of `Shuffle`: Lemire's multiply-shift over `Uint32`.
    fn int31n(&mut self, n: usize) -> usize {
        let n = u32::try_from(n).expect("lists are bounded");
        let mut wide = u64::from(self.uint32()) * u64::from(n);
        let threshold = n.wrapping_neg() % n;
        while (wide as u32) < threshold {
            wide = u64::from(self.uint32()) * u64::from(n);
        }
        (wide >> 32) as usize
    }

    /// `Shuffle`.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for i in (1..list.len()).rev() {
            let j = self.int31n(i + 1);
            list.swap(i, j);
        }
    }

    /// `Perm(n)`.
    pub fn perm(&mut self, n: usize) -> Vec<usize> {
        let mut order = vec![0; n];
        for i in 0..n {
            let j = self.intn(i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_outputs_follow_the_recurrence() {
        let first: Vec<u64> = (0..LAG as u64)
            .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let bytes: Vec<u8> = first.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut rand = GoRand::from_first_outputs(&bytes).expect("607 words");
        let mut expected = first;
        for i in LAG..3000 {
            expected.push(expected[i - LAG].wrapping_add(expected[i - TAP]));
        }
        assert!(expected.into_iter().all(|word| word == rand.uint64()));
        assert!(GoRand::from_first_outputs(&bytes[1..]).is_none());
    }

    #[test]
    fn permutations_and_shuffles_lose_nothing() {
        let bytes: Vec<u8> = (0..LAG as u64)
            .flat_map(|n| (n << 40).to_le_bytes())
            .collect();
        let mut rand = GoRand::from_first_outputs(&bytes).expect("607 words");
        let mut order = rand.perm(100);
        rand.shuffle(&mut order);
        order.sort_unstable();
        assert!(order.into_iter().eq(0..100));
    }
}
