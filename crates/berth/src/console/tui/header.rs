//! The lines at the top: time, allocation, pods, reasons.
//!
//! Invariant: a line holds as many of its parts as fit, the most telling first.

use ratatui::text::{Line, Span};

use super::look::{Look, Role};
use crate::console::view::View;
use crate::console::view::figures::Figures;
use crate::console::view::words;

/// The lines for `view` on `width` columns.
pub(crate) fn lines(view: &View, width: u16, look: Look) -> Vec<Line<'static>> {
    let figures = &view.figures;
    let mut lines = vec![
        title(figures, width, look),
        bar(figures, width, look),
        pods(figures, width, look),
    ];
    lines.push(reasons(view, width, look));
    if figures.invariant_violations > 0 {
        let text = format!(
            " STOPPED: {} invariant violations; this is a defect of Berth, please report it",
            figures.invariant_violations
        );
        lines.insert(1, Line::styled(text, look.style(Role::Trouble)));
    }
    lines
}

fn title(figures: &Figures, width: u16, look: Look) -> Line<'static> {
    let times = look.pick("×", "x");
    let dot = look.pick("·", "-");
    let (pace, pace_role) = if figures.paused {
        ("PAUSED".to_owned(), Role::Trouble)
    } else if figures.is_late() {
        (
            format!("{} behind", words::seconds(figures.lag_s)),
            Role::Trouble,
        )
    } else {
        ("on time".to_owned(), Role::Quiet)
    };
    let mut name = format!("  {} {dot} {}", figures.name, figures.policy);
    if let Some(seed) = figures.seed {
        name = format!("{name} {dot} seed {seed}");
    }
    let clock = figures.clock.clone();
    let speed = if figures.is_embedded() {
        format!("  {times}{}  ", figures.speed)
    } else {
        "  ".to_owned()
    };
    let used = 6 + [&name, &clock, &speed, &pace]
        .map(|part| part.chars().count())
        .iter()
        .sum::<usize>();
    Line::from(vec![
        Span::styled(" Berth", look.style(Role::Strong)),
        Span::styled(name, look.style(Role::Quiet)),
        Span::raw(" ".repeat(usize::from(width).saturating_sub(used + 1))),
        Span::styled(clock, look.style(Role::Strong)),
        Span::styled(speed, look.style(Role::Quiet)),
        Span::styled(pace, look.style(pace_role)),
    ])
}

fn bar(figures: &Figures, width: u16, look: Look) -> Line<'static> {
    let width = usize::from(width);
    let held = format!(
        " {:.1} of {} GPUs held, {:.1} %",
        figures.gpus_held.gpus_f64(),
        figures.gpus,
        figures.allocation_percent
    );
    let fragmented = format!("   fragmented {:.1} %", figures.fragmentation_percent);
    let out = match figures.gpus_out {
        0 => String::new(),
        n => format!("   {n} out of order"),
    };
    let text = held.chars().count() + fragmented.chars().count() + out.chars().count();
    let bar_width = width.saturating_sub(text + 3).clamp(8, 80);
    let (full, rest) = look.bar(figures.allocation_percent / 100.0, bar_width);
    Line::from(vec![
        Span::raw(" "),
        Span::styled(full, look.style(Role::Held)),
        Span::styled(rest, look.style(Role::Quiet)),
        Span::raw(held),
        Span::styled(fragmented, look.style(Role::Quiet)),
        Span::styled(out, look.style(Role::Trouble)),
    ])
}

fn pods(figures: &Figures, width: u16, look: Look) -> Line<'static> {
    let parts = [
        (format!(" {} running", figures.pods_running), Role::Strong),
        (format!("{} waiting", figures.pods_waiting), Role::Strong),
        (
            format!(
                "wait p50 {}, p90 {}",
                words::seconds(figures.wait_p50_s),
                words::seconds(figures.wait_p90_s)
            ),
            Role::Text,
        ),
        (
            format!("{:.1} starts/min", figures.starts_per_min),
            Role::Quiet,
        ),
        (format!("{:.1} ends/min", figures.ends_per_min), Role::Quiet),
        (format!("{} ended", figures.completed), Role::Quiet),
        (format!("{} evicted", figures.evicted), Role::Quiet),
    ];
    fitting(parts.into_iter(), width, look)
}

fn reasons(view: &View, width: u16, look: Look) -> Line<'static> {
    if view.reasons.is_empty() {
        return Line::styled(" Nobody waits", look.style(Role::Quiet));
    }
    let mut reasons: Vec<(&str, u64)> =
        view.reasons.iter().map(|(&token, &n)| (token, n)).collect();
    reasons.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    let parts = reasons.into_iter().enumerate().map(|(at, (token, n))| {
        let why = if at == 0 { " Why: " } else { "" };
        (format!("{why}{token} {n}"), Role::Text)
    });
    fitting(parts, width, look)
}

/// As many of `parts` as fit, two spaces apart.
fn fitting(parts: impl Iterator<Item = (String, Role)>, width: u16, look: Look) -> Line<'static> {
    let mut left = usize::from(width);
    let mut spans = Vec::new();
    for (text, role) in parts {
        let gap = if spans.is_empty() { "" } else { "  " };
        let needed = gap.len() + text.chars().count();
        if needed > left {
            break;
        }
        left -= needed;
        spans.push(Span::raw(gap));
        spans.push(Span::styled(text, look.style(role)));
    }
    Line::from(spans)
}
