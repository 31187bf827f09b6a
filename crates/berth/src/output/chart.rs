//! Charts as inline SVG, made without scripts and readable without colour.
//!
//! Colours come from the page's style by class (`s0`, `s1`, ...), so that one chart serves light,
//! dark and print. Invariant: no two labels of a chart overlap. Not here: what is shown.

pub(crate) mod gantt;
pub(crate) mod lines;
pub(crate) mod quantiles;
pub(crate) mod scale;
mod svg;

/// Number of distinct looks that the page's style knows.
pub(crate) const LOOKS: usize = 8;

/// The class that gives the series `slot` its colour and dash.
fn look(slot: usize) -> String {
    format!("s{}", slot % LOOKS)
}

/// Moves sorted positions apart until neighbours are at least `gap` apart and all lie between
/// `low` and `high` as far as there is room; order is kept and movement is small.
fn apart(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    // Runs of touching labels, each centred on the mean of what its members want.
    let mut runs: Vec<(f64, usize)> = Vec::new();
    for &position in wanted {
        let mut run = (position, 1);
        while let Some(&(centre, n)) = runs.last() {
            let touches = centre + (n + run.1) as f64 * gap / 2.0 > run.0;
            if !touches {
                break;
            }
            runs.pop();
            let total = (n + run.1) as f64;
            run = (
                (centre * n as f64 + run.0 * run.1 as f64) / total,
                n + run.1,
            );
        }
        runs.push(run);
    }
    let mut placed = Vec::with_capacity(wanted.len());
    for (centre, n) in runs {
        let first = centre - (n - 1) as f64 * gap / 2.0;
        placed.extend((0..n).map(|i| first + i as f64 * gap));
    }
    let mut ceiling = high;
    for position in placed.iter_mut().rev() {
        *position = position.min(ceiling);
        ceiling = *position - gap;
    }
    let mut floor = low;
    for position in &mut placed {
        *position = position.max(floor);
        floor = *position + gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_order() {
        let check = |wanted: &[f64], expected: &[f64]| {
            assert_eq!(apart(wanted, 10.0, 0.0, 100.0), expected, "{wanted:?}");
        };
        check(&[], &[]);
        check(&[20.0, 80.0], &[20.0, 80.0]);
        check(&[50.0, 50.0], &[45.0, 55.0]);
        check(&[50.0, 50.0, 50.0], &[40.0, 50.0, 60.0]);
        check(&[99.0, 100.0], &[90.0, 100.0]);
        check(&[0.0, 1.0], &[0.0, 10.0]);
        check(&[30.0, 52.0, 54.0], &[30.0, 48.0, 58.0]);
    }

    #[test]
    fn the_style_knows_every_look() {
        let style = include_str!("html/page.css");
        for slot in 0..LOOKS {
            let look = look(slot);
            assert!(style.contains(&format!(".{look} {{ --c: ")), "{look}");
            assert!(
                slot == 0 || style.contains(&format!(".series.{look} {{")),
                "{look}"
            );
        }
    }

    #[test]
    fn too_many_labels_still_do_not_overlap() {
        let placed = apart(&[50.0; 30], 10.0, 0.0, 100.0);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 10.0));
    }
}
