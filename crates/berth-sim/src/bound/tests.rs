//! The bound against every way to fill small clusters, and against hostile problems.

use std::collections::BTreeSet;

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::id::GpuModelId;
use berth_core::model::gpu::ModelSet;
use proptest::prelude::*;

use super::*;

fn model(bit: usize) -> ModelSet {
    ModelSet::NONE.with(GpuModelId::at(bit))
}

fn kind(cpu: i64, memory_gib: i64, gpus: u8, milli_each: u16, arrived: u64) -> Kind {
    Kind {
        cpu: MilliCpu(cpu),
        memory: Bytes::from_mib(memory_gib * 1024),
        gpus,
        milli_each,
        models: ModelSet::ANY,
        arrived,
    }
}

fn machine(nodes: u32, cpu: i64, memory_gib: i64, gpus: u8) -> Machine {
    Machine {
        nodes,
        cpu: MilliCpu(cpu),
        memory: Bytes::from_mib(memory_gib * 1024),
        gpus,
        models: model(0),
    }
}

fn problem(machines: Vec<Machine>, kinds: Vec<Kind>) -> Problem {
    Problem {
        machines,
        kinds,
        moments: 1,
    }
}

fn bound(problem: &Problem) -> Certificate {
    certify(problem, &Effort::default(), |_| {})
}

/// What is left of a node, cards sorted.
type Rest = (i64, i64, Vec<i64>);

/// The most GPU that can be in use, by trying every placement, in thousandths.
fn best_placement(nodes: &mut Vec<(ModelSet, Rest)>, pods: &[Kind]) -> i64 {
    let Some((pod, others)) = pods.split_first() else {
        return 0;
    };
    let mut best = best_placement(nodes, others);
    let mut seen = BTreeSet::new();
    for at in 0..nodes.len() {
        let (models, rest) = nodes[at].clone();
        if !models.intersects(pod.models) || !seen.insert(rest.clone()) {
            continue;
        }
        let mut choices: Vec<Vec<i64>> = Vec::new();
        if pod.gpus == 1 {
            for card in 0..rest.2.len() {
                let mut cards = rest.2.clone();
                cards[card] -= i64::from(pod.milli_each);
                choices.push(cards);
            }
        } else {
            let mut cards = rest.2.clone();
            let free = cards.iter().filter(|&&free| free == 1000).count();
            if free >= usize::from(pod.gpus) {
                let whole = cards.iter_mut().filter(|free| **free == 1000);
                whole.take(usize::from(pod.gpus)).for_each(|free| *free = 0);
                choices.push(cards);
            }
        }
        for mut cards in choices {
            let (cpu, memory) = (rest.0 - pod.cpu.0, rest.1 - pod.memory.0);
            if cpu < 0 || memory < 0 || cards.iter().any(|&free| free < 0) {
                continue;
            }
            cards.sort_unstable();
            nodes[at].1 = (cpu, memory, cards);
            let value = i64::from(pod.gpus) * i64::from(pod.milli_each);
            best = best.max(value + best_placement(nodes, others));
        }
        nodes[at].1 = rest;
    }
    best
}

fn brute_force(problem: &Problem) -> i64 {
    let mut nodes: Vec<(ModelSet, Rest)> = Vec::new();
    for machine in &problem.machines {
        for _ in 0..machine.nodes {
            let cards = vec![1000; usize::from(machine.gpus)];
            nodes.push((machine.models, (machine.cpu.0, machine.memory.0, cards)));
        }
    }
    let pods: Vec<Kind> = problem
        .kinds
        .iter()
        .flat_map(|kind| vec![*kind; kind.arrived as usize])
        .collect();
    best_placement(&mut nodes, &pods)
}

fn small_problem() -> impl Strategy<Value = Problem> {
    let machine =
        (1u32..3, 1i64..9, 1i64..9, 1u8..4, 0usize..2).prop_map(|(n, cpu, mem, gpus, at)| {
            Machine {
                models: model(at),
                ..machine(n, cpu * 1000, mem, gpus)
            }
        });
    let milli = prop::sample::select(vec![190u16, 230, 470, 500, 810, 1000]);
    let kind = (0i64..5, 0i64..4, 1u8..3, milli, 1u64..3, 0usize..3).prop_map(
        |(cpu, memory, gpus, milli, arrived, models)| {
            let milli = if gpus > 1 { 1000 } else { milli };
            Kind {
                models: [ModelSet::ANY, model(0), model(1)][models],
                ..kind(cpu * 1000, memory, gpus, milli, arrived)
            }
        },
    );
    let machines = prop::collection::vec(machine, 1..3);
    let kinds = prop::collection::vec(kind, 1..5);
    (machines, kinds).prop_map(|(machines, kinds)| problem(machines, kinds))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn no_placement_exceeds_the_bound(problem in small_problem()) {
        let certificate = bound(&problem);
        let best = brute_force(&problem);
        prop_assert!(certificate.bound_milli >= best, "{:?} {}", certificate, best);
        prop_assert!(certificate.reached_milli <= certificate.bound_milli as f64 + 1e-3);
        prop_assert!(certificate.bound_milli as f64 <= certificate.demand_milli + 1.0);
        prop_assert!(certificate.bound_milli <= certificate.capacity_milli);
    }

    #[test]
    fn more_pods_and_more_nodes_never_lower_the_bound(problem in small_problem(), extra in 1u64..4) {
        let before = bound(&problem).bound_milli;
        let mut more = problem.clone();
        more.kinds[0].arrived += extra;
        prop_assert!(bound(&more).bound_milli >= before - 2);
        let mut more = problem.clone();
        more.machines[0].nodes += 1;
        prop_assert!(bound(&more).bound_milli >= before - 2);
    }

    #[test]
    fn any_prices_give_a_bound(problem in small_problem(), parts in prop::collection::vec(0.0f64..=1.0, 8)) {
        let normal = Normal::of(&problem);
        let most = normal.prices_max();
        let of = |(at, &most): (usize, &i64)| (parts[at % parts.len()] * most as f64) as i64;
        let prices: Vec<i64> = most.iter().enumerate().map(of).collect();
        let found = Pricing::new(&normal).price(&prices);
        let value = lagrange(&normal, &prices, &found.values);
        prop_assert!(value >= i128::from(brute_force(&problem)) * i128::from(SCALE));
    }
}

/// Problems whose linear program is solved on paper.
#[test]
fn the_bound_is_the_optimum_of_the_linear_program() {
    let check = |machines: Vec<Machine>, kinds: Vec<Kind>, optimum: i64| {
        let certificate = bound(&problem(machines, kinds));
        assert_eq!(
            certificate.ending,
            Ending::Converged,
            "{certificate:?} {optimum}"
        );
        assert!(
            (certificate.bound_milli - optimum).abs() <= 1,
            "{certificate:?} {optimum}"
        );
    };
    // Two 810s never share a card.
    check(
        vec![machine(1, 8000, 8, 2)],
        vec![kind(0, 0, 1, 810, 9)],
        1620,
    );
    // Cards with two 470s, until there are no more of them; then 810s.
    let kinds = vec![kind(0, 0, 1, 470, 4), kind(0, 0, 1, 810, 9)];
    check(vec![machine(1, 8000, 8, 4)], kinds, 2 * 940 + 2 * 810);
    // CPU for one whole card only; the half card beside it needs none.
    let kinds = vec![kind(5000, 0, 1, 1000, 9), kind(0, 0, 1, 500, 1)];
    check(vec![machine(1, 8000, 8, 2)], kinds, 1500);
    // A pair of whole cards needs both; half of the nodes may hold it in the linear program.
    let kinds = vec![kind(0, 0, 2, 1000, 1), kind(0, 0, 1, 810, 9)];
    check(vec![machine(2, 8000, 8, 2)], kinds, 2000 + 2 * 810);
    // Memory for three of four cards.
    check(
        vec![machine(2, 8000, 6, 4)],
        vec![kind(0, 2, 1, 1000, 9)],
        6000,
    );
    // What names another model stays out.
    let mut elsewhere = kind(0, 0, 1, 1000, 9);
    elsewhere.models = model(1);
    check(
        vec![machine(1, 8000, 8, 4)],
        vec![elsewhere, kind(0, 0, 1, 300, 1)],
        300,
    );
}

#[test]
fn means_over_moments_are_bounded_at_the_mean() {
    let mut problem = problem(vec![machine(1, 8000, 8, 2)], vec![kind(0, 0, 1, 810, 3)]);
    problem.moments = 2;
    // Three arrivals over two moments: one and a half pods of 810.
    assert_eq!(bound(&problem).bound_milli, 1215);
}

#[test]
fn what_cannot_be_placed_is_bounded_by_nothing() {
    let cluster = || vec![machine(3, 8000, 8, 2)];
    let nothing = |machines: Vec<Machine>, kinds: Vec<Kind>| {
        let certificate = bound(&problem(machines, kinds));
        assert_eq!(
            (certificate.bound_milli, certificate.ending),
            (0, Ending::Nothing)
        );
    };
    nothing(vec![], vec![]);
    nothing(cluster(), vec![]);
    nothing(vec![machine(9, 8000, 8, 0)], vec![kind(0, 0, 1, 500, 9)]);
    nothing(cluster(), vec![kind(1000, 1, 0, 0, 99)]);
    nothing(
        cluster(),
        vec![kind(8001, 0, 1, 1000, 9), kind(0, 0, 3, 1000, 9)],
    );
    nothing(
        cluster(),
        vec![kind(0, 9, 1, 1000, 9), kind(0, 0, 1, 1000, 0)],
    );
}

#[test]
fn hostile_problems_get_a_bounded_search_and_a_bound() {
    let effort = Effort {
        rounds_max: 3,
        ..Effort::default()
    };
    let check = |problem: &Problem, at_least: i64| {
        let certificate = certify(problem, &effort, |progress| {
            assert!((0.0..=1.0).contains(&progress.done), "{progress:?}");
        });
        assert!(certificate.bound_milli >= at_least, "{certificate:?}");
        assert!(certificate.bound_milli <= certificate.capacity_milli);
        certificate
    };
    let one = problem(vec![machine(1, 1000, 1, 1)], vec![kind(0, 0, 1, 1, 1)]);
    assert_eq!(check(&one, 1).bound_milli, 1);
    let huge = problem(
        vec![Machine {
            cpu: MilliCpu(i64::MAX),
            memory: Bytes(i64::MAX),
            gpus: 32,
            ..machine(u32::MAX, 0, 0, 0)
        }],
        vec![Kind {
            cpu: MilliCpu(999_999_937),
            memory: Bytes((1 << 60) - 1),
            arrived: u64::MAX,
            ..kind(0, 0, 1, 999, 0)
        }],
    );
    assert!(check(&huge, i64::from(u32::MAX) * 999).rounded);
    // As many kinds as a reader lets through, no two alike, on as many shapes.
    let kinds = (0..20_000).map(|n| {
        kind(
            n % 7919,
            n % 61,
            1 + u8::from(n % 8 == 0),
            1 + (n % 997) as u16,
            1,
        )
    });
    let machines = (0..2_000).map(|n| machine(1, 8000 + n * 13, 64 + n, 1 + (n % 16) as u8));
    let many = problem(machines.collect(), kinds.collect());
    assert!(check(&many, 1_000_000).rounded);
    let negative = problem(vec![machine(1, -5, -5, 1)], vec![kind(-7, -7, 1, 1000, 1)]);
    assert_eq!(check(&negative, 1000).bound_milli, 1000);
}
