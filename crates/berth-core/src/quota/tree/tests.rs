//! The tree against a recount and a recursion; what its limits mean.

use proptest::prelude::*;

use super::*;
use crate::model::draft::Draft;
use crate::model::queue::QueueSpec;

fn quota() -> impl Strategy<Value = Quota> {
    let amount = || {
        prop::option::of(prop_oneof![
            4 => 0i64..12,
            1 => Just(i64::MAX),
        ])
    };
    (amount(), amount(), amount(), amount()).prop_map(|(nominal, borrowing, lending, limit)| {
        Quota {
            nominal,
            borrowing_limit: borrowing,
            lending_limit: lending,
            limit,
        }
    })
}

/// A tree of up to eight queues: each below an earlier one, or a root.
fn tree() -> impl Strategy<Value = Vec<(Option<usize>, Quota)>> {
    prop::collection::vec((any::<prop::sample::Index>(), any::<bool>(), quota()), 1..8).prop_map(
        |queues| {
            let place =
                |(at, (parent, is_root, quota)): (usize, (prop::sample::Index, bool, Quota))| {
                    let parent = (at > 0 && !is_root).then(|| parent.index(at));
                    (parent, quota)
                };
            queues.into_iter().enumerate().map(place).collect()
        },
    )
}

fn plant(tree: &[(Option<usize>, Quota)]) -> Draft {
    let mut draft = Draft::new();
    for (at, (parent, quota)) in tree.iter().enumerate() {
        let parent = parent.map(QueueId::at);
        let spec = QueueSpec::new(format!("q{at}"), parent).with_gpus(*quota);
        draft.add_queue(spec).expect("eight levels at most");
    }
    draft
}

/// What Kueue's resource nodes would answer, by recursion from the root down.
fn available(queues: &Queues, id: QueueId) -> i128 {
    let queue = queue(queues, id);
    let account = queue.account(0);
    let by_quota = match queue.parent {
        None if account.nominals == 0 => i128::MAX / 4,
        None => account.total - account.drawn,
        Some(parent) => {
            let local = (account.kept() - account.drawn).max(0);
            let mut from_above = available(queues, parent);
            if let Some(limit) = account.quota.borrowing_limit {
                let stored = account.total - account.kept();
                let used = (account.drawn - account.kept()).max(0);
                from_above = from_above.min(stored - used + i128::from(limit));
            }
            local + from_above.max(0)
        }
    };
    match account.quota.limit {
        Some(limit) => by_quota.min(i128::from(limit) - account.used),
        None => by_quota,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Through any history of charges and new rules: the accounts are what a recount from scratch
    /// says, sums are kept at each level, and there is room exactly where the recursion finds it.
    #[test]
    fn accounts_are_conserved_and_room_is_what_the_recursion_says(
        tree in tree(),
        steps in prop::collection::vec(
            (any::<prop::sample::Index>(), -6i64..10, prop::option::of(quota())), 0..40),
    ) {
        let mut queues = plant(&tree).snapshot().queues;
        let mut held = vec![0i128; tree.len()];
        for (at, amount, quota) in steps {
            let at = at.index(tree.len());
            let id = QueueId::at(at);
            if let Some(quota) = quota {
                requota(&mut queues, id, 0, quota);
            } else {
                let amount = amount.max(-i64::try_from(held[at]).expect("small"));
                // Limits of inner levels may bind below the recursion's answer for the leaf alone.
                let answer = room_for(&queues, id, 0, amount, Beside::WhatIsHeld);
                let room = available(&queues, id);
                if amount > 0 {
                    let limits_hold = std::iter::successors(Some(id), |&id| queue(&queues, id).parent)
                        .all(|id| {
                            let account = queue(&queues, id).account(0);
                            let limit = account.quota.limit.map_or(i128::MAX, i128::from);
                            account.used + i128::from(amount) <= limit
                        });
                    prop_assert_eq!(answer.is_ok(), room >= i128::from(amount) && limits_hold);
                }
                charge(&mut queues, id, 0, amount);
                held[at] += i128::from(amount);
            }
            let recounted = recount(&queues, 0, &held);
            for (index, counted) in recounted.iter().enumerate() {
                prop_assert_eq!(queue(&queues, QueueId::at(index)).account(0), counted);
            }
        }
    }

    /// What is claimed back is never claimed back in turn.
    #[test]
    fn reclaim_never_goes_both_ways(
        tree in tree(),
        held in prop::collection::vec(0i64..12, 8),
        amount in 1i64..6,
    ) {
        let draft = plant(&tree);
        let mut queues = draft.snapshot().queues;
        for (at, &held) in held.iter().enumerate().take(tree.len()) {
            charge(&mut queues, QueueId::at(at), 0, held);
        }
        for taker in 0..tree.len() {
            for holder in 0..tree.len() {
                let (taker, holder) = (QueueId::at(taker), QueueId::at(holder));
                if !reclaimable(&queues, taker, holder, 0, (amount, amount)) {
                    continue;
                }
                prop_assert!(entitled(&queues, taker, 0, amount));
                let mut after = queues.clone();
                charge(&mut after, holder, 0, -amount);
                charge(&mut after, taker, 0, amount);
                prop_assert!(!reclaimable(&after, holder, taker, 0, (amount, amount)));
            }
        }
    }
}

#[test]
fn lending_and_borrowing_have_their_limits() {
    let quota = |nominal, borrowing_limit, lending_limit| Quota {
        nominal: Some(nominal),
        borrowing_limit,
        lending_limit,
        limit: None,
    };
    let draft = plant(&[
        (None, Quota::default()),
        (Some(0), quota(10, Some(2), None)),
        (Some(0), quota(10, None, Some(4))),
    ]);
    let mut queues = draft.snapshot().queues;
    let (root, first, second) = (QueueId::at(0), QueueId::at(1), QueueId::at(2));
    // The second keeps 6 of its 10, so the tree has 14 to give: its own and 2 more for the first.
    assert_eq!(room_for(&queues, first, 0, 12, Beside::WhatIsHeld), Ok(()));
    assert_eq!(
        room_for(&queues, first, 0, 13, Beside::WhatIsHeld),
        Err(Blocked::Borrowing { queue: first })
    );
    assert_eq!(room_for(&queues, second, 0, 20, Beside::WhatIsHeld), Ok(()));
    assert_eq!(
        room_for(&queues, second, 0, 21, Beside::WhatIsHeld),
        Err(Blocked::Exhausted { queue: root })
    );
    charge(&mut queues, first, 0, 12);
    assert_eq!(room_for(&queues, second, 0, 8, Beside::WhatIsHeld), Ok(()));
    assert_eq!(
        room_for(&queues, second, 0, 9, Beside::WhatIsHeld),
        Err(Blocked::Exhausted { queue: root })
    );
    assert!(reclaimable(&queues, second, first, 0, (10, 10)));
    assert!(
        !reclaimable(&queues, second, first, 0, (11, 11)),
        "that would be borrowing itself"
    );
    assert!(!reclaimable(&queues, first, second, 0, (1, 1)));
    // The first holds 2 beyond its own: a job of 12 would leave it 10 short.
    assert!(reclaimable(&queues, second, first, 0, (10, 11)));
    assert!(!reclaimable(&queues, second, first, 0, (10, 12)));
}
