//! Minimises a smooth convex function within a box: quasi-Newton steps along a projected path.
//!
//! Limited-memory BFGS (Nocedal and Wright, Numerical Optimization, section 7.2) on the variables
//! that no bound holds, with a backtracking search over the projected path (Bertsekas 1982).
//! Invariant: bounded by evaluations; the same function gives the same answer. Not here: what is
//! minimised.

use std::collections::VecDeque;

/// Pairs of steps and changes of slope that are remembered.
const MEMORY: usize = 10;

/// Part of the decrease that the slope promises which a step must reach.
const DECREASE: f64 = 1e-4;

/// How much shorter the next step tried is.
const SHORTER: f64 = 0.3;

/// A value and the slope there.
#[derive(Debug, Clone)]
pub(super) struct Slope {
    pub(super) value: f64,
    pub(super) slope: Vec<f64>,
}

/// A step and the change of the slope along it.
#[derive(Debug)]
struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
}

/// From `start`, within `bounds`, with at most `evaluations` of `function`: the best point found.
/// Variables should be scaled so that the second derivatives are about one.
pub(super) fn minimise(
    start: Vec<f64>,
    bounds: &[(f64, f64)],
    evaluations: u32,
    mut function: impl FnMut(&[f64]) -> Slope,
) -> Vec<f64> {
    let mut point = start;
    let mut here = function(&point);
    let mut left = evaluations.saturating_sub(1);
    let mut pairs: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    while left > 0 {
        let free = free_to_move(&point, &here.slope, bounds);
        let mut towards = direction(&here.slope, &free, &pairs);
        if dot(&towards, &here.slope) >= 0.0 {
            pairs.clear();
            towards = direction(&here.slope, &free, &pairs);
        }
        let mut length = 1.0;
        let mut found = None;
        while left > 0 && found.is_none() {
            let next = along(&point, &towards, length, bounds);
            let step: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
            let promised = dot(&step, &here.slope);
            if promised >= 0.0 {
                break;
            }
            let there = function(&next);
            left -= 1;
            if there.value <= here.value + DECREASE * promised {
                found = Some((next, step, there));
            }
            length *= SHORTER;
        }
        let Some((next, step, there)) = found else {
            if pairs.is_empty() {
                break;
            }
            pairs.clear();
            continue;
        };
        let change: Vec<f64> = there
            .slope
            .iter()
            .zip(&here.slope)
            .map(|(a, b)| a - b)
            .collect();
        if dot(&step, &change) > 1e-12 * dot(&change, &change) {
            if pairs.len() == MEMORY {
                pairs.pop_front();
            }
            pairs.push_back(Pair { step, change });
        }
        (point, here) = (next, there);
    }
    point
}

/// Which variables aren't held by a bound.
fn free_to_move(point: &[f64], slope: &[f64], bounds: &[(f64, f64)]) -> Vec<bool> {
    let held = |((&x, &slope), &(low, high)): ((&f64, &f64), &(f64, f64))| {
        (x <= low && slope > 0.0) || (x >= high && slope < 0.0)
    };
    point
        .iter()
        .zip(slope)
        .zip(bounds)
        .map(|all| !held(all))
        .collect()
}

/// The quasi-Newton direction of descent, nothing where a bound holds.
fn direction(slope: &[f64], free: &[bool], pairs: &VecDeque<Pair>) -> Vec<f64> {
    let only = |of: &[f64]| -> Vec<f64> {
        of.iter()
            .zip(free)
            .map(|(&x, &free)| if free { x } else { 0.0 })
            .collect()
    };
    let mut towards: Vec<f64> = only(slope).iter().map(|slope| -slope).collect();
    let pairs: Vec<(Vec<f64>, Vec<f64>)> = pairs
        .iter()
        .map(|pair| (only(&pair.step), only(&pair.change)))
        .collect();
    let usable: Vec<&(Vec<f64>, Vec<f64>)> = pairs
        .iter()
        .filter(|(step, change)| dot(step, change) > 1e-12 * dot(change, change))
        .collect();
    let mut parts = Vec::with_capacity(usable.len());
    for (step, change) in usable.iter().rev() {
        let part = dot(step, &towards) / dot(step, change);
        add(&mut towards, change, -part);
        parts.push(part);
    }
    if let Some((step, change)) = usable.last() {
        let scale = dot(step, change) / dot(change, change);
        towards.iter_mut().for_each(|x| *x *= scale);
    }
    for ((step, change), part) in usable.iter().zip(parts.iter().rev()) {
        let other = dot(change, &towards) / dot(step, change);
        add(&mut towards, step, part - other);
    }
    towards
}

fn along(point: &[f64], towards: &[f64], length: f64, bounds: &[(f64, f64)]) -> Vec<f64> {
    let moved = point.iter().zip(towards).zip(bounds);
    moved
        .map(|((x, to), &(low, high))| (x + length * to).clamp(low, high))
        .collect()
}

fn add(to: &mut [f64], of: &[f64], times: f64) {
    for (to, of) in to.iter_mut().zip(of) {
        *to += times * of;
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bent_valley_is_followed_to_its_lowest_point_within_the_box() {
        // sum of w (x - m)^2 + exp(sum x): the lowest point is known without the box.
        let (weights, means) = ([1.0, 30.0, 0.1], [1.0, -2.0, 3.0]);
        let function = |x: &[f64]| {
            let each = x.iter().zip(&weights).zip(&means);
            let sum: f64 = libm::exp(x.iter().sum());
            Slope {
                value: sum
                    + each
                        .clone()
                        .map(|((x, w), m)| w * (x - m) * (x - m))
                        .sum::<f64>(),
                slope: each.map(|((x, w), m)| sum + 2.0 * w * (x - m)).collect(),
            }
        };
        let wide = [(-100.0, 100.0); 3];
        let found = minimise(vec![0.0; 3], &wide, 60, function);
        assert!(
            function(&found)
                .slope
                .iter()
                .all(|slope| slope.abs() < 1e-4),
            "{found:?}"
        );
        let narrow = [(-100.0, 100.0), (-1.0, 100.0), (-100.0, 0.5)];
        let found = minimise(vec![0.0; 3], &narrow, 60, function);
        let slope = function(&found).slope;
        for ((x, slope), (low, high)) in found.iter().zip(slope).zip(narrow) {
            let is_held = (*x == low && slope > 0.0) || (*x == high && slope < 0.0);
            assert!(is_held || slope.abs() < 1e-4, "{x} {slope}");
        }
    }
}
