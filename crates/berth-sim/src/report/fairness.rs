//! How evenly GPU time was divided among users.

/// Jain's index over received / demanded, each at most 1 (Jain, Chiu, Hawe, "A Quantitative Measure
/// of Fairness and Discrimination", DEC-TR-301, 1984); 1 without users.
pub(crate) fn jain(received: &[f64], demanded: &[f64]) -> f64 {
    let satisfied = || received.iter().zip(demanded).map(|(r, d)| (r / d).min(1.0));
    let (sum, squares) = satisfied().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (received.len() as f64 * squares)
    }
}

/// The part of all GPU time received that max-min fairness would have given to other users.
pub(crate) fn share_error(received: &[f64], demanded: &[f64]) -> f64 {
    let total: f64 = received.iter().sum();
    if total == 0.0 {
        return 0.0;
    }
    let level = water_level(demanded, total);
    let misplaced: f64 = received
        .iter()
        .zip(demanded)
        .map(|(r, d)| (r - d.min(level)).abs())
        .sum();
    misplaced / (2.0 * total)
}

/// The height up to which every user is served so that `total` is used up.
fn water_level(demanded: &[f64], total: f64) -> f64 {
    let mut ascending = demanded.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    let mut left = total;
    for (served, demand) in ascending.iter().enumerate() {
        let share = left / (ascending.len() - served) as f64;
        if *demand > share {
            return share;
        }
        left -= demand;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_service_is_fair_whatever_the_demand() {
        assert_eq!(jain(&[1.0, 5.0], &[1.0, 5.0]), 1.0);
        assert_eq!(share_error(&[1.0, 5.0], &[1.0, 5.0]), 0.0);
        assert_eq!(share_error(&[2.0, 2.0], &[10.0, 3.0]), 0.0);
        assert_eq!(share_error(&[3.0, 1.0], &[10.0, 1.0]), 0.0);
    }

    #[test]
    fn one_user_with_everything_is_as_unfair_as_it_gets() {
        assert_eq!(jain(&[4.0, 0.0, 0.0, 0.0], &[4.0; 4]), 0.25);
        assert_eq!(share_error(&[4.0, 0.0, 0.0, 0.0], &[4.0; 4]), 0.75);
        assert_eq!(jain(&[], &[]), 1.0);
        assert_eq!(share_error(&[], &[]), 0.0);
    }
}
