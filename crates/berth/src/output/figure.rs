//! Figures as people read them.

use berth_core::time::Span;

/// A percentage with two decimals; a dash where there is none.
pub(crate) fn percent(value: impl Into<Option<f64>>) -> String {
    value
        .into()
        .filter(|value| value.is_finite())
        .map_or_else(dash, |value| format!("{value:.2}"))
}

/// Seconds of real time.
pub(crate) fn seconds(value: f64) -> String {
    if value < 10.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.1}")
    }
}

/// A count, in groups of three digits.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let first = digits.len() % 3;
    let mut grouped = digits[..first].to_owned();
    for group in digits.as_bytes()[first..].chunks(3) {
        if !grouped.is_empty() {
            grouped.push(',');
        }
        grouped.extend(group.iter().map(|&digit| char::from(digit)));
    }
    grouped
}

/// A length of virtual time, given in seconds.
pub(crate) fn span(seconds: f64) -> String {
    Span((seconds * 1000.0).round() as i64).to_string()
}

/// What stands for a figure that there is none of.
pub(crate) fn dash() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        assert_eq!(percent(95.2349), "95.23");
        assert_eq!(percent(f64::NAN), "-");
        assert_eq!(percent(None), "-");
        assert_eq!(seconds(0.1234), "0.12");
        assert_eq!(seconds(123.456), "123.5");
        assert_eq!(count(999), "999");
        assert_eq!(count(6212), "6,212");
        assert_eq!(count(10_866), "10,866");
        assert_eq!(count(123_456), "123,456");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
