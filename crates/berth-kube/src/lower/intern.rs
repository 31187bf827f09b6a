//! What many pods have alike is kept once, so that a cluster full of pods fits in little memory.
//!
//! Invariant: a value that nobody else holds is forgotten in time, so that what is kept here stays in
//! proportion to what the index holds.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::label::Labels;
use berth_core::filter::facts::pod::PodTemplate;

/// Values that are kept before those of nobody are looked for.
const POOL_MIN: usize = 1_024;

/// One of each value.
#[derive(Debug)]
struct Pool<T> {
    values: HashSet<T>,
    /// As many as make it worth looking for values of nobody.
    full: usize,
    is_held: fn(&T) -> bool,
}

impl<T: Clone + Eq + Hash> Pool<T> {
    fn new(is_held: fn(&T) -> bool) -> Self {
        Self {
            values: HashSet::new(),
            full: POOL_MIN,
            is_held,
        }
    }

    /// Puts the value that is kept in place of an equal one.
    fn share(&mut self, value: &mut T) {
        if let Some(kept) = self.values.get(value) {
            *value = kept.clone();
            return;
        }
        if self.values.len() >= self.full {
            self.values.retain(self.is_held);
            self.full = POOL_MIN.max(2 * self.values.len());
        }
        self.values.insert(value.clone());
    }
}

/// One of each value that pods have alike.
#[derive(Debug)]
pub struct Interner {
    texts: Pool<Text>,
    labels: Pool<Labels>,
    templates: Pool<Arc<PodTemplate>>,
}

impl Default for Interner {
    fn default() -> Self {
        Self {
            texts: Pool::new(|text| text_holders(text) > 1),
            labels: Pool::new(|labels| labels.holders() > 1),
            templates: Pool::new(|template| Arc::strong_count(template) > 1),
        }
    }
}

/// What is in the binary itself is held for ever, at no cost.
fn text_holders(text: &Text) -> usize {
    Text::strong_count(text).unwrap_or(usize::MAX)
}

impl Interner {
    /// A text that many are likely to say.
    pub(super) fn text(&mut self, text: &mut Text) {
        self.texts.share(text);
    }

    pub(super) fn labels(&mut self, labels: &mut Labels) {
        labels.for_each_text(|text| self.texts.share(text));
        self.labels.share(labels);
    }

    pub(super) fn template(&mut self, template: &mut Arc<PodTemplate>) {
        self.templates.share(template);
    }
}

#[cfg(test)]
mod tests {
    use berth_core::filter::facts::storage::PodVolume;

    use super::*;

    #[test]
    fn equal_values_become_one() {
        let mut interner = Interner::default();
        let (mut first, mut second) = (Text::from("node-1"), Text::from("node-1"));
        interner.text(&mut first);
        interner.text(&mut second);
        assert!(Text::ptr_eq(&first, &second));
        let template = || {
            Arc::new(PodTemplate {
                volumes: Box::new([PodVolume::Claim {
                    name: Text::from("data"),
                }]),
                ..PodTemplate::default()
            })
        };
        let (mut first, mut second) = (template(), template());
        interner.template(&mut first);
        interner.template(&mut second);
        assert!(Arc::ptr_eq(&first, &second));
    }

    #[test]
    fn values_of_nobody_are_forgotten() {
        let mut interner = Interner::default();
        let mut held = Vec::new();
        for index in 0..50 * POOL_MIN {
            let mut text = Text::from(index.to_string());
            interner.text(&mut text);
            if index < 10 {
                held.push(text);
            }
        }
        assert!(interner.texts.values.len() <= 2 * POOL_MIN);
        for text in held {
            assert!(interner.texts.values.contains(&text));
        }
    }
}
