//! MIG profiles of a card by its memory.
//!
//! Every data-centre card with seven compute slices divides alike: instances of 1, 1, 2, 3, 4 and 7
//! compute slices over 1, 2, 2, 4, 4 and 8 memory slices, with the same start positions; the names
//! carry the memory rounded to whole GB (NVIDIA MIG User Guide, "GPU Instance Profiles" of
//! A100-40GB, A100-80GB, H100-80GB, H100-96GB, H200-141GB and B200-180GB). Not here: A30 and other
//! cards with four compute slices, which divide differently.

use berth_core::amount::Bytes;
use berth_core::model::gpu::ModelSet;
use berth_core::model::mig::MigProfile;

/// The smallest card that divides into seven compute slices.
pub const MEMORY_MIN: Bytes = Bytes::from_gib(40);

/// Compute slices, memory slices and start positions of each profile.
const TABLE: [(u8, u8, &[u8]); 6] = [
    (1, 1, &[0, 1, 2, 3, 4, 5, 6]),
    (1, 2, &[0, 2, 4, 6]),
    (2, 2, &[0, 2, 4]),
    (3, 4, &[0, 4]),
    (4, 4, &[0]),
    (7, 8, &[0]),
];

/// The profiles of a card with `memory`, for `models`; none below [`MEMORY_MIN`].
#[must_use]
pub fn profiles(memory: Bytes, models: ModelSet) -> Vec<MigProfile> {
    if memory < MEMORY_MIN {
        return Vec::new();
    }
    let gib = memory.0 / Bytes::GIB.0;
    let profile = |&(compute_slices, memory_slices, starts): &(u8, u8, &[u8])| {
        let eighths = gib * i64::from(memory_slices);
        MigProfile {
            // Rounded half up, as NVIDIA's names are: 141 GB gives 18, 35, 71.
            name: format!("{compute_slices}g.{}gb", (eighths + 4) / 8).into(),
            models,
            compute_slices,
            memory_slices,
            memory: Bytes(memory.0 / 8 * i64::from(memory_slices)),
            starts: starts.to_vec(),
        }
    };
    TABLE.iter().map(profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_vendor() {
        let check = |gib, names: [&str; 6]| {
            let found = profiles(Bytes::from_gib(gib), ModelSet::ANY);
            let found: Vec<&str> = found.iter().map(|profile| &*profile.name).collect();
            assert_eq!(found, names);
        };
        check(
            40,
            [
                "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb",
            ],
        );
        check(
            80,
            [
                "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb",
            ],
        );
        check(
            96,
            [
                "1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb",
            ],
        );
        check(
            141,
            [
                "1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb",
            ],
        );
        check(
            180,
            [
                "1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb",
            ],
        );
    }

    #[test]
    fn the_80_gb_card_agrees_with_the_core() {
        let ours = profiles(Bytes::from_gib(80), ModelSet::ANY);
        assert_eq!(ours, berth_core::model::mig::profiles_80gb(ModelSet::ANY));
    }

    #[test]
    fn small_cards_have_no_profiles_here() {
        assert!(profiles(Bytes::from_gib(24), ModelSet::ANY).is_empty());
        assert!(profiles(Bytes::ZERO, ModelSet::ANY).is_empty());
    }
}
