//! Runs rules over a dump and groups what they find by root cause.
//!
//! Invariants: every rule is in the report, as clean, with findings, not assessable or not
//! applicable; a finding stands under one cause at most, and causes form no circle; ignored findings
//! are listed as such.

pub mod area;
pub mod baseline;
pub mod diff;
mod grouping;

use berth_core::time::Time;
use serde::Serialize;

use self::area::Area;
use self::baseline::{Baseline, Ignored};
use crate::dump::Dump;
use crate::dump::coverage::GapView;
use crate::dump::place::Location;
use crate::dump::text::Text;
use crate::finding::{Confidence, Evidence, Finding, Findings, Fix, Severity, Subject};
use crate::rule::{Cx, Family, Met, Need, Rule, Status};
use crate::settings::Settings;

/// What an audit came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Report {
    /// Findings that stand by themselves, with their symptoms under them; the worst first.
    pub findings: Vec<FindingView>,
    /// Findings that a baseline or an annotation accepts.
    pub ignored: Vec<IgnoredView>,
    /// How each area stands.
    pub areas: Vec<Area>,
    /// What became of each rule, by code.
    pub rules: Vec<RuleOutcome>,
    /// What the dump holds.
    pub coverage: CoverageView,
    /// About when the dump was taken.
    pub taken_at: Option<Text>,
}

/// A finding as reports carry it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FindingView {
    /// Code of the rule.
    pub code: &'static str,
    /// Name of the rule.
    pub name: &'static str,
    /// Family of the rule.
    pub family: Family,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// What it is about.
    pub subject: Subject,
    /// Other objects that are concerned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Subject>,
    /// What is wrong.
    pub message: Text,
    /// What was observed.
    pub evidence: Vec<EvidenceView>,
    /// Evidence that is not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub n_more_evidence: u64,
    /// What to do.
    pub fix: Option<Fix>,
    /// Findings that this one explains.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<FindingView>,
}

/// Evidence as reports carry it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
pub struct EvidenceView {
    /// The object or host.
    pub subject: Subject,
    /// Where in the object or text.
    pub path: Text,
    /// What stands there.
    pub value: Text,
    /// File and line inside the dump.
    pub location: Option<Location>,
}

/// A finding that is accepted, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct IgnoredView {
    /// The finding.
    pub finding: FindingView,
    /// Who says so and why.
    pub accepted: Ignored,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RuleOutcome {
    /// Its code.
    pub code: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What it could not look at, although it ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_assessed: Vec<Text>,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// It looked and found nothing.
    Clean,
    /// It found something.
    Found {
        /// How many, symptoms and accepted ones included.
        n_findings: u64,
    },
    /// The dump lacks what it needs.
    NotAssessable {
        /// What is missing.
        missing: Vec<Text>,
    },
    /// The cluster does not have what it is about.
    NotApplicable,
}

/// Coverage as reports carry it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct CoverageView {
    /// Kinds that the dump speaks of.
    pub kinds: Vec<KindView>,
    /// Hosts with the number of their files.
    pub hosts: Vec<HostView>,
    /// Sources by root.
    pub sources: Vec<SourceView>,
    /// What could not be read.
    pub gaps: Vec<GapView>,
    /// Gaps that are not listed.
    pub n_more_gaps: u64,
    /// Files and bytes read.
    pub n_files: u64,
    /// Bytes after unpacking.
    pub n_bytes: u64,
}

/// One kind of a coverage table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct KindView {
    /// The kind.
    pub kind: &'static str,
    /// How much of it.
    pub extent: crate::dump::coverage::Extent,
    /// Objects.
    pub n_objects: usize,
    /// Sources.
    pub sources: Vec<&'static str>,
}

/// One host of a coverage table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct HostView {
    /// Its name.
    pub name: Text,
    /// Files.
    pub n_files: usize,
}

/// One source of a coverage table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct SourceView {
    /// Where it begins.
    pub root: Text,
    /// Its format.
    pub format: &'static str,
}

/// Runs `rules` over a dump. `now` is when the dump was taken, where the caller knows; else the
/// newest instant that the dump speaks of.
#[must_use]
pub fn audit(
    dump: &Dump,
    rules: &[&Rule],
    settings: &Settings,
    baseline: &Baseline,
    now: Option<Time>,
) -> Report {
    let taken_at = now.or(dump.newest);
    let cx = Cx::new(dump, taken_at.unwrap_or(Time::ZERO), settings);
    let mut outcomes = Vec::new();
    let mut found = Vec::new();
    let mut names = std::collections::BTreeMap::new();
    for rule in rules {
        names.insert(rule.code, *rule);
        let (outcome, findings, not_assessed) = run(rule, &cx);
        outcomes.push(RuleOutcome {
            code: rule.code,
            name: rule.name,
            family: rule.family,
            outcome,
            not_assessed,
        });
        found.extend(findings);
    }
    let (found, accepted) = baseline.split(found, dump, cx.now);
    let view = |finding: &Finding| FindingView::of(finding, names[finding.code], dump);
    let ignored = accepted.iter().map(|(finding, why)| IgnoredView {
        finding: view(finding),
        accepted: why.clone(),
    });
    let ignored = ignored.collect();
    let findings = grouping::group(found, view);
    let coverage = CoverageView::of(dump);
    let taken_at = taken_at.map(|time| crate::dump::lenient::Stamp::write(time).into());
    let areas = area::areas(rules, &outcomes, &findings);
    Report {
        findings,
        ignored,
        areas,
        rules: outcomes,
        coverage,
        taken_at,
    }
}

fn run(rule: &Rule, cx: &Cx<'_>) -> (Outcome, Vec<Finding>, Vec<Text>) {
    let met = |need: &&Need| need.met(cx.dump);
    if rule.needs.iter().any(|need| met(&need) == Met::NotThere) {
        return (Outcome::NotApplicable, Vec::new(), Vec::new());
    }
    let missing: Vec<Text> = rule
        .needs
        .iter()
        .filter(|need| met(need) == Met::No)
        .map(|need| need.to_string().into())
        .collect();
    if !missing.is_empty() {
        return (Outcome::NotAssessable { missing }, Vec::new(), Vec::new());
    }
    let mut findings = Findings::new(rule);
    (rule.check)(cx, &mut findings);
    let n_more = findings.n_more;
    let mut not_assessed = findings.not_assessable;
    let mut found = findings.found;
    if n_more > 0 {
        not_assessed.push(format!("{n_more} more findings of this rule are not listed").into());
    }
    for finding in &mut found {
        finding.evidence.sort();
        finding.evidence.dedup();
    }
    let n_findings = found.len() as u64 + n_more;
    let outcome = match (n_findings, not_assessed.is_empty()) {
        (0, true) => Outcome::Clean,
        (0, false) => Outcome::NotAssessable {
            missing: std::mem::take(&mut not_assessed),
        },
        (n_findings, _) => Outcome::Found { n_findings },
    };
    (outcome, found, not_assessed)
}

impl Report {
    /// Every finding with its depth below its root cause, causes before symptoms.
    #[must_use]
    pub fn flat(&self) -> Vec<(usize, &FindingView)> {
        fn push<'a>(
            findings: &'a [FindingView],
            depth: usize,
            flat: &mut Vec<(usize, &'a FindingView)>,
        ) {
            for finding in findings {
                flat.push((depth, finding));
                push(&finding.symptoms, depth + 1, flat);
            }
        }
        let mut flat = Vec::new();
        push(&self.findings, 0, &mut flat);
        flat
    }

    /// True where nothing at all could be read.
    #[must_use]
    pub fn is_empty_handed(&self) -> bool {
        self.coverage.kinds.iter().all(|kind| kind.n_objects == 0) && self.coverage.hosts.is_empty()
    }

    /// True where a rule could not be assessed, or something could not be read.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let has_hole = |rule: &RuleOutcome| !rule.not_assessed.is_empty();
        self.not_assessable().next().is_some()
            || self.rules.iter().any(has_hole)
            || !self.coverage.gaps.is_empty()
    }

    /// The worst severity among the findings and their symptoms.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        fn worst(findings: &[FindingView]) -> Option<Severity> {
            findings
                .iter()
                .map(|finding| worst(&finding.symptoms).max(Some(finding.severity)))
                .max()
                .flatten()
        }
        worst(&self.findings)
    }

    /// Rules that could not be assessed.
    pub fn not_assessable(&self) -> impl Iterator<Item = &RuleOutcome> {
        self.rules
            .iter()
            .filter(|rule| matches!(rule.outcome, Outcome::NotAssessable { .. }))
    }
}

impl FindingView {
    fn of(finding: &Finding, rule: &Rule, dump: &Dump) -> Self {
        let evidence = |evidence: &Evidence| EvidenceView {
            subject: evidence.subject.clone(),
            path: evidence.path.clone(),
            value: evidence.value.clone(),
            location: dump.files.location(evidence.place),
        };
        Self {
            code: rule.code,
            name: rule.name,
            family: rule.family,
            severity: finding.severity,
            confidence: finding.confidence,
            subject: finding.subject.clone(),
            also: finding.also.clone(),
            message: finding.message.clone(),
            evidence: finding.evidence.iter().map(evidence).collect(),
            n_more_evidence: finding.n_more_evidence,
            fix: finding.fix.clone(),
            symptoms: Vec::new(),
        }
    }
}

impl CoverageView {
    fn of(dump: &Dump) -> Self {
        let coverage = &dump.coverage;
        let kinds = crate::dump::kinds::KINDS.iter().filter_map(|spec| {
            let known = coverage.kind(spec.kind)?;
            let n_objects = dump.count(spec.kind);
            Some(KindView {
                kind: spec.name,
                extent: known.extent,
                n_objects,
                sources: known.sources.clone(),
            })
        });
        let mut gaps: Vec<GapView> = coverage
            .gaps()
            .iter()
            .map(|gap| GapView {
                what: gap.what.clone(),
                location: dump.files.location(gap.place),
                why: gap.why.clone(),
            })
            .collect();
        gaps.sort();
        Self {
            kinds: kinds.collect(),
            hosts: dump
                .hosts
                .values()
                .map(|host| HostView {
                    name: host.name.clone(),
                    n_files: host.files().count(),
                })
                .collect(),
            sources: coverage
                .sources
                .iter()
                .map(|(root, format)| SourceView {
                    root: root.clone(),
                    format,
                })
                .collect(),
            gaps,
            n_more_gaps: coverage.n_gaps_uncounted,
            n_files: coverage.n_files,
            n_bytes: coverage.n_bytes,
        }
    }
}

/// Rules that run unless others are asked for: all but deprecated ones.
#[must_use]
pub fn usual(rules: &[&'static Rule]) -> Vec<&'static Rule> {
    rules
        .iter()
        .copied()
        .filter(|rule| rule.status != Status::Deprecated)
        .collect()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde asks for"
)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
