//! The queue tree's arithmetic: what a queue may still take, whoever it comes from.
//!
//! The rules are those of hierarchical cohorts as Kueue has them (KEP-79): a queue's *total* is its
//! nominal quota and what the queues below lend it; a part of the total may be *kept* from lending;
//! what a queue has *drawn* beyond what it keeps, it draws from the queue above. Beside that stands
//! a plain limit on all that a queue and those below it hold. Invariants: `used` is the sum of the
//! charges of the bound work in a queue and below it; `drawn` follows from `used`, level by level.
//! Amounts are in the unit of their meter; sums have 128 bits, so that no number of the largest
//! amounts can leave their range.
//!
//! Not here: fair share, which orders those who may take; and victims.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::cow::CowVec;
use crate::id::QueueId;
use crate::limits;
use crate::model::queue::Queue;
use std::sync::Arc;

/// What a site has decided about one queue and one meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quota {
    /// The queue's own part of the cluster, guaranteed. A tree in which no queue has one is bounded
    /// by limits and capacity alone.
    pub nominal: Option<i64>,
    /// The most that it may hold beyond its total; `None` is no such bound.
    pub borrowing_limit: Option<i64>,
    /// The most of its total that others may have while it doesn't use it; `None` is all of it.
    pub lending_limit: Option<i64>,
    /// The most that the queue and all below it may hold, whatever is free.
    pub limit: Option<i64>,
}

/// The account of one queue for one meter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Account {
    /// The site's rule.
    pub quota: Quota,
    /// What the queue and all below it hold.
    pub used: i128,
    /// Its nominal quota and what the queues below lend it.
    pub total: i128,
    /// What it has taken at this level: all of it in a queue without children, what the children
    /// could not keep to themselves in others.
    pub drawn: i128,
    /// How many of it and the queues below have a nominal quota.
    pub nominals: u32,
}

impl Account {
    /// The part of the total that isn't lent.
    #[must_use]
    pub fn kept(&self) -> i128 {
        match self.quota.lending_limit {
            Some(lent) => (self.total - i128::from(lent.max(0))).max(0),
            None => 0,
        }
    }

    /// What it lends to the queue above while it doesn't need it.
    fn lent(&self) -> i128 {
        self.total - self.kept()
    }

    /// What it draws from the queue above.
    fn overflow(&self) -> i128 {
        (self.drawn - self.kept()).max(0)
    }

    /// What it holds beyond its total, on credit of others.
    #[must_use]
    pub fn borrowed(&self) -> i128 {
        (self.drawn - self.total).max(0)
    }
}

/// What keeps a charge out of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Blocked {
    /// It would take `queue` over its limit.
    Limit {
        /// The nearest such queue.
        queue: QueueId,
    },
    /// It would take `queue` over what it may borrow.
    Borrowing {
        /// The nearest such queue.
        queue: QueueId,
    },
    /// All that `queue`, the root, has for its tree is in use.
    Exhausted {
        /// The root.
        queue: QueueId,
    },
}

impl Blocked {
    /// The queue that stands in the way.
    #[must_use]
    pub const fn queue(self) -> QueueId {
        match self {
            Self::Limit { queue } | Self::Borrowing { queue } | Self::Exhausted { queue } => queue,
        }
    }
}

type Queues = CowVec<Arc<Queue>>;

fn queue(queues: &Queues, id: QueueId) -> &Queue {
    queues
        .get(id.index())
        .expect("queue ids are given out by this lineage")
}

fn queue_mut(queues: &mut Queues, id: QueueId) -> &mut Queue {
    let slot = queues.get_mut(id.index());
    Arc::make_mut(slot.expect("queue ids are given out by this lineage"))
}

/// With whom a charge shares the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// With all that is held now.
    WhatIsHeld,
    /// With nothing: whether it could ever be.
    Nothing,
}

/// Whether `leaf` may take `amount` more of the meter at `meter`, and what keeps it from that.
///
/// # Errors
/// The nearest queue on the way up that stands in the way.
pub fn room_for(
    queues: &Queues,
    leaf: QueueId,
    meter: usize,
    amount: i64,
    beside: Beside,
) -> Result<(), Blocked> {
    if amount <= 0 {
        return Ok(());
    }
    let amount = i128::from(amount);
    // What still has to be found at this level, of what isn't kept below.
    let mut rest = amount;
    let mut next = Some(leaf);
    while let Some(id) = next {
        let queue = queue(queues, id);
        let mut account = *queue.account(meter);
        if beside == Beside::Nothing {
            (account.used, account.drawn) = (0, 0);
        }
        let limit = account.quota.limit.map_or(i128::MAX, i128::from);
        if account.used + amount > limit {
            return Err(Blocked::Limit { queue: id });
        }
        if rest > 0 {
            let own = (account.kept() - account.drawn).max(0);
            if queue.parent.is_none() {
                if account.nominals > 0 && account.drawn + rest > account.total {
                    return Err(Blocked::Exhausted { queue: id });
                }
            } else if let Some(limit) = account.quota.borrowing_limit {
                let lent_and_free = account.lent() - account.overflow();
                if rest - own > lent_and_free + i128::from(limit.max(0)) {
                    return Err(Blocked::Borrowing { queue: id });
                }
            }
            rest = (rest - own).max(0);
        }
        next = queue.parent;
    }
    Ok(())
}

impl Account {
    /// Takes in `amount` in all, of which `rest` has to be found at this level, and says what of it
    /// has to be found above.
    fn take(&mut self, amount: i64, rest: i128) -> i128 {
        self.used += i128::from(amount);
        let before = self.overflow();
        self.drawn += rest;
        self.overflow() - before
    }
}

/// Charges `amount` (negative to give back) to `leaf` and those above.
pub(crate) fn charge(queues: &mut Queues, leaf: QueueId, meter: usize, amount: i64) {
    let mut rest = i128::from(amount);
    let mut next = Some(leaf);
    while let Some(id) = next {
        let queue = queue_mut(queues, id);
        next = queue.parent;
        rest = queue.account_mut(meter).take(amount, rest);
    }
}

/// Charges an amount for each meter to `leaf` and those above, each of which `settle` sees before.
pub(crate) fn charge_all(
    queues: &mut Queues,
    leaf: QueueId,
    amounts: &[i64],
    settle: impl Fn(&mut Queue),
) {
    let mut rest: SmallVec<[i128; 4]> = amounts.iter().map(|&amount| amount.into()).collect();
    let mut next = Some(leaf);
    while let Some(id) = next {
        let queue = queue_mut(queues, id);
        next = queue.parent;
        settle(queue);
        let accounts = queue.accounts.iter_mut().zip(amounts).zip(&mut rest);
        for ((account, &amount), rest) in accounts {
            *rest = account.take(amount, *rest);
        }
    }
}

/// Gives `id` another rule for the meter at `meter`; totals and draws of those above follow.
pub(crate) fn requota(queues: &mut Queues, id: QueueId, meter: usize, quota: Quota) {
    let own = |quota: Quota| i128::from(quota.nominal.unwrap_or(0).max(0));
    let account = queue_mut(queues, id).account_mut(meter);
    let before = *account;
    account.total += own(quota) - own(account.quota);
    account.quota = quota;
    account.nominals += u32::from(quota.nominal.is_some());
    account.nominals -= u32::from(before.quota.nominal.is_some());
    pass_on(queues, id, meter, before);
}

/// Lets those above `id` follow what has changed there since `before`.
fn pass_on(queues: &mut Queues, id: QueueId, meter: usize, before: Account) {
    let (mut at, mut before) = (id, before);
    while let Some(above) = queue(queues, at).parent {
        let now = *queue(queues, at).account(meter);
        let account = queue_mut(queues, above).account_mut(meter);
        let old = *account;
        account.total += now.lent() - before.lent();
        account.drawn += now.overflow() - before.overflow();
        account.nominals = account.nominals + now.nominals - before.nominals;
        (at, before) = (above, old);
    }
}

/// What the accounts of the meter at `meter` must be, from the rules and what each queue holds of
/// itself, without those below it.
pub(crate) fn recount(queues: &Queues, meter: usize, held: &[i128]) -> Vec<Account> {
    let mut accounts: Vec<Account> = queues
        .iter()
        .zip(held)
        .map(|(queue, &held)| {
            let quota = queue.account(meter).quota;
            Account {
                quota,
                used: held,
                total: i128::from(quota.nominal.unwrap_or(0).max(0)),
                drawn: held,
                nominals: u32::from(quota.nominal.is_some()),
            }
        })
        .collect();
    // A parent comes before its children.
    for at in (0..accounts.len()).rev() {
        let Some(parent) = queue(queues, QueueId::at(at)).parent else {
            continue;
        };
        let below = accounts[at];
        let above = &mut accounts[parent.index()];
        above.used += below.used;
        above.total += below.lent();
        above.drawn += below.overflow();
        above.nominals += below.nominals;
    }
    accounts
}

/// Whether `taker` could have `amount` more without some branch that it belongs to holding more than
/// its own: without that, nothing is [`reclaimable`] for it.
#[must_use]
pub fn entitled(queues: &Queues, taker: QueueId, meter: usize, amount: i64) -> bool {
    let mut rest = i128::from(amount);
    let mut next = Some(taker);
    while let Some(id) = next {
        let queue = queue(queues, id);
        let account = queue.account(meter);
        if queue.parent.is_some() && account.drawn + rest <= account.total {
            return true;
        }
        rest = (account.drawn + rest - account.kept()).max(0) - account.overflow();
        next = queue.parent;
    }
    false
}

/// Whether `taker`, which wants `amount` more, may have `held` of what `holder` holds: below the
/// lowest queue that both belong to, the taker's branch would stay within its total, the holder's
/// branch holds more than its own, and it would fall short of its own by less than the taker's gains.
/// Then quota is given back to whom it belongs, the taken can't be claimed back in turn, and what
/// branches lack of their own becomes less with every claim, so that claims come to an end.
#[must_use]
pub fn reclaimable(
    queues: &Queues,
    taker: QueueId,
    holder: QueueId,
    meter: usize,
    (amount, held): (i64, i64),
) -> bool {
    let mut of_holder = [holder; limits::QUEUE_DEPTH_MAX];
    let mut depth = 0;
    let mut next = Some(holder);
    while let Some(id) = next {
        of_holder[depth] = id;
        depth += 1;
        next = queue(queues, id).parent;
    }
    // What of the amount reaches each level.
    let mut rest = i128::from(amount);
    let (mut within, mut gain) = (false, 0);
    let mut next = Some(taker);
    while let Some(id) = next {
        let at = of_holder[..depth].iter().position(|&other| other == id);
        if let Some(at) = at {
            // `at == 0` or nothing passed: one is above the other, and nothing is lent between them.
            let branch = at.checked_sub(1).map(|below| of_holder[below]);
            let borrowed = branch.map_or(0, |id| queue(queues, id).account(meter).borrowed());
            return within && borrowed > 0 && i128::from(held) - borrowed < gain;
        }
        let queue = queue(queues, id);
        let account = queue.account(meter);
        (within, gain) = (account.drawn + rest <= account.total, rest);
        let after = (account.drawn + rest - account.kept()).max(0);
        rest = after - account.overflow();
        next = queue.parent;
    }
    false
}

#[cfg(test)]
mod tests;
