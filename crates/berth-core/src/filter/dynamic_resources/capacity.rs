//! Capacity of devices that several claims share (KEP-5075).
//!
//! Invariant: a request is rounded up as the device's policy says, and refused where the policy
//! doesn't allow the outcome. An amount that the device's arithmetic can't represent is a failure and
//! not a refusal, as in kube-scheduler.

use crate::filter::facts::Text;
use crate::filter::facts::device::{
    AllowedCapacity, Capacity, CapacityPolicy, CapacityRange, Device,
};
use crate::filter::facts::exact::Exact;
use crate::filter::facts::inventory::Amounts;
use crate::filter::verdict::Failure;

/// Billionths in a thousandth, in which ranges with fractions are computed.
const MILLI: i128 = 1_000_000;

/// What a request would take of the device; `None` if the device doesn't have what it names, or its
/// policy doesn't allow it.
pub(super) fn consumed(
    device: &Device,
    asked: &[(Text, Exact)],
) -> Result<Option<Amounts>, Failure> {
    let has = |name: &Text| device.capacity.iter().any(|(known, _)| known == name);
    if !asked.iter().all(|(name, _)| has(name)) {
        return Ok(None);
    }
    let mut amounts = Amounts::new();
    // What can't be represented is a failure whatever else is refused, so all are computed first.
    for (name, capacity) in &device.capacity {
        let amount = asked.iter().find(|(known, _)| known == name);
        let amount = rounded(amount.map(|(_, amount)| *amount), capacity)?;
        if amount < Exact::ZERO {
            return Err(Failure::CapacityUnrepresentable);
        }
        amounts.insert(name.clone(), amount);
    }
    let allows = |(name, capacity): &(Text, Capacity)| {
        let policy = capacity.policy.as_ref();
        policy.is_none_or(|policy| is_allowed(amounts[name], policy))
    };
    Ok(device.capacity.iter().all(allows).then_some(amounts))
}

/// Whether `wanted` fits beside what is taken already.
pub(super) fn fits(device: &Device, wanted: &Amounts, taken: &[Option<&Amounts>]) -> bool {
    device.capacity.iter().all(|(name, capacity)| {
        let others = taken
            .iter()
            .flatten()
            .filter_map(|amounts| amounts.get(name));
        let sum = others.fold(wanted[name], |sum, amount| sum + *amount);
        sum <= capacity.value
    })
}

fn rounded(asked: Option<Exact>, capacity: &Capacity) -> Result<Exact, Failure> {
    let policy = capacity.policy.as_ref();
    let Some(asked) = asked else {
        let default = policy.and_then(|policy| policy.default);
        return Ok(default.unwrap_or(capacity.value));
    };
    match policy.map(|policy| &policy.allowed) {
        None | Some(AllowedCapacity::Any) => Ok(asked),
        Some(AllowedCapacity::Range(range)) => rounded_in_range(asked, range),
        Some(AllowedCapacity::Values(values)) => {
            let next = values.iter().find(|value| asked <= **value);
            Ok(next.copied().unwrap_or(asked))
        }
    }
}

fn rounded_in_range(asked: Exact, range: &CapacityRange) -> Result<Exact, Failure> {
    if asked < range.min {
        return Ok(range.min);
    }
    let Some(step) = range.step else {
        return Ok(asked);
    };
    let unit = unit_of(range);
    let asked = match unit {
        Unit::Milli => milli(asked).ok_or(Failure::CapacityUnrepresentable)?,
        Unit::Whole if asked > Exact::MAX => return Err(Failure::CapacityUnrepresentable),
        Unit::Whole => i128::from(asked.units()),
    };
    let (step, min) = (unit.of(step), unit.of(range.min));
    if step <= 0 {
        return Err(Failure::CapacityUnrepresentable);
    }
    let (over, rest) = ((asked - min) / step, (asked - min) % step);
    let rounded = min + step * (over + i128::from(rest != 0));
    if rounded > i128::from(i64::MAX) {
        return Err(Failure::CapacityUnrepresentable);
    }
    Ok(unit.exact(rounded))
}

fn is_allowed(amount: Exact, policy: &CapacityPolicy) -> bool {
    if policy.default == Some(amount) {
        return true;
    }
    match &policy.allowed {
        AllowedCapacity::Any => true,
        AllowedCapacity::Values(values) => values.is_empty() || values.contains(&amount),
        AllowedCapacity::Range(range) => {
            range.max.is_none_or(|max| amount <= max)
                && range
                    .step
                    .is_none_or(|step| is_on_step(amount, step, range))
        }
    }
}

fn is_on_step(amount: Exact, step: Exact, range: &CapacityRange) -> bool {
    let unit = unit_of(range);
    let amount = match unit {
        Unit::Milli => milli(amount),
        Unit::Whole => Some(i128::from(amount.units())),
    };
    let step = unit.of(step);
    amount.is_some_and(|amount| step != 0 && (amount - unit.of(range.min)) % step == 0)
}

/// In what a range is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Milli,
    Whole,
}

impl Unit {
    fn of(self, amount: Exact) -> i128 {
        match self {
            Self::Milli => amount.nano() / MILLI,
            Self::Whole => i128::from(amount.units()),
        }
    }

    fn exact(self, amount: i128) -> Exact {
        match self {
            Self::Milli => Exact::from_nano(amount * MILLI),
            Self::Whole => Exact::from_nano(amount * MILLI * 1000),
        }
    }
}

/// Thousandths, where every bound of the range is a whole number of them.
fn unit_of(range: &CapacityRange) -> Unit {
    let bounds = [Some(range.min), range.max, range.step];
    let fits = bounds.iter().flatten().all(|bound| milli(*bound).is_some());
    let is_positive = range.step.is_none_or(|step| step > Exact::ZERO);
    if fits && is_positive {
        Unit::Milli
    } else {
        Unit::Whole
    }
}

/// Thousandths, if that is exact and fits 64 bits.
fn milli(amount: Exact) -> Option<i128> {
    let milli = amount.nano() / MILLI;
    let is_exact = amount.nano() % MILLI == 0 && i64::try_from(milli).is_ok();
    is_exact.then_some(milli)
}
