//! Named, splittable streams of pseudo-random numbers.
//!
//! Invariant: what a stream yields depends on its seed and its path of names alone, never on what
//! other streams drew, so adding an object to a simulation doesn't shift the draws of another.
//! The generator is xoshiro256** seeded through SplitMix64 (Blackman and Vigna, "Scrambled linear
//! pseudorandom number generators", ACM TOMS 2021). Not here: entropy; and nothing cryptographic.

/// A deterministic stream of pseudo-random numbers.
///
/// ```
/// use berth_core::stream::Stream;
/// let root = Stream::from_seed(42);
/// let mut arrivals = root.child("arrivals").child_n(7);
/// assert_eq!(arrivals.next_u64(), root.child("arrivals").child_n(7).next_u64());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    origin: u64,
    state: [u64; 4],
}

impl Stream {
    /// The root stream of a run.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut mixer = seed;
        let state = std::array::from_fn(|_| split_mix(&mut mixer));
        Self {
            origin: seed,
            state,
        }
    }

    /// The stream for the purpose `name` below this one, whatever this one has drawn so far.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        // FNV-1a over the name, folded into the parent's origin.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        self.descend(hash)
    }

    /// The stream of object number `n` below this one.
    #[must_use]
    pub fn child_n(&self, n: u64) -> Self {
        self.descend(n ^ 0x5bd1_e995_9e37_79b9)
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform index in `0..n` (Lemire's multiply-shift with rejection, so without bias).
    ///
    /// # Panics
    /// If `n` is zero: there is nothing to choose from.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "a choice needs at least one candidate");
        let threshold = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.next_u64()) * u128::from(n);
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A uniform float in `[0, 1)` with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// An exponentially distributed float with the given mean; for waiting times.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// A standard normal float (Box-Muller, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    fn descend(&self, key: u64) -> Self {
        let mut mixer = self.origin ^ key.rotate_left(25);
        let seed = split_mix(&mut mixer) ^ key;
        Self::from_seed(seed)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_does_not_depend_on_what_its_parent_drew() {
        let fresh = Stream::from_seed(1);
        let mut used = fresh.clone();
        used.next_u64();
        assert_eq!(fresh.child("a"), used.child("a"));
        assert_ne!(fresh.child("a"), fresh.child("b"));
        assert_ne!(fresh.child_n(1), fresh.child_n(2));
        assert_ne!(fresh.child("a").child("b"), fresh.child("b").child("a"));
    }

    #[test]
    fn choices_are_uniform_and_in_range() {
        let mut stream = Stream::from_seed(7);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[stream.below(7) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&n| (9_500..10_500).contains(&n)),
            "{counts:?}"
        );
        assert!((0..1000).all(|_| (0.0..1.0).contains(&stream.unit())));
    }

    #[test]
    fn the_generator_matches_its_reference() {
        // First outputs of xoshiro256** for the state 1, 2, 3, 4 (the authors' C code).
        let mut stream = Stream {
            origin: 0,
            state: [1, 2, 3, 4],
        };
        let expected = [11520, 0, 1_509_978_240, 1_215_971_899_390_074_240];
        assert_eq!(std::array::from_fn(|_| stream.next_u64()), expected);
    }

    #[test]
    fn means_are_what_they_say() {
        let mut stream = Stream::from_seed(3);
        let n = 100_000;
        let mean = (0..n).map(|_| stream.exponential(5.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 5.0).abs() < 0.1, "{mean}");
        let normal = (0..n).map(|_| stream.normal()).sum::<f64>() / f64::from(n);
        assert!(normal.abs() < 0.02, "{normal}");
    }
}
