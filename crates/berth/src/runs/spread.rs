//! How figures of several seeds spread: mean, quartiles, and curves brought to common points.

/// Quartiles at one point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Quartiles {
    /// Where on the horizontal axis.
    pub(crate) x: f64,
    /// A quarter of the seeds is at most here.
    pub(crate) low: f64,
    /// Half of them.
    pub(crate) median: f64,
    /// Three quarters.
    pub(crate) high: f64,
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum) = (0u32, 0.0);
    for value in values {
        n += 1;
        sum += value;
    }
    (n > 0).then(|| sum / f64::from(n))
}

/// The standard deviation of a sample, with n - 1 below; zero of less than two.
pub(crate) fn sd(values: &[f64]) -> f64 {
    let Some(middle) = mean(values.iter().copied()) else {
        return 0.0;
    };
    let squares: f64 = values
        .iter()
        .map(|value| (value - middle) * (value - middle))
        .sum();
    match values.len() {
        0 | 1 => 0.0,
        n => (squares / (n - 1) as f64).sqrt(),
    }
}

/// Quartiles of several curves at each of `points`; a curve counts only where it is defined.
/// Points of a curve are sorted by x.
pub(crate) fn quartiles(curves: &[Vec<(f64, f64)>], points: &[f64]) -> Vec<Quartiles> {
    let at = |&x: &f64| {
        let mut values: Vec<f64> = curves.iter().filter_map(|c| interpolate(c, x)).collect();
        values.sort_by(f64::total_cmp);
        let quantile = |p| quantile(&values, p);
        (!values.is_empty()).then(|| Quartiles {
            x,
            low: quantile(0.25),
            median: quantile(0.5),
            high: quantile(0.75),
        })
    };
    points.iter().filter_map(at).collect()
}

/// The value of a curve at `x`, by a straight line between its neighbours; `None` outside.
fn interpolate(curve: &[(f64, f64)], x: f64) -> Option<f64> {
    let after = curve.partition_point(|point| point.0 < x);
    let right = curve.get(after)?;
    if right.0 == x {
        return Some(right.1);
    }
    let left = curve.get(after.checked_sub(1)?)?;
    Some(left.1 + (right.1 - left.1) * (x - left.0) / (right.0 - left.0))
}

/// The quantile `p` of sorted values, by a straight line between the two nearest ranks (type 7 of
/// Hyndman and Fan, 1996).
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let rank = p * (sorted.len() - 1) as f64;
    let (below, above) = (rank.floor() as usize, rank.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_of_five_curves() {
        let curve = |height: f64| vec![(0.0, 0.0), (10.0, height)];
        let curves: Vec<_> = [10.0, 20.0, 30.0, 40.0, 50.0].map(curve).into();
        let found = quartiles(&curves, &[5.0, 10.0, 11.0]);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            Quartiles {
                x: 5.0,
                low: 10.0,
                median: 15.0,
                high: 20.0
            }
        );
        assert_eq!(
            found[1],
            Quartiles {
                x: 10.0,
                low: 20.0,
                median: 30.0,
                high: 40.0
            }
        );
    }

    #[test]
    fn mean_of_nothing_is_nothing() {
        assert_eq!(mean([]), None);
        assert_eq!(mean([1.0, 2.0]), Some(1.5));
        assert_eq!(
            (sd(&[]), sd(&[3.0]), sd(&[1.0, 3.0])),
            (0.0, 0.0, 2.0_f64.sqrt())
        );
    }
}
