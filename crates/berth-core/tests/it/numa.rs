//! The prediction against a plain model of the kubelet: every hint, every merge.

use berth_core::limits;
use berth_core::numa::{
    Amounts, Cell, CellSet, Container, Policy, Runs, Scope, Topology, Unknown, Verdict, predict,
};
use proptest::prelude::*;

/// A hint as the kubelet's managers give it: a set of NUMA nodes, or none for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hint {
    affinity: Option<u64>,
    preferred: bool,
}

/// Hints of one resource: each set with enough free, preferred if it is as small as the total needs.
fn hints(cells: &[Cell], at: usize, ask: i64) -> Vec<Hint> {
    if ask == 0 {
        return vec![Hint {
            affinity: None,
            preferred: true,
        }];
    }
    let sum = |mask: u64, of: fn(&Cell) -> &Amounts| -> i64 {
        let inside = cells.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1);
        inside.map(|(_, cell)| of(cell)[at]).sum()
    };
    let masks = || 1u64..1 << cells.len();
    let enough = masks().filter(|&mask| sum(mask, |cell| &cell.total) >= ask);
    let fewest = enough.map(u64::count_ones).min();
    let fewest = fewest.unwrap_or(u32::try_from(cells.len()).expect("few"));
    let free = masks().filter(|&mask| sum(mask, |cell| &cell.free) >= ask);
    let found: Vec<Hint> = free
        .map(|mask| Hint {
            affinity: Some(mask),
            preferred: mask.count_ones() == fewest,
        })
        .collect();
    if found.is_empty() {
        // No possible affinity: a hint for any, and not preferred.
        return vec![Hint {
            affinity: None,
            preferred: false,
        }];
    }
    found
}

/// The best merge of one hint of each resource, as the kubelet ranks them; `None` where nothing is
/// preferred.
fn merge(policy: Policy, cells: &[Cell], asks: &Amounts) -> Option<Option<u64>> {
    let all: u64 = (1 << cells.len()) - 1;
    let of_resource = |at: usize| {
        let mut hints = hints(cells, at, asks[at]);
        if policy == Policy::SingleNumaNode {
            hints.retain(|hint| {
                hint.preferred && hint.affinity.is_none_or(|mask| mask.count_ones() == 1)
            });
        }
        hints
    };
    let providers: Vec<Vec<Hint>> = (0..asks.len()).map(of_resource).collect();
    let mut best: Option<u64> = None;
    let mut permutations = vec![Vec::new()];
    for provider in &providers {
        let longer = |so_far: &Vec<Hint>| -> Vec<Vec<Hint>> {
            let with = |&hint: &Hint| so_far.iter().copied().chain([hint]).collect();
            provider.iter().map(with).collect()
        };
        permutations = permutations.iter().flat_map(longer).collect();
    }
    for permutation in permutations {
        let masks: Vec<u64> = permutation
            .iter()
            .filter_map(|hint| hint.affinity)
            .collect();
        let preferred = permutation.iter().all(|hint| hint.preferred)
            && masks.iter().all(|mask| *mask == masks[0]);
        let merged = masks.iter().fold(all, |merged, mask| merged & mask);
        if !preferred || merged == 0 {
            continue;
        }
        let narrower = |old: u64| {
            let (new, old) = ((merged.count_ones(), merged), (old.count_ones(), old));
            new < old
        };
        if best.is_none_or(narrower) {
            best = Some(merged);
        }
    }
    let nothing_asked = asks.iter().all(|&ask| ask == 0);
    best.map(|mask| (!nothing_asked).then_some(mask))
}

/// The kubelet's answer, by looking at everything.
fn kubelet(topology: &Topology, containers: &[Container]) -> Verdict {
    let policy = topology.policy;
    if matches!(policy, Policy::None | Policy::BestEffort) {
        let cells = vec![None; containers.len()];
        return Verdict::Admitted { cells };
    }
    let set = |mask: Option<u64>| mask.map(CellSet);
    if topology.scope == Scope::Pod {
        let n = topology.cells.first().map_or(0, |cell| cell.free.len());
        let of = |at: usize| {
            let asks = |when: Runs| {
                let those = containers
                    .iter()
                    .filter(move |container| container.runs == when);
                those.map(move |container| container.asks[at])
            };
            asks(Runs::Beside)
                .sum::<i64>()
                .max(asks(Runs::Before).max().unwrap_or(0))
        };
        let together: Amounts = (0..n).map(of).collect();
        return match merge(policy, &topology.cells, &together) {
            Some(mask) => Verdict::Admitted {
                cells: vec![set(mask); containers.len()],
            },
            None => Verdict::Rejected { container: 0 },
        };
    }
    let (mut cells, mut sets, mut spread) = (topology.cells.clone(), Vec::new(), false);
    for (container, Container { asks, runs }) in containers.iter().enumerate() {
        if spread && asks.iter().any(|&ask| ask > 0) {
            return Verdict::NotAssessed {
                why: Unknown::Spread,
            };
        }
        let Some(mask) = merge(policy, &cells, asks) else {
            return Verdict::Rejected { container };
        };
        sets.push(set(mask));
        if let (Some(mask), Runs::Beside) = (mask, runs) {
            if mask.count_ones() > 1 {
                spread = true;
            } else {
                let cell = &mut cells[mask.trailing_zeros() as usize];
                for (free, ask) in cell.free.iter_mut().zip(asks) {
                    *free -= ask;
                }
            }
        }
    }
    Verdict::Admitted { cells: sets }
}

const RESOURCES: usize = 3;

fn topology() -> impl Strategy<Value = Topology> {
    let policy = prop_oneof![
        1 => Just(Policy::None),
        1 => Just(Policy::BestEffort),
        5 => Just(Policy::Restricted),
        5 => Just(Policy::SingleNumaNode),
    ];
    let scope = prop_oneof![Just(Scope::Container), Just(Scope::Pod)];
    let amount = (0i64..7, 0i64..7).prop_map(|(total, used)| (total, total - used.min(total)));
    let cell = prop::collection::vec(amount, RESOURCES).prop_map(|amounts| Cell {
        total: amounts.iter().map(|(total, _)| *total).collect(),
        free: amounts.iter().map(|(_, free)| *free).collect(),
    });
    (policy, scope, prop::collection::vec(cell, 1..5)).prop_map(|(policy, scope, cells)| Topology {
        policy,
        scope,
        cells,
    })
}

fn containers() -> impl Strategy<Value = Vec<Container>> {
    let ask = prop_oneof![2 => Just(0i64), 3 => 1i64..6, 1 => 6i64..14];
    let runs = prop_oneof![1 => Just(Runs::Before), 3 => Just(Runs::Beside)];
    let container = (prop::collection::vec(ask, RESOURCES), runs);
    prop::collection::vec(container, 1..4).prop_map(|all| {
        let mut containers: Vec<Container> = all
            .into_iter()
            .map(|(asks, runs)| Container {
                asks: asks.into_iter().collect(),
                runs,
            })
            .collect();
        // The kubelet looks at those that run first before the others.
        containers.sort_by_key(|container| container.runs == Runs::Beside);
        containers
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn the_prediction_is_the_kubelets_answer(
        topology in topology(),
        containers in containers(),
    ) {
        let found = predict(&topology, &containers);
        let bound = Verdict::NotAssessed { why: Unknown::Bound };
        prop_assert_ne!(&found, &bound);
        prop_assert_eq!(found, kubelet(&topology, &containers));
    }
}

fn amounts(of: [i64; RESOURCES]) -> Amounts {
    of.into_iter().collect()
}

fn one(asks: [i64; RESOURCES]) -> Vec<Container> {
    vec![Container {
        asks: amounts(asks),
        runs: Runs::Beside,
    }]
}

/// A machine of 34 NUMA nodes: two with cores, 32 with a part of a card's memory each, and every
/// second one in use in part.
#[test]
fn thirty_four_numa_nodes_are_within_the_bound() {
    let cell = |total: [i64; RESOURCES], used: i64| Cell {
        total: amounts(total),
        free: total.iter().map(|amount| (amount - used).max(0)).collect(),
    };
    let with = |policy, cells| Topology {
        policy,
        scope: Scope::Pod,
        cells,
    };
    let mut cells: Vec<Cell> = (0..2).map(|_| cell([72, 480, 0], 8)).collect();
    cells.extend((0..32).map(|at| cell([0, 96, 1], at % 2)));
    let restricted = with(Policy::Restricted, cells.clone());
    let check = |asks, expected: Option<u32>| match predict(&restricted, &one(asks)) {
        Verdict::Admitted { cells } => {
            assert_eq!(cells[0].map(CellSet::len), expected, "{asks:?}");
        }
        Verdict::Rejected { .. } => assert_eq!(expected, None, "{asks:?}"),
        Verdict::NotAssessed { why } => panic!("{asks:?}: {why:?}"),
    };
    check([64, 400, 0], Some(1));
    check([128, 900, 0], Some(2));
    check([0, 0, 16], Some(16));
    // Cores and cards hang off different NUMA nodes.
    check([8, 0, 1], None);
    // Half of the cards are in use, and seventeen are asked for.
    check([0, 0, 17], None);
    // 34 alike but for what is in use of each of three resources: half of them are needed.
    let cells: Vec<Cell> = (0..34i64)
        .map(|at| {
            let total = amounts([8, 64, 2]);
            let free = amounts([8 - at % 3, 64 - at % 5, 2 - at % 2]);
            Cell { total, free }
        })
        .collect();
    let restricted = with(Policy::Restricted, cells);
    for asks in [
        [130, 1040, 33],
        [129, 1030, 34],
        [136, 1088, 34],
        [120, 1025, 33],
    ] {
        let found = predict(&restricted, &one(asks));
        let assessed = !matches!(found, Verdict::NotAssessed { .. });
        assert!(assessed, "{asks:?}: {found:?}");
    }
    let many = with(
        Policy::SingleNumaNode,
        vec![cell([1, 1, 1], 0); limits::NUMA_NODES_MAX + 1],
    );
    assert_eq!(
        predict(&many, &one([1, 0, 0])),
        Verdict::NotAssessed {
            why: Unknown::TooMany
        }
    );
}
