//! What the kubelet's Topology Manager will say to a pod on a node: predicted before the bind.
//!
//! The kubelet collects hints (sets of NUMA nodes that could serve a resource, preferred where they
//! are as few as the node's total would need) from its managers, merges one of each by intersection,
//! and calls the result preferred only if all of them were preferred and equal; `restricted` and
//! `single-numa-node` turn away what has no preferred merge (KEP-693; kubelet's
//! `cm/topologymanager`). So a container is let in exactly if one set of NUMA nodes serves every
//! resource and is as small as each of them needs: that set is searched for, instead of enumerating
//! all of them. Invariant: the answer is the kubelet's, or says that it isn't known.
//!
//! Not here: which cores or devices within the set are taken, and groups of NUMA nodes that the
//! memory manager has already spread a container over; a site with those gets
//! [`Verdict::NotAssessed`].

use serde::Serialize;
use smallvec::SmallVec;

use crate::limits;

mod search;

/// Amounts by resource, in an order that a node and its pods share: exclusive CPUs, memory, devices
/// of one kind, ... Zero is not asked for.
pub type Amounts = SmallVec<[i64; 4]>;

/// The kubelet's `topologyManagerPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Alignment is nobody's concern.
    None,
    /// Aligned where possible; never turned away.
    BestEffort,
    /// Turned away unless aligned on as few NUMA nodes as the request needs.
    Restricted,
    /// Turned away unless aligned on one NUMA node.
    SingleNumaNode,
}

/// The kubelet's `topologyManagerScope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Each container is aligned by itself.
    Container,
    /// All containers of a pod are aligned together.
    Pod,
}

/// One NUMA node: by resource, what it has and what of it is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// All of it, in use or not.
    pub total: Amounts,
    /// What nobody holds.
    pub free: Amounts,
}

/// A node as its kubelet sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The policy.
    pub policy: Policy,
    /// The scope.
    pub scope: Scope,
    /// The NUMA nodes in the order of their numbers, at most [`limits::NUMA_NODES_MAX`].
    pub cells: Vec<Cell>,
}

/// A set of NUMA nodes, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct CellSet(pub u64);

/// What a container asks for, and whether it runs beside the others or before them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// What it asks for, by resource.
    pub asks: Amounts,
    /// When it runs.
    pub runs: Runs,
}

/// When a container runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// To its end, before the next one starts: what it held is free for those after it.
    Before,
    /// Beside the others.
    Beside,
}

/// What the kubelet will say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// The pod is let in. For each container in order, the NUMA nodes that it is kept to; none where
    /// it is kept to nothing.
    Admitted {
        /// The sets.
        cells: Vec<Option<CellSet>>,
    },
    /// The pod is turned away, with the kubelet's `TopologyAffinityError`.
    Rejected {
        /// The first container that can't be aligned; the first of all where the pod is the scope.
        container: usize,
    },
    /// It depends on what can't be known from here, see [`Unknown`].
    NotAssessed {
        /// Why.
        why: Unknown,
    },
}

/// Why a verdict can't be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unknown {
    /// An earlier container spreads over several NUMA nodes, and what of each of them it takes
    /// depends on cores and devices.
    Spread,
    /// The search ended at its bound.
    Bound,
    /// More NUMA nodes than [`limits::NUMA_NODES_MAX`].
    TooMany,
}

/// What a policy makes of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Aligned(CellSet),
    /// Nothing in the request has a place on NUMA nodes.
    Anywhere,
    None,
    Unknown(Unknown),
}

impl CellSet {
    /// Whether the NUMA node `at` is in the set.
    #[must_use]
    pub fn contains(self, at: usize) -> bool {
        at < 64 && self.0 >> at & 1 == 1
    }

    /// How many NUMA nodes are in it.
    #[must_use]
    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether none is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What the kubelet of `topology` will say to a pod of `containers`, in the order in which it looks
/// at them: those that run before the others first.
#[must_use]
pub fn predict(topology: &Topology, containers: &[Container]) -> Verdict {
    let turns_away = match topology.policy {
        Policy::None | Policy::BestEffort => false,
        Policy::Restricted | Policy::SingleNumaNode => true,
    };
    if !turns_away {
        let cells = vec![None; containers.len()];
        return Verdict::Admitted { cells };
    }
    if topology.cells.len() > limits::NUMA_NODES_MAX {
        let why = Unknown::TooMany;
        return Verdict::NotAssessed { why };
    }
    match topology.scope {
        Scope::Pod => pod_wide(topology, containers),
        Scope::Container => one_by_one(topology, containers),
    }
}

/// All containers are kept to the one set that the pod as a whole fits.
fn pod_wide(topology: &Topology, containers: &[Container]) -> Verdict {
    let all = |cells| Verdict::Admitted {
        cells: vec![cells; containers.len()],
    };
    match fit(topology.policy, &topology.cells, &pod_asks(containers)) {
        Fit::Aligned(cells) => all(Some(cells)),
        Fit::Anywhere => all(None),
        Fit::None => Verdict::Rejected { container: 0 },
        Fit::Unknown(why) => Verdict::NotAssessed { why },
    }
}

/// Each container takes its part before the next one is looked at.
fn one_by_one(topology: &Topology, containers: &[Container]) -> Verdict {
    let mut free = topology.cells.clone();
    let mut cells = Vec::with_capacity(containers.len());
    let mut is_spread = false;
    for (container, Container { asks, runs }) in containers.iter().enumerate() {
        let set = match fit(topology.policy, &free, asks) {
            Fit::Anywhere => {
                cells.push(None);
                continue;
            }
            _ if is_spread => {
                let why = Unknown::Spread;
                return Verdict::NotAssessed { why };
            }
            Fit::Aligned(set) => set,
            Fit::None => return Verdict::Rejected { container },
            Fit::Unknown(why) => return Verdict::NotAssessed { why },
        };
        cells.push(Some(set));
        // What runs before the others leaves its part to them.
        if *runs == Runs::Before {
            continue;
        }
        match set.len() {
            1 => take(&mut free[set.0.trailing_zeros() as usize], asks),
            _ => is_spread = true,
        }
    }
    Verdict::Admitted { cells }
}

fn take(cell: &mut Cell, asks: &Amounts) {
    for (free, ask) in cell.free.iter_mut().zip(asks) {
        *free -= ask;
    }
}

/// What a pod asks for as a whole: the most of what runs before the others, or all that runs beside
/// each other together.
fn pod_asks(containers: &[Container]) -> Amounts {
    let n = containers
        .iter()
        .map(|container| container.asks.len())
        .max();
    let mut beside: Amounts = SmallVec::from_elem(0, n.unwrap_or(0));
    let mut before = beside.clone();
    for Container { asks, runs } in containers {
        for (at, &ask) in asks.iter().enumerate() {
            match runs {
                Runs::Before => before[at] = before[at].max(ask),
                Runs::Beside => beside[at] = beside[at].saturating_add(ask),
            }
        }
    }
    let most = beside.iter().zip(&before).map(|(a, b)| *a.max(b));
    most.collect()
}

/// The set that the kubelet keeps a request to: of those that are as few as every resource needs and
/// have enough free, the one with the lowest number, read as bits.
fn fit(policy: Policy, cells: &[Cell], asks: &Amounts) -> Fit {
    let asked: SmallVec<[usize; 4]> = (0..asks.len()).filter(|&at| asks[at] > 0).collect();
    if asked.is_empty() {
        return Fit::Anywhere;
    }
    let mut size = None;
    for &at in &asked {
        let needed = fewest(cells, at, asks[at]);
        if size.is_some_and(|size| size != needed) {
            // Sets of different sizes are never equal.
            return Fit::None;
        }
        size = Some(needed);
    }
    let size = size.expect("something is asked for");
    if policy == Policy::SingleNumaNode && size != 1 {
        return Fit::None;
    }
    match search::lowest(cells, asks, &asked, size) {
        Ok(Some(set)) => Fit::Aligned(set),
        Ok(None) => Fit::None,
        Err(search::OutOfSteps) => Fit::Unknown(Unknown::Bound),
    }
}

/// How many NUMA nodes a resource needs at least if nothing were in use; all of them if even that is
/// not enough.
fn fewest(cells: &[Cell], at: usize, ask: i64) -> usize {
    let mut totals: Vec<i64> = cells.iter().map(|cell| cell.total[at]).collect();
    totals.sort_unstable_by(|a, b| b.cmp(a));
    let mut left = ask;
    for (taken, total) in totals.iter().enumerate() {
        left = left.saturating_sub(*total);
        if left <= 0 {
            return taken + 1;
        }
    }
    cells.len()
}
