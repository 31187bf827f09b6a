//! How evenly GPU time was divided, against what the queue tree says that it should be.
//!
//! The entitled share is max-min fairness down the tree: at each level what there is goes to the
//! branches by weight, nobody above what they asked for, and nobody below their nominal quota as far
//! as they asked for it. Invariant: entitled shares sum to what was divided. Not here: whose turn it
//! is (the core's), and what was received.

use std::collections::BTreeMap;

use berth_core::id::QueueId;
use berth_core::model::snapshot::Snapshot;
use berth_core::time::Span;

/// Halvings of the interval in which the common level of a division lies: to the last digits.
const HALVINGS: u32 = 100;

/// Somebody's claim: what one user asked for in one queue, and what it got, in units times
/// milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    pub(crate) queue: QueueId,
    pub(crate) demanded: f64,
    pub(crate) received: f64,
}

/// A branch among those that something is divided between.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Branch {
    weight: f64,
    /// What it gets first.
    floor: f64,
    /// What it can use.
    demand: f64,
}

/// Jain's index over received / demanded, each at most 1 (Jain, Chiu, Hawe, "A Quantitative Measure
/// of Fairness and Discrimination", DEC-TR-301, 1984); 1 without users.
pub(crate) fn jain(shares: &[(f64, f64)]) -> f64 {
    let satisfied = || shares.iter().map(|(r, d)| (r / d).min(1.0));
    let (sum, squares) = satisfied().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (shares.len() as f64 * squares)
    }
}

/// The part of all GPU time received that the tree would have given to others.
pub(crate) fn share_error(claims: &[Claim], entitled: &[f64]) -> f64 {
    let total: f64 = claims.iter().map(|claim| claim.received).sum();
    if total == 0.0 {
        return 0.0;
    }
    let misplaced = claims.iter().zip(entitled);
    let misplaced: f64 = misplaced.map(|(c, e)| (c.received - e).abs()).sum();
    misplaced / (2.0 * total)
}

/// What each claim was entitled to of all that was received within `window`.
pub(crate) fn entitled(snapshot: &Snapshot, claims: &[Claim], window: Span) -> Vec<f64> {
    let tree = Tree::of(snapshot, claims, window);
    let total = claims.iter().map(|claim| claim.received).sum();
    let mut shares = vec![0.0; claims.len()];
    tree.share_out(None, total, &mut shares);
    shares
}

/// The queue tree with what its branches want.
struct Tree {
    branches: Vec<Branch>,
    children: BTreeMap<Option<QueueId>, Vec<QueueId>>,
    /// Claims of a queue's own users, by position, with what they want.
    own: BTreeMap<QueueId, Vec<(usize, f64)>>,
}

impl Tree {
    fn of(snapshot: &Snapshot, claims: &[Claim], window: Span) -> Self {
        let mut own: BTreeMap<QueueId, Vec<(usize, f64)>> = BTreeMap::new();
        for (at, claim) in claims.iter().enumerate() {
            let want = (at, claim.demanded.max(0.0));
            own.entry(claim.queue).or_default().push(want);
        }
        let queues: Vec<_> = snapshot.queues().collect();
        let mut children: BTreeMap<Option<QueueId>, Vec<QueueId>> = BTreeMap::new();
        let mut branches = vec![
            Branch {
                weight: 0.0,
                floor: 0.0,
                demand: 0.0,
            };
            queues.len()
        ];
        let over_window = |units: i64| units.max(0) as f64 * window.0 as f64;
        // Children before their parents.
        for &(id, queue) in queues.iter().rev() {
            let wants = own.get(&id).into_iter().flatten().map(|(_, want)| want);
            let branch = &mut branches[id.index()];
            branch.demand += wants.sum::<f64>();
            let quota = queue.account(0).quota;
            if let Some(limit) = quota.limit {
                branch.demand = branch.demand.min(over_window(limit));
            }
            let nominal = quota.nominal.map_or(0.0, over_window);
            branch.floor = branch.floor.max(nominal).min(branch.demand);
            branch.weight = f64::from(queue.weight);
            let below = *branch;
            children.entry(queue.parent).or_default().push(id);
            if let Some(parent) = queue.parent {
                let above = &mut branches[parent.index()];
                above.demand += below.demand;
                above.floor += below.floor;
            }
        }
        Self {
            branches,
            children,
            own,
        }
    }

    /// Divides `total` among the branches below `above` and its own users, who count as a branch of
    /// weight 1 each.
    fn share_out(&self, above: Option<QueueId>, total: f64, shares: &mut [f64]) {
        let own = above.and_then(|id| self.own.get(&id));
        let own = own.map_or(&[][..], Vec::as_slice);
        let below = self.children.get(&above).map_or(&[][..], Vec::as_slice);
        let branches = below.iter().map(|id| self.branches[id.index()]);
        let users = own.iter().map(|&(_, demand)| Branch {
            weight: 1.0,
            floor: 0.0,
            demand,
        });
        let all: Vec<Branch> = branches.chain(users).collect();
        let divided = divide(total, &all);
        for (&id, &share) in below.iter().zip(&divided) {
            self.share_out(Some(id), share, shares);
        }
        for ((at, _), share) in own.iter().zip(&divided[below.len()..]) {
            shares[*at] = *share;
        }
    }
}

/// Divides `total`: everybody gets the same for their weight, but at least their floor and at most
/// their demand. Floors that are too much together shrink alike; what nobody wants stays over.
fn divide(total: f64, branches: &[Branch]) -> Vec<f64> {
    let floors: f64 = branches.iter().map(|branch| branch.floor).sum();
    if floors >= total {
        let part = if floors > 0.0 { total / floors } else { 0.0 };
        return branches.iter().map(|branch| branch.floor * part).collect();
    }
    let at_level = |branch: &Branch, level: f64| {
        let share = level * branch.weight;
        share.max(branch.floor).min(branch.demand)
    };
    let sum = |level: f64| -> f64 { branches.iter().map(|b| at_level(b, level)).sum() };
    let weighted = branches.iter().filter(|branch| branch.weight > 0.0);
    let tops = weighted.map(|branch| branch.demand / branch.weight);
    let (mut low, mut high) = (0.0, tops.fold(0.0, f64::max));
    if sum(high) > total {
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            *(if sum(middle) > total {
                &mut high
            } else {
                &mut low
            }) = middle;
        }
    }
    let mut shares: Vec<f64> = branches.iter().map(|b| at_level(b, high)).collect();
    // Those of weight zero come last: what is left is theirs, in proportion to what they miss.
    let left = total - shares.iter().sum::<f64>();
    let is_last = |branch: &Branch| branch.weight == 0.0;
    let missing = branches.iter().zip(&shares).filter(|(b, _)| is_last(b));
    let missing: f64 = missing.map(|(b, share)| b.demand - share).sum();
    if left > 0.0 && missing > 0.0 {
        for (share, branch) in shares.iter_mut().zip(branches) {
            if is_last(branch) {
                *share += (branch.demand - *share) * (left / missing).min(1.0);
            }
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;
    use berth_core::model::draft::Draft;
    use berth_core::model::queue::QueueSpec;
    use berth_core::quota::Quota;
    use proptest::prelude::*;

    fn error(of: &[(f64, f64)]) -> f64 {
        let mut draft = Draft::new();
        let queue = draft.add_queue(QueueSpec::new("all", None)).unwrap();
        let claim = |&(received, demanded): &(f64, f64)| Claim {
            queue,
            demanded,
            received,
        };
        let claims: Vec<Claim> = of.iter().map(claim).collect();
        share_error(&claims, &entitled(&draft, &claims, Span::from_days(1)))
    }

    #[test]
    fn even_service_is_fair_whatever_the_demand() {
        assert_eq!(jain(&[(1.0, 1.0), (5.0, 5.0)]), 1.0);
        assert!(error(&[(1.0, 1.0), (5.0, 5.0)]) < 1e-12);
        assert!(error(&[(2.0, 10.0), (2.0, 3.0)]) < 1e-12);
        assert!(error(&[(3.0, 10.0), (1.0, 1.0)]) < 1e-12);
    }

    #[test]
    fn one_user_with_everything_is_as_unfair_as_it_gets() {
        assert_eq!(
            jain(&[(4.0, 4.0), (0.0, 4.0), (0.0, 4.0), (0.0, 4.0)]),
            0.25
        );
        let found = error(&[(4.0, 4.0), (0.0, 4.0), (0.0, 4.0), (0.0, 4.0)]);
        assert!((found - 0.75).abs() < 1e-12, "{found}");
        assert_eq!(jain(&[]), 1.0);
        assert_eq!(error(&[]), 0.0);
    }

    #[test]
    fn weights_nominals_and_limits_of_the_tree_decide() {
        let mut draft = Draft::new();
        let root = draft.add_queue(QueueSpec::new("root", None)).unwrap();
        let mut add = |name: &str, weight, nominal, limit| {
            let spec = QueueSpec {
                weight,
                ..QueueSpec::new(name, Some(root))
            };
            let quota = Quota {
                nominal,
                limit,
                ..Quota::default()
            };
            draft.add_queue(spec.with_gpus(quota)).unwrap()
        };
        let heavy = add("heavy", 3, None, None);
        let light = add("light", 1, None, None);
        let owner = add("owner", 1, Some(40), None);
        let small = add("small", 100, None, Some(5));
        let check = |wants: [f64; 4], total: f64, expected: [f64; 4]| {
            let queues = [heavy, light, owner, small];
            let mut claims: Vec<Claim> = queues
                .iter()
                .zip(wants)
                .map(|(&queue, demanded)| Claim {
                    queue,
                    demanded,
                    received: 0.0,
                })
                .collect();
            claims[0].received = total;
            let found = entitled(&draft, &claims, Span(1));
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-9, "{found} or {expected}");
            }
        };
        // 5 is the limit of the heaviest, 40 are the owner's, the rest goes three to one.
        check([900.0; 4], 85.0, [30.0, 10.0, 40.0, 5.0]);
        // An owner who asks for less leaves the rest.
        check([900.0, 900.0, 15.0, 0.0], 95.0, [60.0, 20.0, 15.0, 0.0]);
        // Nobody gets more than they asked for.
        check([1.0, 2.0, 3.0, 4.0], 100.0, [1.0, 2.0, 3.0, 4.0]);
    }

    fn branches() -> impl Strategy<Value = Vec<Branch>> {
        let branch = (0u8..5, 0u16..50, 0u16..100).prop_map(|(weight, floor, demand)| Branch {
            weight: f64::from(weight),
            floor: f64::from(floor.min(demand)),
            demand: f64::from(demand),
        });
        prop::collection::vec(branch, 1..7)
    }

    proptest! {
        /// Against pouring: drop by drop to whoever has least for its weight.
        #[test]
        fn a_division_is_what_pouring_drop_by_drop_comes_to(
            branches in branches(),
            total in 0u16..400,
        ) {
            const DROP: f64 = 0.01;
            let total = f64::from(total);
            let floors: f64 = branches.iter().map(|b| b.floor).sum();
            prop_assume!(floors <= total);
            let mut poured: Vec<f64> = branches.iter().map(|b| b.floor).collect();
            let mut left = total - floors;
            while left > 0.0 {
                // Thirsty, and first those with a weight.
                let next = (0..branches.len())
                    .filter(|&at| poured[at] < branches[at].demand)
                    .min_by(|&a, &b| {
                        let level = |at: usize| match branches[at].weight {
                            0.0 => f64::INFINITY,
                            weight => poured[at] / weight,
                        };
                        level(a).total_cmp(&level(b))
                    });
                let Some(next) = next else { break };
                poured[next] += DROP;
                left -= DROP;
            }
            let found = divide(total, &branches);
            let weightless = branches.iter().any(|b| b.weight == 0.0);
            for (at, branch) in branches.iter().enumerate() {
                prop_assert!(found[at] <= branch.demand + 1e-6 && found[at] >= branch.floor - 1e-6);
                // Those of weight zero are poured to in no order that matters.
                if branch.weight > 0.0 || !weightless {
                    let far = (found[at] - poured[at]).abs();
                    prop_assert!(far < 0.05, "{at}: {found:?} or {poured:?}");
                }
            }
            let want: f64 = branches.iter().map(|b| b.demand).sum();
            prop_assert!((found.iter().sum::<f64>() - total.min(want)).abs() < 1e-6);
        }
    }
}
