//! The tables of each family of nodes under one price table.
//!
//! Invariant: all of it follows from the price table; tables are made when first asked for. Not
//! here: how prices come about.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::prices::{PriceTable, Priced};
use super::tables::{CARD, From, Room, RoomId, Step, Tables};
use super::view::{self, CardRoom, Cards, Family};
use crate::amount::MilliCpu;
use crate::model::node::{Node, NodeState, Shape};

/// The tables under one price table.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) prices: Arc<PriceTable>,
    families: IndexMap<Family, FamilyTables, FxBuildHasher>,
}

/// The tables of one family, and the types behind each kind of task in them.
#[derive(Debug)]
struct FamilyTables {
    tables: Tables,
    /// By kind: types, each with its part of the weight.
    members: Vec<Vec<(usize, f64)>>,
}

/// How often each room occurs, in an order that doesn't depend on that of the nodes.
#[derive(Debug, Default)]
pub(super) struct Census {
    families: BTreeMap<Family, BTreeMap<Room, f64>>,
}

/// A node as the tables see it, with CPU left for what is to be placed.
#[derive(Debug)]
pub(super) struct Sight<'a> {
    tables: &'a mut Tables,
    room: RoomId,
    free_cards: usize,
    columns: usize,
}

impl Model {
    pub(super) fn new(prices: Arc<PriceTable>) -> Self {
        Self {
            prices,
            families: IndexMap::default(),
        }
    }

    /// The node, and what of its CPU would be left.
    pub(super) fn sight(&mut self, shape: &Shape, state: &NodeState, left: MilliCpu) -> Sight<'_> {
        let family = self.family(shape, state);
        let (grid, tables) = (&self.prices.grid, &mut self.families[family].tables);
        let room = grid.room(shape, state, tables);
        let columns = grid.columns_free(left, tables);
        let free_cards = free_cards(shape, state);
        Sight {
            room: tables.room(&room),
            tables,
            free_cards,
            columns,
        }
    }

    /// Counts `node`, `times` over.
    pub(super) fn count(&mut self, census: &mut Census, node: &Node, times: f64) {
        let at = self.family(&node.shape, &node.state);
        let (family, of_family) = self.families.get_index(at).expect("just looked up");
        let room = self
            .prices
            .grid
            .room(&node.shape, &node.state, &of_family.tables);
        let rooms = census.families.entry(*family).or_default();
        *rooms.entry(room).or_default() += times;
    }

    /// The logarithms of Z of the rooms of `census` together, and the expected number of tasks of
    /// each type in their random completions.
    pub(super) fn expected_use(&mut self, census: &Census) -> (f64, Vec<f64>) {
        let mut ln_total = 0.0;
        let mut used = vec![0.0; self.prices.types.len()];
        for (family, rooms) in &census.families {
            let of_family = self
                .families
                .get_mut(family)
                .expect("counting made its tables");
            let mut expected = vec![0.0; of_family.members.len()];
            ln_total += of_family.tables.expected_use(rooms, &mut expected);
            for (members, expected) in of_family.members.iter().zip(expected) {
                for &(kind, part) in members {
                    used[kind] += part * expected;
                }
            }
        }
        (ln_total, used)
    }

    fn family(&mut self, shape: &Shape, state: &NodeState) -> usize {
        let family = self.prices.grid.family(shape, state);
        if let Some(known) = self.families.get_index_of(&family) {
            return known;
        }
        let tables = FamilyTables::new(&self.prices, family);
        self.families.insert_full(family, tables).0
    }
}

impl FamilyTables {
    fn new(prices: &PriceTable, family: Family) -> Self {
        let extent = prices.grid.extent(family);
        let mut kinds: IndexMap<_, Vec<(usize, f64)>, FxBuildHasher> = IndexMap::default();
        for (index, priced) in prices.types.iter().enumerate() {
            if let Some(needs) = needs(prices, family, priced) {
                kinds
                    .entry(needs)
                    .or_default()
                    .push((index, priced.ln_weight()));
            }
        }
        let mut steps = Vec::with_capacity(kinds.len());
        let mut members = Vec::with_capacity(kinds.len());
        for ((cpu, units, cards), mut types) in kinds {
            let most = types
                .iter()
                .map(|&(_, ln)| ln)
                .fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = types.iter().map(|&(_, ln)| libm::exp(ln - most)).sum();
            for (_, part) in &mut types {
                *part = libm::exp(*part - most) / sum;
            }
            steps.push(Step {
                cpu,
                units,
                cards,
                ln_weight: most + libm::log(sum),
            });
            members.push(types);
        }
        Self {
            tables: Tables::new(&steps, extent.columns, extent.cards),
            members,
        }
    }
}

/// Columns, units a card and cards of a type on nodes of `family`; `None` if it can't go there.
fn needs(prices: &PriceTable, family: Family, priced: &Priced) -> Option<(usize, usize, usize)> {
    let kind = &priced.kind;
    let columns = prices.grid.columns_asked(kind.cpu);
    let units = view::units_asked(kind.compute_each);
    if units == 0 || kind.gpus == 0 {
        return Some((columns, 0, 0));
    }
    let units = if kind.gpus > 1 { CARD } else { units };
    let suits = match family.cards {
        Cards::None => false,
        Cards::Whole => units == CARD,
        Cards::Shared => true,
    };
    (suits && kind.models.intersects(family.models)).then_some((
        columns,
        units,
        usize::from(kind.gpus),
    ))
}

fn free_cards(shape: &Shape, state: &NodeState) -> usize {
    let cards = shape.gpus().iter().zip(&state.gpus);
    cards
        .filter(|(spec, gpu)| CardRoom::of(spec, gpu) == CardRoom::Free)
        .count()
}

impl Sight<'_> {
    /// Change of `ln Z` when CPU goes.
    pub(super) fn after_host(&self) -> f64 {
        self.tables.after_host(self.room, self.columns)
    }

    /// Change of `ln Z` when CPU and `cards` free cards go.
    pub(super) fn after_whole(&mut self, cards: usize) -> f64 {
        let left = self.free_cards.saturating_sub(cards);
        self.tables.after_whole(self.room, left, self.columns)
    }

    /// Change of `ln Z` when CPU goes and `card` is left with `units`.
    pub(super) fn after_share(&mut self, card: CardRoom, units: usize) -> f64 {
        let left = self.tables.usable(units);
        let from = match card {
            CardRoom::Closed => return self.after_host(),
            CardRoom::Free => From::FreeCard,
            CardRoom::Part(units) => From::Part(self.tables.usable(units)),
        };
        self.tables.after_share(self.room, from, left, self.columns)
    }
}
