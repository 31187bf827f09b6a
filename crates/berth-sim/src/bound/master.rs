//! The restricted master: what can be reached with the configurations known so far, as a linear
//! program whose dual has the prices.
//!
//! Solved as its dual, which has one unknown for each price and each machine's value:
//!
//! ```text
//! minimise  sum of arrived x price + sum of nodes x (value + price of all memory)
//! so that   value of its machine + price of its memory + prices of its pods >= GPU of its pods,
//!           for each configuration
//!           0 <= price, 0 <= value
//! ```
//!
//! Invariant: none: the solver's answer is a proposal, and nothing that is proved depends on it.

use std::collections::BTreeSet;

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SupportedConeT};

use super::SCALE;
use super::pricing::Column;
use super::problem::Normal;

/// Configurations kept, at most; those furthest from any use go first.
const COLUMNS_MAX: usize = 6_000;

/// Accuracy of the last rounds, as a part of the optimum.
const ACCURACY: f64 = 1e-7;

/// Steps of the solver in one round, at most; it needs about 25.
const ITERATIONS_MAX: u32 = 100;

/// The configurations known and what they say about prices.
#[derive(Debug)]
pub(super) struct Master {
    known: BTreeSet<Column>,
    columns: Vec<Column>,
    /// Of each kind, then of memory on each machine, in price units.
    prices: Vec<f64>,
    reached_milli: f64,
    aim_milli: f64,
}

/// Minimise `aims x` so that `matrix x <= limits`.
#[derive(Debug)]
struct Program {
    matrix: CscMatrix<f64>,
    aims: Vec<f64>,
    limits: Vec<f64>,
}

impl Master {
    pub(super) fn new(normal: &Normal) -> Self {
        Self {
            known: BTreeSet::new(),
            columns: Vec::new(),
            prices: vec![0.0; normal.kinds.len() + normal.machines.len()],
            reached_milli: 0.0,
            aim_milli: 0.0,
        }
    }

    /// Prices proposed: of each kind, then of memory on each machine, in price units.
    pub(super) fn prices(&self) -> &[f64] {
        &self.prices
    }

    /// What is reached with the configurations known, in thousandths of a GPU.
    pub(super) fn reached_milli(&self) -> f64 {
        self.reached_milli
    }

    /// The solver's own estimate of that.
    pub(super) fn aim_milli(&self) -> f64 {
        self.aim_milli
    }

    /// Number of configurations.
    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    /// Takes configurations in; true if any is new.
    pub(super) fn add(&mut self, columns: Vec<Column>) -> bool {
        let before = self.columns.len();
        for column in columns {
            if !column.pods.is_empty() && self.known.insert(column.clone()) {
                self.columns.push(column);
            }
        }
        self.columns.len() > before
    }

    /// Solves for prices, to the part `gap` of the optimum; leaves them as they are if the solver
    /// fails.
    pub(super) fn solve(&mut self, normal: &Normal, gap: f64) {
        let program = self.program(normal);
        let unknowns = program.aims.len();
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_iter(ITERATIONS_MAX)
            .tol_gap_rel(gap.max(ACCURACY))
            .tol_gap_abs(ACCURACY)
            .build()
            .expect("the settings are constant");
        let solver = DefaultSolver::new(
            &CscMatrix::zeros((unknowns, unknowns)),
            &program.aims,
            &program.matrix,
            &program.limits,
            &[SupportedConeT::NonnegativeConeT(program.limits.len())],
            settings,
        );
        let Ok(mut solver) = solver else {
            return;
        };
        solver.solve();
        let solution = &solver.solution;
        if solution.x.iter().any(|x| !x.is_finite()) {
            return;
        }
        let (n_kinds, n_machines) = (normal.kinds.len(), normal.machines.len());
        let (of_kinds, rest) = self.prices.split_at_mut(n_kinds);
        let unit = (1000 * SCALE) as f64;
        for (price, x) in of_kinds.iter_mut().zip(&solution.x) {
            *price = unit * x;
        }
        let memory = rest.iter_mut().zip(&normal.machines);
        for ((price, machine), x) in memory.zip(&solution.x[n_kinds + n_machines..]) {
            *price = unit * x / machine.memory.max(1) as f64;
        }
        // The duals of the dual are numbers of nodes with each configuration.
        self.reached_milli = 1000.0 * reached(normal, &self.columns, &solution.z);
        self.aim_milli = 1000.0 * solution.obj_val;
        self.forget(&solution.s);
    }

    /// The linear program in GPUs: a price for each kind, a value for each machine, and a price for
    /// all of its memory.
    fn program(&self, normal: &Normal) -> Program {
        let (n_kinds, n_machines) = (normal.kinds.len(), normal.machines.len());
        let unknowns = n_kinds + 2 * n_machines;
        let moments = normal.moments as f64;
        let gpus = |value: i64| value as f64 / (1000 * SCALE) as f64;
        let arrived = normal
            .kinds
            .iter()
            .map(|kind| kind.arrived as f64 / moments);
        let nodes = normal
            .machines
            .iter()
            .map(|machine| f64::from(machine.nodes));
        let aims = arrived.chain(nodes.clone()).chain(nodes).collect();
        let rows = self.columns.len() + unknowns;
        let (mut at, mut of, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut limits = Vec::with_capacity(rows);
        for (row, column) in self.columns.iter().enumerate() {
            let (mut gpu, mut memory) = (0.0, 0);
            for &(kind, n) in &column.pods {
                at.push(row);
                of.push(kind);
                values.push(-f64::from(n));
                gpu += f64::from(n) * gpus(normal.kinds[kind].value);
                memory += i64::from(n) * normal.kinds[kind].memory;
            }
            let machine = column.machine;
            let of_memory = memory as f64 / normal.machines[machine].memory.max(1) as f64;
            at.extend([row, row]);
            of.extend([n_kinds + machine, n_kinds + n_machines + machine]);
            values.extend([-1.0, -of_memory]);
            limits.push(-gpu);
        }
        for unknown in 0..unknowns {
            at.push(limits.len());
            of.push(unknown);
            values.push(-1.0);
            limits.push(0.0);
        }
        Program {
            matrix: CscMatrix::new_from_triplets(rows, unknowns, at, of, values),
            aims,
            limits,
        }
    }

    /// Forgets the configurations that are furthest from being worth it, if there are too many.
    fn forget(&mut self, slack: &[f64]) {
        if self.columns.len() <= COLUMNS_MAX {
            return;
        }
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by(|&a, &b| slack[a].total_cmp(&slack[b]).then(a.cmp(&b)));
        order.truncate(COLUMNS_MAX / 2);
        order.sort_unstable();
        self.columns = order.iter().map(|&at| self.columns[at].clone()).collect();
        self.known = self.columns.iter().cloned().collect();
    }
}

/// GPUs that `amounts` of the configurations reach, each scaled so that no machine, memory or kind
/// is used beyond what there is of it.
fn reached(normal: &Normal, columns: &[Column], amounts: &[f64]) -> f64 {
    let mut nodes = vec![0.0; normal.machines.len()];
    let mut memory = nodes.clone();
    let mut pods = vec![0.0; normal.kinds.len()];
    for (column, amount) in columns.iter().zip(amounts) {
        let amount = amount.max(0.0);
        nodes[column.machine] += amount;
        for &(kind, n) in &column.pods {
            pods[kind] += amount * f64::from(n);
            memory[column.machine] += amount * f64::from(n) * normal.kinds[kind].memory as f64;
        }
    }
    let moments = normal.moments as f64;
    let part = |there: f64, used: f64| if used > there { there / used } else { 1.0 };
    let machines = nodes.iter().zip(&memory).zip(&normal.machines);
    let machines = machines.map(|((&nodes, &memory), machine)| {
        let there = f64::from(machine.nodes);
        part(there, nodes).min(part(there * machine.memory as f64, memory))
    });
    let machines: Vec<f64> = machines.collect();
    let kinds = pods.iter().zip(&normal.kinds);
    let kinds = kinds.map(|(&used, kind)| part(kind.arrived as f64 / moments, used));
    let kinds: Vec<f64> = kinds.collect();
    let gpus = columns.iter().zip(amounts).map(|(column, amount)| {
        let of = column.pods.iter();
        let scale = of.fold(machines[column.machine], |a, &(kind, _)| a.min(kinds[kind]));
        let gpu = |&(kind, n): &(usize, u32)| i64::from(n) * normal.kinds[kind].value;
        let gpu: i64 = column.pods.iter().map(gpu).sum();
        amount.max(0.0) * scale * gpu as f64 / (1000 * SCALE) as f64
    });
    gpus.sum()
}
