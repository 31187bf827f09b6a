//! One measured figure beside its goal, and tables of them.

use serde_json::{Value, json};

/// A figure, its goal, and how it was made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub name: &'static str,
    /// The command that makes the figure, as a person would type it.
    pub command: String,
    pub unit: &'static str,
    pub better: Better,
    pub goal: f64,
    pub stretch: Option<f64>,
    /// Median of `runs` runs.
    pub measured: f64,
    pub runs: usize,
}

/// Which direction is the good one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Better {
    Lower,
    Higher,
}

impl Row {
    pub(super) fn meets_goal(&self) -> bool {
        self.better.reaches(self.measured, self.goal)
    }

    /// "stretch", "goal" or "missed".
    pub(super) fn verdict(&self) -> &'static str {
        let stretched = self
            .stretch
            .is_some_and(|stretch| self.better.reaches(self.measured, stretch));
        match (self.meets_goal(), stretched) {
            (true, true) => "stretch",
            (true, false) => "goal",
            (false, _) => "missed",
        }
    }

    pub(super) fn to_json(&self, group: &str) -> Value {
        json!({
            "group": group,
            "name": self.name,
            "command": self.command,
            "unit": self.unit,
            "better": match self.better { Better::Lower => "lower", Better::Higher => "higher" },
            "goal": self.goal,
            "stretch": self.stretch,
            "measured": self.measured,
            "runs": self.runs,
            "verdict": self.verdict(),
        })
    }
}

impl Better {
    /// False for a figure that is no number.
    fn reaches(self, measured: f64, goal: f64) -> bool {
        match self {
            Self::Lower => measured <= goal,
            Self::Higher => measured >= goal,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Self::Lower => "<=",
            Self::Higher => ">=",
        }
    }
}

/// The rows as a Markdown table, commands below it.
pub(super) fn table(rows: &[Row]) -> String {
    let mut text = String::from("| figure | unit | goal | stretch | measured | runs | reached |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for row in rows {
        let sign = row.better.sign();
        let stretch = row
            .stretch
            .map_or("-".to_owned(), |s| format!("{sign} {}", figure(s)));
        text.push_str(&format!(
            "| {} | {} | {sign} {} | {stretch} | {} | {} | {} |\n",
            row.name,
            row.unit,
            figure(row.goal),
            figure(row.measured),
            row.runs,
            row.verdict()
        ));
    }
    text
}

/// Three significant digits; thousands in groups.
pub(super) fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let digits = value.abs().log10().floor() as i32;
    if digits < 3 {
        let places = usize::try_from(2 - digits).unwrap_or(0);
        let text = format!("{value:.places$}");
        return match text.contains('.') {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text,
        };
    }
    let step = 10_f64.powi(digits - 2);
    let whole = format!("{:.0}", (value / step).round() * step);
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The middle value, or the mean of the middle two; `None` of nothing.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some(f64::midpoint(values[middle - 1], values[middle])),
        _ => Some(values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(better: Better, measured: f64) -> Row {
        let command = "cargo xtask bench core".to_owned();
        let (goal, stretch) = match better {
            Better::Lower => (2.0, Some(1.0)),
            Better::Higher => (2.0, Some(3.0)),
        };
        Row {
            name: "x",
            command,
            unit: "s",
            better,
            goal,
            stretch,
            measured,
            runs: 5,
        }
    }

    #[test]
    fn verdict_follows_the_good_direction() {
        for (better, measured, verdict) in [
            (Better::Lower, 0.5, "stretch"),
            (Better::Lower, 2.0, "goal"),
            (Better::Lower, 2.1, "missed"),
            (Better::Higher, 3.5, "stretch"),
            (Better::Higher, 2.0, "goal"),
            (Better::Higher, 1.9, "missed"),
            (Better::Lower, f64::NAN, "missed"),
        ] {
            assert_eq!(
                row(better, measured).verdict(),
                verdict,
                "{better:?} {measured}"
            );
        }
    }

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.1234, "0.123"),
            (0.15, "0.15"),
            (1.0, "1"),
            (42.56, "42.6"),
            (240.0, "240"),
            (1_234_567.0, "1,230,000"),
            (100_000.0, "100,000"),
        ] {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn median_is_the_middle_of_sorted_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn table_shows_goal_beside_measured() {
        let text = table(&[row(Better::Lower, 1.5)]);
        assert!(
            text.contains("| x | s | <= 2 | <= 1 | 1.5 | 5 | goal |"),
            "{text}"
        );
    }
}
