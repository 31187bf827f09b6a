//! Selectors over nodes: the required node affinity of pods and volumes.
//!
//! Semantics: `k8s.io/component-helpers/scheduling/corev1/nodeaffinity`. Terms are alternatives;
//! a term that Kubernetes can't parse matches no node, and no term at all matches no node either.

use std::collections::BTreeSet;

use super::Text;
use super::label::{Labels, Requirement};

/// What is asked of the node's name (`matchFields` on `metadata.name`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NameTest {
    /// It is this one.
    Is(Text),
    /// It is any other.
    IsNot(Text),
}

impl NameTest {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Is(wanted) => wanted == name,
            Self::IsNot(unwanted) => unwanted != name,
        }
    }
}

/// What a term that can be parsed asks for; all of it must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TermTests {
    pub labels: Box<[Requirement]>,
    pub names: Box<[NameTest]>,
}

/// One alternative.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeTerm {
    /// `None` where the term is empty or can't be parsed, and so matches no node.
    pub tests: Option<TermTests>,
    /// The names that the term's `In` tests on `metadata.name` leave over; `None` without such a
    /// test. The node affinity filter narrows the nodes by it before it looks at any.
    pub named: Option<Box<[Text]>>,
}

/// A node, as a selector sees it.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    pub labels: &'a Labels,
    /// `None` where only labels count, as for volumes.
    pub name: Option<&'a Text>,
}

/// Alternatives, of which one must hold.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct NodeSelector {
    pub terms: Box<[NodeTerm]>,
}

impl NodeSelector {
    /// The node called `name` alone.
    #[must_use]
    pub fn named(name: Text) -> Self {
        let tests = TermTests {
            labels: Box::default(),
            names: Box::new([NameTest::Is(name.clone())]),
        };
        let term = NodeTerm {
            tests: Some(tests),
            named: Some(Box::new([name])),
        };
        Self {
            terms: Box::new([term]),
        }
    }

    /// Whether the node passes.
    #[must_use]
    pub fn matches(&self, node: Subject<'_>) -> bool {
        self.terms.iter().any(|term| term.matches(node))
    }

    /// The only names that can pass, if every term names some.
    #[must_use]
    pub fn names(&self) -> Option<BTreeSet<Text>> {
        let mut names = BTreeSet::new();
        for term in &self.terms {
            names.extend(term.named.as_ref()?.iter().cloned());
        }
        (!self.terms.is_empty()).then_some(names)
    }
}

impl NodeTerm {
    fn matches(&self, node: Subject<'_>) -> bool {
        self.tests.as_ref().is_some_and(|tests| {
            tests.labels.iter().all(|one| one.matches(node.labels))
                && node
                    .name
                    .is_none_or(|name| tests.names.iter().all(|one| one.matches(name)))
        })
    }
}
