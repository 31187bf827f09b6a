//! Findings that a site accepts: in a baseline file with reason, owner and expiry, or by an
//! annotation on the object.
//!
//! Invariant: nothing is accepted without a reason, and an expired entry accepts nothing.

use berth_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::dump::Dump;
use crate::dump::lenient::Stamp;
use crate::dump::text::Text;
use crate::finding::{Finding, Subject};

/// Accepted findings of a site.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// What is accepted.
    #[serde(default)]
    pub accept: Vec<Entry>,
}

/// One acceptance.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Code of the rule.
    pub code: Text,
    /// Subject as reports print it (`Pod ns/name`); a `*` at its end stands for anything; absent for
    /// every subject.
    #[serde(default)]
    pub subject: Option<Text>,
    /// Why it is accepted.
    pub reason: Text,
    /// Who accepted it.
    pub owner: Text,
    /// The day on which it counts again: `2026-12-31`.
    pub expires: Text,
}

/// Why a finding is not among the findings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Ignored {
    /// Why.
    pub reason: Text,
    /// Who accepted it.
    pub owner: Text,
    /// Until when, or empty for an annotation.
    pub expires: Text,
}

/// What is wrong with a baseline file.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It can't be read.
    #[error("the baseline is no YAML of the expected shape: {0}")]
    Shape(String),
    /// An entry has no reason or owner.
    #[error(
        "entry {number} ({code}) of the baseline has no {missing}; nothing is accepted without one"
    )]
    Unreasoned {
        /// 1-based number of the entry.
        number: usize,
        /// Its code.
        code: Text,
        /// What is missing.
        missing: &'static str,
    },
    /// A date is none.
    #[error("entry {number} of the baseline expires on `{date}`, which is no date like 2026-12-31")]
    Date {
        /// 1-based number of the entry.
        number: usize,
        /// What stands there.
        date: Text,
    },
}

/// Annotation with which an object accepts rules: `BG004: reason; BN001: reason`.
pub const ANNOTATION: &str = "berth.dev/audit-ignore";

impl Baseline {
    /// Reads a baseline file.
    ///
    /// # Errors
    ///
    /// Where it is no baseline, or an entry lacks reason, owner or a date.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let baseline: Self = crate::source::yaml::read(text).map_err(BaselineError::Shape)?;
        for (number, entry) in (1..).zip(&baseline.accept) {
            let missing = if entry.reason.trim().is_empty() {
                "reason"
            } else if entry.owner.trim().is_empty() {
                "owner"
            } else {
                ""
            };
            if !missing.is_empty() {
                return Err(BaselineError::Unreasoned {
                    number,
                    code: entry.code.clone(),
                    missing,
                });
            }
            if entry.expiry().is_none() {
                return Err(BaselineError::Date {
                    number,
                    date: entry.expires.clone(),
                });
            }
        }
        Ok(baseline)
    }

    /// Findings that count, and those that are accepted.
    pub(super) fn split(
        &self,
        found: Vec<Finding>,
        dump: &Dump,
        now: Time,
    ) -> (Vec<Finding>, Vec<(Finding, Ignored)>) {
        let mut counted = Vec::new();
        let mut accepted = Vec::new();
        for finding in found {
            match self
                .accepts(&finding, now)
                .or_else(|| by_annotation(&finding, dump))
            {
                Some(why) => accepted.push((finding, why)),
                None => counted.push(finding),
            }
        }
        (counted, accepted)
    }

    fn accepts(&self, finding: &Finding, now: Time) -> Option<Ignored> {
        let entry = self.accept.iter().find(|entry| {
            entry.code == finding.code
                && entry
                    .subject
                    .as_ref()
                    .is_none_or(|pattern| matches(pattern, &finding.subject.to_string()))
                && entry.expiry().is_some_and(|expiry| now < expiry)
        })?;
        Some(Ignored {
            reason: entry.reason.clone(),
            owner: entry.owner.clone(),
            expires: entry.expires.clone(),
        })
    }
}

impl Entry {
    fn expiry(&self) -> Option<Time> {
        Stamp::parse(&format!("{}T00:00:00Z", self.expires)).map(|stamp| stamp.0)
    }
}

fn matches(pattern: &str, subject: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => subject.starts_with(start),
        None => subject == pattern,
    }
}

/// An acceptance on the object itself, where it can be found among nodes and pods.
fn by_annotation(finding: &Finding, dump: &Dump) -> Option<Ignored> {
    let Subject {
        kind,
        namespace,
        name,
    } = &finding.subject;
    let text = crate::dump::kinds::annotation(dump, kind, namespace, name, ANNOTATION)?;
    let reason = text
        .split(';')
        .find_map(|part| part.trim().strip_prefix(finding.code)?.strip_prefix(':'))?
        .trim();
    (!reason.is_empty()).then(|| Ignored {
        reason: reason.into(),
        owner: "the object".into(),
        expires: Text::default(),
    })
}
