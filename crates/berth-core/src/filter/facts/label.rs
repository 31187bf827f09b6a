//! Labels and the selectors over them.
//!
//! Invariant: labels are sorted by key and each key stands once. Semantics are those of
//! `k8s.io/apimachinery/pkg/labels`: `NotIn` and `DoesNotExist` hold where the key is missing.

use std::sync::Arc;

use super::Text;

/// The labels of one object. A clone shares them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Labels(Arc<[(Text, Text)]>);

impl Labels {
    /// Labels from pairs; of two with one key, the later counts.
    pub fn new(pairs: impl IntoIterator<Item = (Text, Text)>) -> Self {
        let mut list: Vec<(Text, Text)> = pairs.into_iter().collect();
        list.sort_by(|a, b| a.0.cmp(&b.0));
        list.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        Self(list.into())
    }

    /// The value of `key`, if the object has it.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Text> {
        let found = self.0.binary_search_by(|(k, _)| k.as_str().cmp(key));
        found.ok().map(|index| &self.0[index].1)
    }

    /// Whether the object has `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Every pair, by key.
    pub fn iter(&self) -> impl Iterator<Item = &(Text, Text)> {
        self.0.iter()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Puts equal texts in place of its own, as `put` does; sharing with clones ends where there are
    /// any.
    pub fn for_each_text(&mut self, mut put: impl FnMut(&mut Text)) {
        if self.is_empty() {
            return;
        }
        for (key, value) in Arc::make_mut(&mut self.0) {
            put(key);
            put(value);
        }
    }

    /// How many hold these very labels.
    #[must_use]
    pub fn holders(&self) -> usize {
        Arc::strong_count(&self.0)
    }
}

/// What is asked of one label.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Test {
    /// Its value is one of these.
    In(Box<[Text]>),
    /// It is missing, or its value is none of these.
    NotIn(Box<[Text]>),
    /// It is there.
    Exists,
    /// It is missing.
    DoesNotExist,
    /// Its value is an integer above this.
    GreaterThan(i64),
    /// Its value is an integer below this.
    LessThan(i64),
}

/// A test of the label `key`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Requirement {
    pub key: Text,
    pub test: Test,
}

impl Requirement {
    /// The requirement that `key` has `value`.
    #[must_use]
    pub fn equals(key: Text, value: Text) -> Self {
        let test = Test::In(Box::new([value]));
        Self { key, test }
    }

    /// Whether the labels pass.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        let number = || value.and_then(|text| text.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|value| values.contains(value)),
            Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Test::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// A label selector.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Selector {
    /// An absent selector: it matches no object.
    Nothing,
    /// Every requirement holds; without any, it matches every object.
    All(Box<[Requirement]>),
}

impl Selector {
    /// Whether the labels pass.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.iter().all(|one| one.matches(labels)),
        }
    }

    /// Whether it restricts nothing.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::All(requirements) if requirements.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use arcstr::literal;

    use super::*;

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        let own = |&(key, value): &(&str, &str)| (Text::from(key), Text::from(value));
        Labels::new(pairs.iter().map(own))
    }

    #[test]
    fn the_later_of_two_equal_keys_counts() {
        let labels = labels(&[("b", "1"), ("a", "1"), ("b", "2")]);
        assert_eq!(labels.get("b"), Some(&literal!("2")));
        assert_eq!(labels.iter().count(), 2);
    }

    #[test]
    fn tests_of_one_label_hold_as_in_kubernetes() {
        let labels = labels(&[("n", "5"), ("word", "x"), ("plus", "+7")]);
        let check = |key: &str, test: Test, expected: bool| {
            let key = Text::from(key);
            let shown = format!("{key} {test:?}");
            assert_eq!(
                Requirement { key, test }.matches(&labels),
                expected,
                "{shown}"
            );
        };
        let values = |values: &[&str]| values.iter().map(|&v| Text::from(v)).collect();
        check("word", Test::In(values(&["x", "y"])), true);
        check("absent", Test::In(values(&["x"])), false);
        check("absent", Test::NotIn(values(&["x"])), true);
        check("word", Test::NotIn(values(&["x"])), false);
        check("absent", Test::DoesNotExist, true);
        check("word", Test::Exists, true);
        check("n", Test::GreaterThan(4), true);
        check("n", Test::GreaterThan(5), false);
        check("n", Test::LessThan(6), true);
        check("word", Test::GreaterThan(0), false);
        check("absent", Test::LessThan(0), false);
        check("plus", Test::GreaterThan(6), true);
    }

    #[test]
    fn an_absent_selector_matches_nothing_and_an_empty_one_everything() {
        let labels = labels(&[]);
        assert!(!Selector::Nothing.matches(&labels));
        assert!(Selector::All(Box::new([])).matches(&labels));
        assert!(Selector::All(Box::new([])).is_everything());
        assert!(!Selector::Nothing.is_everything());
    }
}
