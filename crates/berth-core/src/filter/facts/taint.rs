//! Taints and tolerations.
//!
//! Semantics: `core/v1 Toleration.ToleratesTaint`. Not here: the comparison operators `Gt` and
//! `Lt`, whose feature gate (`TaintTolerationComparisonOperators`) is off in 1.37; a toleration
//! that uses them tolerates nothing and is left out by whoever lowers it.

use std::fmt::{self, Display, Formatter};

use super::Text;
use super::node::NodeFacts;

/// What a taint does to pods that don't tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// New pods stay away.
    NoSchedule,
    /// New pods rather stay away; no filter cares.
    PreferNoSchedule,
    /// New pods stay away and running ones are evicted.
    NoExecute,
}

/// A taint of a node or device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Taint {
    pub key: Text,
    pub value: Text,
    pub effect: Effect,
}

impl Taint {
    /// Whether it keeps pods away, rather than only making the node less liked.
    #[must_use]
    pub fn keeps_away(&self) -> bool {
        match self.effect {
            Effect::NoSchedule | Effect::NoExecute => true,
            Effect::PreferNoSchedule => false,
        }
    }
}

impl Display for Taint {
    /// As `kubectl describe node` writes it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        if !self.value.is_empty() {
            write!(f, "={}", self.value)?;
        }
        f.write_str(match self.effect {
            Effect::NoSchedule => ":NoSchedule",
            Effect::PreferNoSchedule => ":PreferNoSchedule",
            Effect::NoExecute => ":NoExecute",
        })
    }
}

/// Which values of a taint are tolerated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ToleratedValue {
    /// Every value (operator `Exists`).
    Any,
    /// This one (operator `Equal`, the default).
    Equal(Text),
}

/// What a pod puts up with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// The taint's key; `None` for every key.
    pub key: Option<Text>,
    pub value: ToleratedValue,
    /// The effect that is tolerated; `None` for every effect.
    pub effect: Option<Effect>,
}

impl Toleration {
    /// Whether `taint` is tolerated.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.effect.is_none_or(|effect| effect == taint.effect)
            && self.key.as_ref().is_none_or(|key| *key == taint.key)
            && match &self.value {
                ToleratedValue::Any => true,
                ToleratedValue::Equal(value) => *value == taint.value,
            }
    }
}

/// The first taint of `node` that keeps a pod with these tolerations away.
#[must_use]
pub fn first_untolerated<'a>(node: &'a NodeFacts, tolerations: &[Toleration]) -> Option<&'a Taint> {
    let kept_away =
        |taint: &&Taint| taint.keeps_away() && !tolerations.iter().any(|one| one.tolerates(taint));
    node.taints.iter().find(kept_away)
}
