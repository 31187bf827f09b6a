//! Figures as people read them.

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

/// A count, with thin groups of three from five digits on.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    if digits.len() < 5 {
        return digits;
    }
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
        assert_eq!(count(9999), "9999");
        assert_eq!(count(10_866), "10,866");
        assert_eq!(count(123_456), "123,456");
        assert_eq!(count(1_234_567), "1,234,567");
    }
}
