//! What a rule says: a finding with its subject, evidence, fix and causes.
//!
//! Invariant: a finding without evidence is a defect of its rule; the engine sorts findings, so the
//! order in which a rule reports is free.

use std::fmt;

use serde::Serialize;

use crate::dump::host::Host;
use crate::dump::meta::Meta;
use crate::dump::place::Place;
use crate::dump::text::Text;
use crate::limits::{EVIDENCE_MAX, FINDINGS_PER_RULE_MAX};
use crate::rule::Rule;

/// How bad it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing to do now.
    Info,
    /// It costs something, or will break under load, failure or migration.
    Warning,
    /// It is broken, or loses data at the next failure.
    Error,
}

/// How sure the rule is, given what a dump can show.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// Other explanations are common.
    Low,
    /// Another explanation is possible, and the finding names it.
    Medium,
    /// The dump shows it.
    High,
}

/// What applying a fix does to what runs.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Applicability {
    /// Nothing that runs notices.
    Safe,
    /// Something restarts, moves or loses connections.
    Disruptive,
    /// Somebody has to decide, or to look first.
    Manual,
}

/// A fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Fix {
    /// What it does to what runs.
    pub applicability: Applicability,
    /// What to do, as an instruction.
    pub text: Text,
}

/// What a finding is about.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
pub struct Subject {
    /// Kind as objects write it, or `Host`, or `Cluster`.
    pub kind: Text,
    /// Namespace, or empty.
    pub namespace: Text,
    /// Name, or empty for the cluster.
    pub name: Text,
}

/// What was observed, and where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Evidence {
    /// The object or host.
    pub subject: Subject,
    /// Where in the object or text: `spec.cidr`, `--authorization-mode`.
    pub path: Text,
    /// What stands there.
    pub value: Text,
    /// Where it was read.
    pub place: Place,
}

/// Another finding that explains this one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Code of the other finding's rule.
    pub code: &'static str,
    /// Its subject; `None` for any.
    pub subject: Option<Subject>,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub code: &'static str,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// What it is about.
    pub subject: Subject,
    /// Other objects that are concerned.
    pub also: Vec<Subject>,
    /// One sentence without final full stop: what is wrong here, with the figures.
    pub message: Text,
    /// What was observed.
    pub evidence: Vec<Evidence>,
    /// Evidence beyond [`EVIDENCE_MAX`].
    pub n_more_evidence: u64,
    /// What to do.
    pub fix: Option<Fix>,
    /// What may explain it, the most likely first.
    pub causes: Vec<Cause>,
}

/// Takes the findings of one rule.
#[derive(Debug)]
pub struct Findings<'a> {
    rule: &'a Rule,
    pub(crate) found: Vec<Finding>,
    pub(crate) n_more: u64,
    pub(crate) not_assessable: Vec<Text>,
    overflow: Finding,
}

impl Subject {
    /// The whole cluster.
    #[must_use]
    pub fn cluster() -> Self {
        Self {
            kind: Text::new("Cluster"),
            ..Self::default()
        }
    }

    /// An object by its parts.
    #[must_use]
    pub fn new(kind: &str, namespace: &str, name: &str) -> Self {
        Self {
            kind: kind.into(),
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl From<&Meta> for Subject {
    fn from(meta: &Meta) -> Self {
        Self {
            kind: Text::new(meta.kind),
            namespace: meta.namespace.clone(),
            name: meta.name.clone(),
        }
    }
}

impl From<&Host> for Subject {
    fn from(host: &Host) -> Self {
        Self {
            kind: Text::new("Host"),
            namespace: Text::default(),
            name: host.name.clone(),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        match (namespace.is_empty(), name.is_empty()) {
            (_, true) => write!(f, "{kind}"),
            (true, false) => write!(f, "{kind} {name}"),
            (false, false) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

impl<'a> Findings<'a> {
    pub(crate) fn new(rule: &'a Rule) -> Self {
        let overflow = Finding {
            code: rule.code,
            severity: rule.severity,
            confidence: rule.confidence,
            subject: Subject::default(),
            also: Vec::new(),
            message: Text::default(),
            evidence: Vec::new(),
            n_more_evidence: 0,
            fix: None,
            causes: Vec::new(),
        };
        Self {
            rule,
            found: Vec::new(),
            n_more: 0,
            not_assessable: Vec::new(),
            overflow,
        }
    }

    /// Reports that something is wrong with `subject`, with the rule's own severity and confidence.
    pub fn report(
        &mut self,
        subject: impl Into<Subject>,
        message: impl Into<Text>,
    ) -> &mut Finding {
        let finding = Finding {
            code: self.rule.code,
            severity: self.rule.severity,
            confidence: self.rule.confidence,
            subject: subject.into(),
            also: Vec::new(),
            message: message.into(),
            evidence: Vec::new(),
            n_more_evidence: 0,
            fix: None,
            causes: Vec::new(),
        };
        if self.found.len() >= FINDINGS_PER_RULE_MAX {
            self.n_more += 1;
            self.overflow = finding;
            return &mut self.overflow;
        }
        self.found.push(finding);
        self.found.last_mut().expect("a finding was just pushed")
    }

    /// Says that the rule could not look at something although its kinds are there: `why` names what
    /// is missing. The rule may have findings all the same.
    pub fn not_assessable(&mut self, why: impl Into<Text>) {
        self.not_assessable.push(why.into());
    }
}

impl Finding {
    /// Another severity than the rule's.
    pub fn severity(&mut self, severity: Severity) -> &mut Self {
        self.severity = severity;
        self
    }

    /// Another confidence than the rule's.
    pub fn confidence(&mut self, confidence: Confidence) -> &mut Self {
        self.confidence = confidence;
        self
    }

    /// An observed field of an object.
    pub fn saw(&mut self, object: &Meta, path: &str, value: impl fmt::Display) -> &mut Self {
        self.evidence(Subject::from(object), object.place, path, value)
    }

    /// An observed line or flag of a host.
    pub fn saw_on(
        &mut self,
        host: &Host,
        place: Place,
        path: &str,
        value: impl fmt::Display,
    ) -> &mut Self {
        self.evidence(Subject::from(host), place, path, value)
    }

    /// Another object that is concerned.
    pub fn also(&mut self, subject: impl Into<Subject>) -> &mut Self {
        if self.also.len() < EVIDENCE_MAX {
            self.also.push(subject.into());
        }
        self
    }

    /// What to do.
    pub fn fix(&mut self, applicability: Applicability, text: impl Into<Text>) -> &mut Self {
        self.fix = Some(Fix {
            applicability,
            text: text.into(),
        });
        self
    }

    /// A finding that explains this one, if it is there: by the code of its rule and its subject.
    pub fn caused_by(&mut self, code: &'static str, subject: impl Into<Subject>) -> &mut Self {
        self.causes.push(Cause {
            code,
            subject: Some(subject.into()),
        });
        self
    }

    /// Like [`Self::caused_by`], whatever the subject of the other finding is.
    pub fn caused_by_any(&mut self, code: &'static str) -> &mut Self {
        self.causes.push(Cause {
            code,
            subject: None,
        });
        self
    }

    fn evidence(
        &mut self,
        subject: Subject,
        place: Place,
        path: &str,
        value: impl fmt::Display,
    ) -> &mut Self {
        if self.evidence.len() < EVIDENCE_MAX {
            let value = value.to_string().into();
            self.evidence.push(Evidence {
                subject,
                path: path.into(),
                value,
                place,
            });
        } else {
            self.n_more_evidence += 1;
        }
        self
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        })
    }
}

impl fmt::Display for Applicability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Safe => "safe",
            Self::Disruptive => "disruptive",
            Self::Manual => "manual",
        })
    }
}
