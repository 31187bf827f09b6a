//! Every way to fill up a node, counted and weighed: the partition function of its completions.
//!
//! A completion is a sequence of tasks of the workload for each card that still has room, and one
//! for the CPU beside; its weight is the product of the weights of its tasks. With `w_r(c)` the
//! weight of all ways to use exactly `c` columns of CPU on a card with `r` units free,
//!
//! ```text
//! w_r(c) = [c = 0] + sum over shares j that need u_j <= r units: w_j w_{r - u_j}(c - c_j)
//! E_0(c) = [c = 0] + sum over tasks without GPU: w_j E_0(c - c_j)
//! E_k    = E_{k-1} * w_card + sum over tasks of n_j > 1 cards: w_j E_{k - n_j}(. - c_j)
//! Z      = sum over c <= C of (E_k * w_{r_1} * w_{r_2} * ...)(c)
//! ```
//!
//! where `*` is convolution and `w_card` is `w_100` plus the tasks of one whole card.
//!
//! Invariant: nothing overflows. Every weight is scaled by `exp(-mu)` a unit of GPU and
//! `exp(-lambda)` a column of CPU, with `mu` and `lambda` half of the rates at which the tables grow
//! at most, so that what grows fills the upper half of the exponents and what doesn't the lower; the
//! number of cards looked at is bounded so that both halves suffice. Entries of a table don't depend
//! on its length, nor on what was asked before. Not here: nodes, tasks and prices by name.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

mod flow;

/// Units of GPU that one card has here.
pub(super) const CARD: usize = 100;

/// Cards of one node that completions are counted for. What a node has beyond them isn't scarce.
pub(super) const CARDS_MAX: usize = 16;

/// Natural logarithm that stays within doubles, with room for the number of completions: doubles
/// reach from -745 to 709, and half of the growth goes each way.
const GROWTH_MAX: f64 = 1200.0;

/// Below this an entry counts as nothing: it could only slow the arithmetic down.
const NOTHING: f64 = 1e-290;

/// Products remembered before the memory of them starts afresh: 40 MB.
const PRODUCTS_MAX: usize = 8_192;

/// Nodes remembered before the memory of them starts afresh.
const NODES_MAX: usize = 65_536;

/// A kind of task in units of the tables, with the natural logarithm of its weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// Columns of CPU.
    pub(super) cpu: usize,
    /// Units on each card; none for a task without GPU.
    pub(super) units: usize,
    /// Number of cards; none for a task without GPU.
    pub(super) cards: usize,
    /// Natural logarithm of the weight.
    pub(super) ln_weight: f64,
}

/// What completions depend on: free columns, free cards, and the units free on cards in part use,
/// ascending, without those that no share fits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Room {
    pub(super) columns: u16,
    pub(super) cards: u8,
    pub(super) parts: SmallVec<[u8; 16]>,
}

/// A weight for each exact use of CPU, and its running sum.
#[derive(Debug, Clone, Default)]
struct Table {
    /// By columns used.
    at: Vec<f64>,
    /// Entries from here on are nothing.
    end: usize,
    /// From the far end, so that inner products run forwards: the weight of all that use at most
    /// so many columns, scaled to that many.
    upto_reversed: Vec<f64>,
}

/// A task of a group, with its weight after scaling.
#[derive(Debug, Clone, Copy)]
struct Scaled {
    kind: usize,
    cpu: usize,
    units: usize,
    cards: usize,
    weight: f64,
}

/// The tables for one set of kinds.
#[derive(Debug)]
pub(super) struct Tables {
    columns: usize,
    cards: usize,
    n_kinds: usize,
    /// Scale of a unit of GPU, natural logarithm.
    mu: f64,
    /// Scale of a column of CPU, natural logarithm.
    lambda: f64,
    shares: Vec<Scaled>,
    singles: Vec<Scaled>,
    multis: Vec<Scaled>,
    hosts: Vec<Scaled>,
    /// The most units that shares can use of a card with so many free.
    usable: [u8; CARD + 1],
    /// Scale of so many units.
    unit_scale: Vec<f64>,
    /// `w_r` by units free, where all of them can be used; other cards are as those with what is
    /// usable free.
    parts: Vec<Table>,
    /// `w_card`.
    card: Table,
    /// `E_k`, by free cards.
    open: Vec<Table>,
    products: IndexMap<Factors, Product, FxBuildHasher>,
    nodes: IndexMap<Room, Completions, FxBuildHasher>,
}

/// What a product is of: the number of free cards, or [`NO_CARDS`] where `E` isn't in it, then the
/// parts, ascending.
type Factors = SmallVec<[u8; 18]>;

/// Marks a product without `E`.
const NO_CARDS: u8 = u8::MAX;

#[derive(Debug)]
struct Product {
    at: Vec<f64>,
    upto: Vec<f64>,
    /// Entries from here on are nothing.
    end: usize,
}

/// What is known of the completions of a room.
#[derive(Debug)]
struct Completions {
    room: Room,
    ln_total: f64,
    /// The whole product.
    all: u32,
    /// Without `E`.
    beside_cards: Option<u32>,
    /// With one free card less.
    beside_card: Option<u32>,
    /// Without one of the parts, by position of the first like it.
    beside_part: SmallVec<[Option<u32>; 8]>,
}

/// A remembered room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RoomId(usize);

/// Where a share goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    /// A card that nobody uses.
    FreeCard,
    /// A card in part use with so many usable units.
    Part(u8),
}

impl Tables {
    /// The tables of `steps` for nodes with less than `columns` columns of CPU and at most `cards`
    /// cards.
    pub(super) fn new(steps: &[Step], columns: usize, cards: usize) -> Self {
        let suits = |step: &&Step| {
            step.cpu < columns
                && step.cards <= cards
                && step.units <= CARD
                && step.ln_weight.is_finite()
        };
        let gpu = |step: &&Step| step.cards > 0 && step.units > 0;
        let host = |step: &&Step| step.cards == 0 && step.cpu > 0;
        let of_host = steps.iter().filter(suits).filter(host);
        let of_host: Vec<_> = of_host.map(|step| (step.ln_weight, step.cpu)).collect();
        let per_column = growth(&of_host);
        let of_gpu = steps.iter().filter(suits).filter(gpu).map(|step| {
            let ln_weight = step.ln_weight - per_column * step.cpu as f64;
            (ln_weight, step.units * step.cards)
        });
        let per_unit = growth(&of_gpu.collect::<Vec<_>>());
        let left = GROWTH_MAX - per_column * columns as f64;
        let bearable = (left / (per_unit * CARD as f64)).clamp(1.0, CARDS_MAX as f64) as usize;
        let cards = cards.min(bearable);
        let (mu, lambda) = (per_unit / 2.0, per_column / 2.0);
        let scaled = |(kind, step): (usize, &Step)| {
            let ln =
                step.ln_weight - mu * (step.units * step.cards) as f64 - lambda * step.cpu as f64;
            Scaled {
                kind,
                cpu: step.cpu,
                units: step.units,
                cards: step.cards,
                weight: libm::exp(ln),
            }
        };
        let all: Vec<Scaled> = steps
            .iter()
            .enumerate()
            .filter(|(_, step)| suits(step) && (gpu(step) || host(step)) && step.cards <= cards)
            .map(scaled)
            .collect();
        let group = |wanted: &dyn Fn(&Scaled) -> bool| -> Vec<Scaled> {
            all.iter().copied().filter(|step| wanted(step)).collect()
        };
        let mut tables = Self {
            columns,
            cards,
            n_kinds: steps.len(),
            mu,
            lambda,
            shares: group(&|step| step.cards == 1 && step.units < CARD),
            singles: group(&|step| step.cards == 1 && step.units == CARD),
            multis: group(&|step| step.cards > 1),
            hosts: group(&|step| step.cards == 0),
            usable: [0; CARD + 1],
            unit_scale: (0..=CARD)
                .map(|units| libm::exp(-mu * units as f64))
                .collect(),
            parts: Vec::new(),
            card: Table::default(),
            open: Vec::new(),
            products: IndexMap::default(),
            nodes: IndexMap::default(),
        };
        tables.fill();
        tables
    }

    /// The most units that shares can use of a card in part use with `units` free.
    pub(super) fn usable(&self, units: usize) -> u8 {
        self.usable[units.min(CARD - 1)]
    }

    /// Columns that a node can have free at most.
    pub(super) fn columns_max(&self) -> usize {
        self.columns - 1
    }

    /// Cards that are looked at, at most.
    pub(super) fn cards_max(&self) -> usize {
        self.cards
    }

    fn fill(&mut self) {
        for units in 1..=CARD {
            let after = |share: &Scaled| units.checked_sub(share.units);
            let most = self.shares.iter().filter_map(|share| {
                let left = after(share)?;
                Some(share.units + usize::from(self.usable[left]))
            });
            self.usable[units] = u8::try_from(most.max().unwrap_or(0)).expect("at most a card");
        }
        for units in 0..=CARD {
            if usize::from(self.usable[units]) < units {
                self.parts.push(Table::default());
                continue;
            }
            let mut at = vec![0.0; self.columns];
            at[0] = self.unit_scale[units];
            for share in self.shares.iter().filter(|share| share.units <= units) {
                let (rest, scale) = self.part(units - share.units);
                add_shifted(
                    &mut at,
                    &rest.at[..rest.end],
                    share.cpu,
                    share.weight * scale,
                );
            }
            self.parts.push(Table::new(at, self.lambda));
        }
        let (part, scale) = self.part(CARD);
        let mut at: Vec<f64> = part.at.iter().map(|entry| entry * scale).collect();
        for single in &self.singles {
            at[single.cpu] += single.weight;
        }
        self.card = Table::new(at, self.lambda);
        let mut at = vec![0.0; self.columns];
        at[0] = 1.0;
        for used in 1..self.columns {
            for host in self.hosts.iter().filter(|host| host.cpu <= used) {
                at[used] += host.weight * at[used - host.cpu];
            }
        }
        self.open.push(Table::new(at, self.lambda));
        for free in 1..=self.cards {
            let mut at = vec![0.0; self.columns];
            let rest = &self.open[free - 1];
            for (used, weight) in self.card.entries() {
                add_shifted(&mut at, &rest.at[..rest.end], used, weight);
            }
            for multi in self.multis.iter().filter(|multi| multi.cards <= free) {
                add_shifted(
                    &mut at,
                    &self.open[free - multi.cards].at,
                    multi.cpu,
                    multi.weight,
                );
            }
            self.open.push(Table::new(at, self.lambda));
        }
    }

    /// `w_r` for `units` free, as the table of what is usable and a factor.
    fn part(&self, units: usize) -> (&Table, f64) {
        let usable = usize::from(self.usable[units]);
        (&self.parts[usable], self.unit_scale[units - usable])
    }

    /// Looks `room` up; works it out if need be. Holds until the next call.
    pub(super) fn room(&mut self, room: &Room) -> RoomId {
        if let Some(known) = self.nodes.get_index_of(room) {
            return RoomId(known);
        }
        if self.nodes.len() >= NODES_MAX || self.products.len() >= PRODUCTS_MAX {
            self.nodes.clear();
            self.products.clear();
        }
        let mut factors: Factors = SmallVec::new();
        factors.push(room.cards);
        factors.extend_from_slice(&room.parts);
        let all = self.product(&factors);
        let total = self.products[all].upto[usize::from(room.columns)];
        let (at, _) = self.nodes.insert_full(
            room.clone(),
            Completions {
                room: room.clone(),
                ln_total: ln(total),
                all: small(all),
                beside_cards: None,
                beside_card: None,
                beside_part: SmallVec::from_elem(None, room.parts.len()),
            },
        );
        RoomId(at)
    }

    /// Change of the logarithm of Z when the room shrinks to `columns` and nothing else.
    pub(super) fn after_host(&self, id: RoomId, columns: usize) -> f64 {
        let node = &self.nodes[id.0];
        let total = self.products[node.all as usize].upto[columns];
        self.change(node, total, columns, 0)
    }

    /// Change of the logarithm of Z when `cards` free cards go, of which `left` remain, and CPU
    /// down to `columns`.
    pub(super) fn after_whole(&mut self, id: RoomId, left: usize, columns: usize) -> f64 {
        let known = usize::from(self.nodes[id.0].room.cards);
        let left = left.min(known);
        if left == known {
            return self.after_host(id, columns);
        }
        let beside = self.beside_cards(id);
        let total = inner(&self.products[beside], &self.open[left], columns);
        self.change(&self.nodes[id.0], total, columns, CARD * (known - left))
    }

    /// Change of the logarithm of Z when a share goes onto a card that has `left` usable units
    /// afterwards, and CPU down to `columns`.
    pub(super) fn after_share(&mut self, id: RoomId, from: From, left: u8, columns: usize) -> f64 {
        let (beside, before) = match from {
            From::FreeCard if self.nodes[id.0].room.cards > 0 => (self.beside_card(id), CARD),
            From::Part(units) => match self.beside_part(id, units) {
                Some(beside) => (beside, usize::from(units)),
                None => return self.after_host(id, columns),
            },
            From::FreeCard => return self.after_host(id, columns),
        };
        let left = usize::from(left);
        let total = inner(&self.products[beside], &self.parts[left], columns);
        self.change(&self.nodes[id.0], total, columns, before - left)
    }

    /// The change of `ln Z` when the scaled sum becomes `total` with `units` less and `columns` left.
    fn change(&self, node: &Completions, total: f64, columns: usize, units: usize) -> f64 {
        let gone = usize::from(node.room.columns) - columns;
        ln(total) - node.ln_total - self.lambda * gone as f64 - self.mu * units as f64
    }

    fn beside_cards(&mut self, id: RoomId) -> usize {
        if let Some(known) = self.nodes[id.0].beside_cards {
            return known as usize;
        }
        let mut factors: Factors = SmallVec::new();
        factors.push(NO_CARDS);
        factors.extend_from_slice(&self.nodes[id.0].room.parts);
        let product = self.product(&factors);
        self.nodes[id.0].beside_cards = Some(small(product));
        product
    }

    fn beside_card(&mut self, id: RoomId) -> usize {
        if let Some(known) = self.nodes[id.0].beside_card {
            return known as usize;
        }
        let room = &self.nodes[id.0].room;
        let mut factors: Factors = SmallVec::new();
        factors.push(room.cards - 1);
        factors.extend_from_slice(&room.parts);
        let product = self.product(&factors);
        self.nodes[id.0].beside_card = Some(small(product));
        product
    }

    fn beside_part(&mut self, id: RoomId, units: u8) -> Option<usize> {
        let node = &self.nodes[id.0];
        let at = node.room.parts.iter().position(|&part| part == units)?;
        if let Some(known) = node.beside_part[at] {
            return Some(known as usize);
        }
        let mut factors: Factors = SmallVec::new();
        factors.push(node.room.cards);
        factors.extend_from_slice(&node.room.parts[..at]);
        factors.extend_from_slice(&node.room.parts[at + 1..]);
        let product = self.product(&factors);
        self.nodes[id.0].beside_part[at] = Some(small(product));
        Some(product)
    }

    /// The product of `factors`, from the one without the last of them.
    fn product(&mut self, factors: &Factors) -> usize {
        if let Some(known) = self.products.get_index_of(factors) {
            return known;
        }
        let (at, upto) = if let [free] = factors[..] {
            if free == NO_CARDS {
                let mut at = vec![0.0; self.columns];
                at[0] = 1.0;
                let upto = running_sum(&at, self.lambda);
                (at, upto)
            } else {
                let open = &self.open[usize::from(free)];
                (
                    open.at.clone(),
                    open.upto_reversed.iter().rev().copied().collect(),
                )
            }
        } else {
            let mut parent = factors.clone();
            let last = parent.pop().expect("a product has a factor");
            let parent = self.product(&parent);
            let (parent, part) = (&self.products[parent], &self.parts[usize::from(last)]);
            let mut at = vec![0.0; self.columns];
            for (used, weight) in part.entries() {
                let end = parent.end.min(self.columns - used);
                add_shifted(&mut at, &parent.at[..end], used, weight);
            }
            clear_nothings(&mut at);
            let upto = running_sum(&at, self.lambda);
            (at, upto)
        };
        let end = end_of(&at);
        let (index, _) = self
            .products
            .insert_full(factors.clone(), Product { at, upto, end });
        index
    }

    /// `ln Z` of a room, free of scales.
    pub(super) fn ln_total(&mut self, room: &Room) -> f64 {
        let id = self.room(room);
        let parts: usize = room.parts.iter().map(|&part| usize::from(part)).sum();
        let units = CARD * usize::from(room.cards) + parts;
        self.nodes[id.0].ln_total + self.lambda * f64::from(room.columns) + self.mu * units as f64
    }
}

impl Table {
    fn new(mut at: Vec<f64>, lambda: f64) -> Self {
        clear_nothings(&mut at);
        let mut upto_reversed = running_sum(&at, lambda);
        upto_reversed.reverse();
        Self {
            end: end_of(&at),
            at,
            upto_reversed,
        }
    }

    /// Uses that have a weight, with it.
    fn entries(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let all = self.at[..self.end].iter().copied().enumerate();
        all.filter(|&(_, weight)| weight > 0.0)
    }
}

fn end_of(at: &[f64]) -> usize {
    at.iter()
        .rposition(|&entry| entry > 0.0)
        .map_or(0, |last| last + 1)
}

/// The rate at which the weight of sequences of `steps` grows with their length: the root of
/// `sum of weight exp(-rate length) = 1`, from above; zero if the weights add up to less than one.
fn growth(steps: &[(f64, usize)]) -> f64 {
    let n = steps.len();
    if n == 0 {
        return 0.0;
    }
    let most = |extra: f64| {
        let rates = steps
            .iter()
            .map(|&(ln_weight, length)| (ln_weight + extra) / length as f64);
        rates.fold(0.0, f64::max)
    };
    let (mut low, mut high) = (most(0.0), most(libm::log(n as f64)));
    for _ in 0..8 {
        let middle = 0.5 * (low + high);
        let weights = steps
            .iter()
            .map(|&(ln_weight, length)| libm::exp(ln_weight - middle * length as f64));
        let sum: f64 = weights.sum();
        if sum <= 1.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// `to[c + by] += weight from[c]`.
fn add_shifted(to: &mut [f64], from: &[f64], by: usize, weight: f64) {
    for (to, from) in to[by..].iter_mut().zip(from) {
        *to += weight * from;
    }
}

/// `sum over c <= columns of product(c) table.upto(columns - c)`.
fn inner(product: &Product, table: &Table, columns: usize) -> f64 {
    let n = product.end.min(columns + 1);
    let start = table.upto_reversed.len() - 1 - columns;
    let (a, b) = (&product.at[..n], &table.upto_reversed[start..start + n]);
    let mut sums = [0.0; 8];
    let (mut a, mut b) = (a.chunks_exact(8), b.chunks_exact(8));
    for (a, b) in (&mut a).zip(&mut b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (a, b) in a.remainder().iter().zip(b.remainder()) {
        sums[0] += a * b;
    }
    sums.iter().sum()
}

/// Each entry with all before it, every earlier one scaled down to its place.
fn running_sum(at: &[f64], lambda: f64) -> Vec<f64> {
    let decay = libm::exp(-lambda);
    let mut sum = 0.0;
    let step = |&entry: &f64| {
        sum = sum * decay + entry;
        sum
    };
    at.iter().map(step).collect()
}

fn clear_nothings(at: &mut [f64]) {
    for entry in at {
        if *entry < NOTHING {
            *entry = 0.0;
        }
    }
}

/// The logarithm, also of what is too small for a double.
fn ln(total: f64) -> f64 {
    debug_assert!(total.is_finite(), "the tables are scaled");
    libm::log(total.clamp(1e-300, f64::MAX))
}

fn small(index: usize) -> u32 {
    u32::try_from(index).expect("tables are bounded far below 2^32 entries")
}
