//! A problem brought to the size and grid that the search is bounded by.
//!
//! Invariant: whatever is rounded is rounded in the cluster's favour (requests down, GPU of a pod
//! up, models wider), so that a bound of the normal form is a bound of the problem. Not here: the
//! search.

use berth_core::amount::{Bytes, MilliCpu};
use berth_core::id::GpuModelId;
use berth_core::limits;
use berth_core::model::gpu::ModelSet;

use super::{Kind, Machine, Problem, SCALE};

/// Kinds that the search tells apart, at most: four times those of the richest public list.
const KINDS_MAX: usize = 1_024;

/// Kinds times units of a card, at most: what filling one card costs.
const KIND_UNITS_MAX: usize = 1 << 17;

/// Shapes that the search tells apart, at most.
const MACHINES_MAX: usize = 128;

/// Cards times columns of CPU, over all shapes, at most: four times those of the public cluster.
const CELLS_MAX: i64 = 1 << 24;

/// Units of memory of the largest machine, at most: prices for them stay within 64 bits.
const MEMORY_UNITS_MAX: i64 = 1 << 24;

/// The finest unit of memory: 1 MiB.
const MEMORY_UNIT_MIN: i64 = 1 << 20;

/// A kind in units of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NormalKind {
    pub(super) models: ModelSet,
    pub(super) gpus: u8,
    /// Units of each card.
    pub(super) units: u16,
    /// Columns of CPU.
    pub(super) columns: u32,
    /// Units of memory.
    pub(super) memory: i64,
    /// GPU of one pod, in price units.
    pub(super) value: i64,
    pub(super) arrived: u64,
}

/// A shape in units of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NormalMachine {
    pub(super) models: ModelSet,
    pub(super) gpus: u8,
    pub(super) columns: u32,
    pub(super) memory: i64,
    pub(super) nodes: u32,
}

/// The normal form of a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Normal {
    pub(super) kinds: Vec<NormalKind>,
    pub(super) machines: Vec<NormalMachine>,
    pub(super) moments: u64,
    /// Units of one card.
    pub(super) card: u16,
    pub(super) rounded: bool,
    capacity_milli: i64,
}

/// A kind with the GPU of its best member: joined kinds have members of several sizes.
#[derive(Debug, Clone, Copy)]
struct Joined {
    kind: Kind,
    value_milli: i64,
}

impl Normal {
    pub(super) fn of(problem: &Problem) -> Self {
        let mut machines = distinct_machines(&problem.machines);
        let gpus = machines
            .iter()
            .map(|m| i64::from(m.nodes) * i64::from(m.gpus));
        let capacity_milli = 1000 * gpus.sum::<i64>();
        let mut rounded = machines.len() > MACHINES_MAX;
        while machines.len() > MACHINES_MAX {
            machines = in_pairs(&machines, join_machines);
        }
        let mut kinds = distinct_kinds(&problem.kinds, &machines);
        let unit = |kinds: &[Joined]| {
            let shares = kinds.iter().filter(|joined| joined.kind.gpus == 1);
            shares.fold(1000, |a, joined| gcd(a, i64::from(joined.kind.milli_each)))
        };
        while kinds.len() > KINDS_MAX.min(KIND_UNITS_MAX * unit(&kinds) as usize / 1000) {
            rounded = true;
            kinds = in_pairs(&kinds, join_kinds);
        }
        let unit = unit(&kinds);
        let common = kinds
            .iter()
            .fold(0, |a, joined| gcd(a, joined.kind.cpu.0))
            .max(1);
        let cells = machines
            .iter()
            .map(|m| i64::from(m.gpus) * (m.cpu.0 / common));
        let wider = cells.sum::<i64>() / CELLS_MAX + 1;
        let column = common * wider;
        let memory_most = machines.iter().map(|m| m.memory.0).max().unwrap_or(0);
        let memory_unit = MEMORY_UNIT_MIN.max(memory_most / MEMORY_UNITS_MAX + 1);
        rounded |= wider > 1 || memory_unit != MEMORY_UNIT_MIN;
        Self {
            kinds: kinds
                .iter()
                .map(|Joined { kind, value_milli }| NormalKind {
                    models: kind.models,
                    gpus: kind.gpus,
                    units: small(i64::from(kind.milli_each) / unit),
                    columns: small(kind.cpu.0 / column),
                    memory: kind.memory.0 / memory_unit,
                    value: value_milli * SCALE,
                    arrived: kind.arrived,
                })
                .collect(),
            machines: machines
                .iter()
                .map(|machine| NormalMachine {
                    models: machine.models,
                    gpus: machine.gpus,
                    columns: small(machine.cpu.0 / column),
                    memory: (machine.memory.0 + memory_unit - 1) / memory_unit,
                    nodes: machine.nodes,
                })
                .collect(),
            moments: problem.moments.max(1),
            card: small(1000 / unit),
            rounded,
            capacity_milli,
        }
    }

    /// GPU of the cluster, in thousandths.
    pub(super) fn capacity_milli(&self) -> i64 {
        self.capacity_milli
    }

    /// The highest price that can be of use: of a pod of each kind, then of a unit of memory of each
    /// machine. All of a machine's memory is worth no more than all its cards.
    pub(super) fn prices_max(&self) -> Vec<i64> {
        let of_kinds = self.kinds.iter().map(|kind| kind.value);
        let of_memory = self.machines.iter();
        let of_memory = of_memory.map(|m| i64::from(m.gpus) * 1000 * SCALE / m.memory.max(1));
        of_kinds.chain(of_memory).collect()
    }

    /// Whether a pod of `kind` fits `machine` when it is empty.
    pub(super) fn fits(kind: &NormalKind, machine: &NormalMachine) -> bool {
        kind.gpus <= machine.gpus
            && kind.columns <= machine.columns
            && kind.memory <= machine.memory
            && kind.models.intersects(machine.models)
    }

    /// GPU that arrived, in thousandths times moments.
    pub(super) fn demand_milli(&self) -> i128 {
        let of = |kind: &NormalKind| i128::from(kind.value / SCALE) * i128::from(kind.arrived);
        self.kinds.iter().map(of).sum()
    }
}

/// Machines with GPUs, alike ones together, sorted.
fn distinct_machines(machines: &[Machine]) -> Vec<Machine> {
    let with_gpus = machines.iter().filter(|m| m.nodes > 0 && m.gpus > 0);
    let mut machines: Vec<Machine> = with_gpus
        .map(|machine| Machine {
            cpu: MilliCpu(machine.cpu.0.clamp(0, limits::CPU_MAX.0)),
            memory: Bytes(machine.memory.0.clamp(0, limits::MEMORY_MAX.0)),
            ..*machine
        })
        .collect();
    machines.sort_by_key(|m| (m.models, m.gpus, m.cpu, m.memory));
    machines.dedup_by(|b, a| {
        let alike = Machine {
            nodes: a.nodes,
            ..*b
        } == *a;
        if alike {
            a.nodes = a.nodes.saturating_add(b.nodes);
        }
        alike
    });
    machines
}

/// Kinds that use a GPU and fit an empty machine, alike ones together, sorted.
fn distinct_kinds(kinds: &[Kind], machines: &[Machine]) -> Vec<Joined> {
    let fits = |kind: &Kind| {
        machines.iter().any(|machine| {
            kind.gpus <= machine.gpus
                && kind.cpu <= machine.cpu
                && kind.memory <= machine.memory
                && kind.models.intersects(machine.models)
        })
    };
    let with_gpus = kinds
        .iter()
        .filter(|kind| kind.arrived > 0 && kind.gpus > 0);
    let mut kinds: Vec<Kind> = with_gpus
        .filter(|kind| kind.milli_each > 0 && fits(kind))
        .map(|kind| Kind {
            cpu: kind.cpu.max(MilliCpu(0)),
            memory: kind.memory.max(Bytes(0)),
            milli_each: if kind.gpus > 1 {
                1000
            } else {
                kind.milli_each.min(1000)
            },
            ..*kind
        })
        .collect();
    kinds.sort_by_key(|k| (k.models, k.gpus, k.milli_each, k.cpu, k.memory));
    kinds.dedup_by(|b, a| {
        let alike = Kind {
            arrived: a.arrived,
            ..*b
        } == *a;
        if alike {
            a.arrived = a.arrived.saturating_add(b.arrived);
        }
        alike
    });
    let value_milli = |kind: &Kind| i64::from(kind.milli_each) * i64::from(kind.gpus);
    let joined = kinds.iter().map(|kind| Joined {
        kind: *kind,
        value_milli: value_milli(kind),
    });
    joined.collect()
}

/// Neighbours joined two by two.
fn in_pairs<T: Copy>(list: &[T], join: impl Fn(T, T) -> T) -> Vec<T> {
    let pair = |pair: &[T]| match *pair {
        [a, b] => join(a, b),
        _ => pair[0],
    };
    list.chunks(2).map(pair).collect()
}

/// A kind that is as easy to place as either and as good as either.
fn join_kinds(a: Joined, b: Joined) -> Joined {
    Joined {
        kind: Kind {
            models: union(a.kind.models, b.kind.models),
            gpus: a.kind.gpus.min(b.kind.gpus),
            milli_each: a.kind.milli_each.min(b.kind.milli_each),
            cpu: a.kind.cpu.min(b.kind.cpu),
            memory: a.kind.memory.min(b.kind.memory),
            arrived: a.kind.arrived.saturating_add(b.kind.arrived),
        },
        value_milli: a.value_milli.max(b.value_milli),
    }
}

/// A machine that holds whatever either holds.
fn join_machines(a: Machine, b: Machine) -> Machine {
    Machine {
        models: union(a.models, b.models),
        gpus: a.gpus.max(b.gpus),
        cpu: a.cpu.max(b.cpu),
        memory: a.memory.max(b.memory),
        nodes: a.nodes.saturating_add(b.nodes),
    }
}

/// The models of either.
fn union(a: ModelSet, b: ModelSet) -> ModelSet {
    if a == ModelSet::ANY || b == ModelSet::ANY {
        return ModelSet::ANY;
    }
    let models = (0..limits::GPU_MODELS_MAX).map(GpuModelId::at);
    models
        .filter(|&model| b.contains(model))
        .fold(a, ModelSet::with)
}

fn gcd(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn small<T: TryFrom<i64>>(amount: i64) -> T {
    T::try_from(amount).ok().expect("amounts fit the grid")
}
