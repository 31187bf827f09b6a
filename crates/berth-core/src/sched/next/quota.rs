//! By how much quota would have to be raised.
//!
//! Invariant: each raise is the least that takes its rule out of the way. Not here: whether there is
//! room on nodes.

use crate::model::draft::Draft;
use crate::model::snapshot::Snapshot;
use crate::quota::{Beside, Blocked};
use crate::sched::next::{Raise, Rule, Waiting};

/// The raises that let `waiting` through the queue tree together; `None` if nothing there is in the
/// way.
pub(super) fn raises(snapshot: &Snapshot, waiting: &Waiting) -> Option<Vec<Raise>> {
    let mut draft = Draft::over(snapshot);
    let mut raises = Vec::new();
    for (meter, amount) in waiting.demand(snapshot) {
        while let Err(blocked) = blocked(&draft, waiting, meter, amount) {
            let raise = least(&draft, waiting, (meter, amount), blocked)?;
            raise.make(&mut draft);
            raises.push(raise);
        }
    }
    (!raises.is_empty()).then_some(raises)
}

fn blocked(draft: &Snapshot, waiting: &Waiting, meter: usize, amount: i64) -> Result<(), Blocked> {
    draft.room_for(waiting.spec.queue, meter, amount, Beside::WhatIsHeld)
}

/// The least raise after which something else stands in the way, or nothing. More helps as much as
/// less, so halving finds it.
fn least(
    draft: &Snapshot,
    waiting: &Waiting,
    (at, amount): (usize, i64),
    in_the_way: Blocked,
) -> Option<Raise> {
    let (queue, rule) = match in_the_way {
        Blocked::Limit { queue } => (queue, Rule::Limit),
        Blocked::Borrowing { queue } => (queue, Rule::Borrowing),
        Blocked::Exhausted { queue } => (queue, Rule::Nominal),
    };
    let meter = draft.meters().iter().nth(at)?;
    let raise = |by| Raise {
        queue,
        meter,
        rule,
        by,
    };
    let is_enough = |by| {
        let mut trial = Draft::over(draft);
        raise(by).make(&mut trial);
        blocked(&trial, waiting, at, amount) != Err(in_the_way)
    };
    let (mut low, mut high) = (0, 1);
    while !is_enough(high) {
        low = high;
        high = high.checked_mul(2)?;
    }
    while high - low > 1 {
        let middle = i64::midpoint(low, high);
        *(if is_enough(middle) {
            &mut high
        } else {
            &mut low
        }) = middle;
    }
    Some(raise(high))
}
