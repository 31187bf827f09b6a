//! How many tasks of each kind random completions hold: one pass backwards over the tables.
//!
//! A random completion, drawn by weight, goes through one entry of each table that its node is made
//! of. `flow[c]` is how often, and it is handed on to the entries that made the entry up, in
//! proportion, down to the empty completion. Invariant: flow is never negative, and each step hands
//! on no more than there was. Not here: the tables themselves.

use std::collections::BTreeMap;

use super::{CARD, Room, Table, Tables};

impl Tables {
    /// Adds the expected number of tasks of each kind in a random completion of each of `rooms`,
    /// drawn by weight, times its multiplicity, to `expected`; returns their `ln Z` together.
    pub(in super::super) fn expected_use(
        &mut self,
        rooms: &BTreeMap<Room, f64>,
        expected: &mut [f64],
    ) -> f64 {
        assert_eq!(expected.len(), self.n_kinds, "one sum a kind");
        let nothing = vec![0.0; self.columns];
        let mut parts = vec![nothing.clone(); CARD + 1];
        let mut open = vec![nothing.clone(); self.cards + 1];
        let mut ln_total = 0.0;
        for (room, times) in rooms {
            ln_total += times * self.ln_total(room);
            self.enter(room, *times, &mut parts, &mut open);
        }
        let mut card = nothing;
        for free in (1..=self.cards).rev() {
            let (before, from) = open.split_at_mut(free);
            self.split_open(free, &from[0], before, &mut card, expected);
        }
        self.split_hosts(&mut open[0], expected);
        let ratio = ratios(&card, &self.card);
        for single in &self.singles {
            expected[single.kind] += ratio[single.cpu] * single.weight;
        }
        let (part, scale) = self.part(CARD);
        hand_on(
            &mut parts[usize::from(self.usable[CARD])],
            part,
            &ratio,
            scale,
        );
        for units in (1..=CARD).rev() {
            let (before, from) = parts.split_at_mut(units);
            let from = &from[0];
            if from.iter().all(|&flow| flow == 0.0) {
                continue;
            }
            let ratio = ratios(from, &self.parts[units]);
            for share in self.shares.iter().filter(|share| share.units <= units) {
                let left = units - share.units;
                let (rest, scale) = self.part(left);
                expected[share.kind] += hand_on(
                    &mut before[usize::from(self.usable[left])],
                    rest,
                    &ratio[share.cpu..],
                    share.weight * scale,
                );
            }
        }
        ln_total
    }

    /// Where the random completions of `room` enter the tables.
    fn enter(&mut self, room: &Room, times: f64, parts: &mut [Vec<f64>], open: &mut [Vec<f64>]) {
        let id = self.room(room);
        let columns = usize::from(room.columns);
        let total = self.products[self.nodes[id.0].all as usize].upto[columns];
        if total <= 0.0 {
            return;
        }
        let scale = times / total;
        let beside = self.beside_cards(id);
        let (upto, cards) = (&self.products[beside].upto, usize::from(room.cards));
        let at = &self.open[cards].at;
        for used in 0..=columns {
            open[cards][used] += at[used] * upto[columns - used] * scale;
        }
        for &units in &room.parts {
            let beside = self
                .beside_part(id, units)
                .expect("the part is in the room");
            let (upto, part) = (&self.products[beside].upto, &self.parts[usize::from(units)]);
            for (used, weight) in part.entries().take_while(|&(used, _)| used <= columns) {
                parts[usize::from(units)][used] += weight * upto[columns - used] * scale;
            }
        }
    }

    /// Hands the flow of `E_free` on to `E` with fewer cards and to `w_card`.
    fn split_open(
        &self,
        free: usize,
        from: &[f64],
        before: &mut [Vec<f64>],
        card: &mut [f64],
        expected: &mut [f64],
    ) {
        if from.iter().all(|&flow| flow == 0.0) {
            return;
        }
        let ratio = ratios(from, &self.open[free]);
        let rest = &self.open[free - 1];
        for (used, weight) in self.card.entries() {
            card[used] += hand_on(&mut before[free - 1], rest, &ratio[used..], weight);
        }
        for multi in self.multis.iter().filter(|multi| multi.cards <= free) {
            let left = free - multi.cards;
            expected[multi.kind] += hand_on(
                &mut before[left],
                &self.open[left],
                &ratio[multi.cpu..],
                multi.weight,
            );
        }
    }

    /// Hands the flow of `E_0` on to itself, from the far end.
    fn split_hosts(&self, flow: &mut [f64], expected: &mut [f64]) {
        let at = &self.open[0].at;
        for used in (1..self.columns).rev() {
            if flow[used] == 0.0 || at[used] <= 0.0 {
                continue;
            }
            let ratio = flow[used] / at[used];
            for host in self.hosts.iter().filter(|host| host.cpu <= used) {
                let handed = ratio * host.weight * at[used - host.cpu];
                expected[host.kind] += handed;
                flow[used - host.cpu] += handed;
            }
        }
    }
}

/// Hands flow on along one kind of step: `to[c] += ratio[c] weight table[c]`; returns how much.
fn hand_on(to: &mut [f64], table: &Table, ratio: &[f64], weight: f64) -> f64 {
    let mut sums = [0.0; 4];
    let n = ratio.len().min(table.end);
    let (to, at, ratio) = (&mut to[..n], &table.at[..n], &ratio[..n]);
    let mut to = to.chunks_exact_mut(4);
    let (mut at, mut ratio) = (at.chunks_exact(4), ratio.chunks_exact(4));
    for ((to, at), ratio) in (&mut to).zip(&mut at).zip(&mut ratio) {
        for lane in 0..4 {
            let handed = ratio[lane] * weight * at[lane];
            to[lane] += handed;
            sums[lane] += handed;
        }
    }
    let rest = to.into_remainder().iter_mut().zip(at.remainder());
    for ((to, at), ratio) in rest.zip(ratio.remainder()) {
        let handed = ratio * weight * at;
        *to += handed;
        sums[0] += handed;
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Flow by weight; nothing where there is no weight.
fn ratios(flow: &[f64], table: &Table) -> Vec<f64> {
    let ratio = |(&flow, &at): (&f64, &f64)| if at > 0.0 { flow / at } else { 0.0 };
    flow.iter().zip(&table.at).map(ratio).collect()
}
