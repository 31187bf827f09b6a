//! The tables against every completion written out, and against themselves.

use std::collections::BTreeMap;

use proptest::prelude::*;
use smallvec::SmallVec;

use super::tables::{CARD, From, Room, Step, Tables};

const COLUMNS: usize = 9;

/// Columns used and weight of a way to fill something up.
type Way = (usize, f64);

fn weight(step: &Step) -> f64 {
    libm::exp(step.ln_weight)
}

/// Sequences of shares on a card with `units` free, those of more than all columns left out.
fn ways_of_part(steps: &[Step], units: usize) -> Vec<Way> {
    let mut ways = vec![(0, 1.0)];
    let shares = steps
        .iter()
        .filter(|step| step.cards == 1 && step.units < CARD);
    for share in shares.filter(|share| share.units <= units) {
        for (used, w) in ways_of_part(steps, units - share.units) {
            ways.push((used + share.cpu, w * weight(share)));
        }
    }
    ways.retain(|&(used, _)| used < COLUMNS);
    ways
}

fn ways_of_host(steps: &[Step], columns: usize) -> Vec<Way> {
    let mut ways = vec![(0, 1.0)];
    for host in steps
        .iter()
        .filter(|step| step.cards == 0 && step.cpu <= columns)
    {
        for (used, w) in ways_of_host(steps, columns - host.cpu) {
            ways.push((used + host.cpu, w * weight(host)));
        }
    }
    ways
}

fn ways_of_open(steps: &[Step], cards: usize) -> Vec<Way> {
    if cards == 0 {
        return ways_of_host(steps, COLUMNS - 1);
    }
    let mut first: Vec<(usize, Way)> = ways_of_part(steps, CARD)
        .into_iter()
        .map(|way| (1, way))
        .collect();
    for step in steps
        .iter()
        .filter(|step| step.units == CARD && step.cards <= cards)
    {
        first.push((step.cards, (step.cpu, weight(step))));
    }
    let mut ways = Vec::new();
    for (taken, (used, w)) in first {
        for (more, v) in ways_of_open(steps, cards - taken) {
            ways.push((used + more, w * v));
        }
    }
    ways.retain(|&(used, _)| used < COLUMNS);
    ways
}

/// `ln Z` by writing out every completion.
fn ln_total(steps: &[Step], room: &Room) -> f64 {
    let mut ways = ways_of_open(steps, usize::from(room.cards));
    for &units in &room.parts {
        let of_part = ways_of_part(steps, usize::from(units));
        let both = ways
            .iter()
            .flat_map(|&(used, w)| of_part.iter().map(move |&(more, v)| (used + more, w * v)));
        ways = both.filter(|&(used, _)| used < COLUMNS).collect();
    }
    let columns = usize::from(room.columns);
    let total: f64 = ways
        .iter()
        .filter(|&&(used, _)| used <= columns)
        .map(|&(_, w)| w)
        .sum();
    libm::log(total)
}

fn step() -> impl Strategy<Value = Step> {
    let share = (0usize..5, 24usize..CARD, -1.0..6.0).prop_map(|(cpu, units, ln_weight)| Step {
        cpu,
        units,
        cards: 1,
        ln_weight,
    });
    let whole = (0usize..6, 1usize..4, -1.0..6.0).prop_map(|(cpu, cards, ln_weight)| Step {
        cpu,
        units: CARD,
        cards,
        ln_weight: ln_weight * cards as f64,
    });
    let host = (0usize..6, -3.0..3.0).prop_map(|(cpu, ln_weight)| Step {
        cpu,
        units: 0,
        cards: 0,
        ln_weight,
    });
    prop_oneof![2 => share, 2 => whole, 1 => host]
}

/// Tasks that can be counted: one without CPU and GPU would fit any number of times.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..5).prop_map(|mut steps| {
        steps.retain(|step| step.cpu > 0 || step.cards > 0);
        steps
    })
}

/// Columns, free cards, units of parts.
fn raw_room() -> impl Strategy<Value = (u16, u8, Vec<usize>)> {
    (
        0u16..COLUMNS as u16,
        0u8..4,
        prop::collection::vec(0usize..CARD, 0..3),
    )
}

fn room_in(tables: &Tables, (columns, cards, parts): &(u16, u8, Vec<usize>)) -> Room {
    let usable = parts.iter().map(|&units| tables.usable(units));
    let mut parts: SmallVec<[u8; 16]> = usable.filter(|&units| units > 0).collect();
    parts.sort_unstable();
    let cards = usize::from(*cards).min(tables.cards_max());
    parts.truncate(tables.cards_max() - cards);
    Room {
        columns: *columns,
        cards: cards as u8,
        parts,
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn tables_count_every_completion_once(steps in steps(), raw in raw_room()) {
        let mut tables = Tables::new(&steps, COLUMNS, 5);
        let room = room_in(&tables, &raw);
        let (counted, written_out) = (tables.ln_total(&room), ln_total(&steps, &room));
        prop_assert!(close(counted, written_out), "{} {}", counted, written_out);
    }

    #[test]
    fn expected_use_is_the_slope_of_the_logarithm(steps in steps(), raw in raw_room()) {
        let mut tables = Tables::new(&steps, COLUMNS, 5);
        let room = room_in(&tables, &raw);
        let mut expected = vec![0.0; steps.len()];
        tables.expected_use(&BTreeMap::from([(room.clone(), 3.0)]), &mut expected);
        for (at, &expected) in expected.iter().enumerate() {
            let shifted = |by: f64| {
                let mut steps = steps.clone();
                steps[at].ln_weight += by;
                Tables::new(&steps, COLUMNS, 5).ln_total(&room)
            };
            let slope = 3.0 * (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
            prop_assert!((slope - expected).abs() < 1e-5, "{}: {} {}", at, slope, expected);
        }
    }

    #[test]
    fn a_change_is_the_difference_of_two_rooms(
        steps in steps(),
        raw in raw_room(),
        gone in 0u16..4,
        left in 0usize..CARD,
    ) {
        let mut tables = Tables::new(&steps, COLUMNS, 5);
        let room = room_in(&tables, &raw);
        let before = tables.ln_total(&room);
        let columns = room.columns.saturating_sub(gone);
        let mut after = |parts: SmallVec<[u8; 16]>, cards: u8| {
            let mut parts: SmallVec<[u8; 16]> = parts.into_iter().filter(|&part| part > 0).collect();
            parts.sort_unstable();
            tables.ln_total(&Room { columns, cards, parts }) - before
        };
        let left = left as u8;
        let mut pairs = vec![(after(room.parts.clone(), room.cards), None, 0)];
        for cards in 1..=room.cards {
            pairs.push((after(room.parts.clone(), room.cards - cards), None, cards));
        }
        let usable = Tables::new(&steps, COLUMNS, 5).usable(usize::from(left));
        if room.cards > 0 {
            let mut parts = room.parts.clone();
            parts.push(usable);
            pairs.push((after(parts, room.cards - 1), Some(From::FreeCard), 0));
        }
        if let Some(&part) = room.parts.first().filter(|&&part| part >= usable) {
            let mut parts = room.parts.clone();
            parts[0] = usable;
            pairs.push((after(parts, room.cards), Some(From::Part(part)), 0));
        }
        let columns = usize::from(columns);
        for (expected, from, cards) in pairs {
            let id = tables.room(&room);
            let quick = match from {
                Some(from) => tables.after_share(id, from, usable, columns),
                None if cards == 0 => tables.after_host(id, columns),
                None => tables.after_whole(id, usize::from(room.cards - cards), columns),
            };
            prop_assert!(close(quick, expected), "{:?} {} {}", from, quick, expected);
        }
    }

    /// The largest nodes at the sharpest weights that prices allow, and what is left of them.
    #[test]
    fn nothing_overflows(
        kinds in prop::collection::vec((0usize..320, 0usize..=CARD, 0usize..=16, 0.0f64..=1.0), 0..24),
        rooms in prop::collection::vec((0u16..321, 0u8..=16, prop::collection::vec(0usize..CARD, 0..16)), 1..6),
    ) {
        let steps: Vec<Step> = kinds
            .iter()
            .map(|&(cpu, units, cards, rest)| {
                let cards = if units == 0 { 0 } else { cards.max(1) };
                let units = if cards > 1 { CARD } else { units };
                let gpu = (units * cards) as f64 * 10.0 / 15.0;
                let host = if cards == 0 { cpu as f64 * 400.0 * 0.05 / 15.0 } else { 0.0 };
                Step { cpu, units, cards, ln_weight: rest * (gpu + host) }
            })
            .collect();
        let mut tables = Tables::new(&steps, 321, 16);
        let mut census = BTreeMap::new();
        for raw in &rooms {
            let room = room_in(&tables, raw);
            let id = tables.room(&room);
            let mut changes = vec![tables.after_host(id, 0)];
            changes.push(tables.after_whole(id, 0, 0));
            changes.push(tables.after_share(id, From::FreeCard, 0, 0));
            for &part in &room.parts {
                changes.push(tables.after_share(id, From::Part(part), 0, usize::from(room.columns)));
            }
            for change in changes {
                prop_assert!(change.is_finite() && change < 1e-6, "{}", change);
            }
            census.insert(room, 1.0);
        }
        let mut expected = vec![0.0; steps.len()];
        tables.expected_use(&census, &mut expected);
        for used in expected {
            prop_assert!(used.is_finite() && (0.0..=6.0 * 16.0 * 100.0).contains(&used), "{}", used);
        }
    }
}
