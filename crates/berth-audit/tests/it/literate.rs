//! Literate tests of rules: a Markdown page with prose, objects, host files and expectations.
//!
//! A page has the sections `# finds`, `# stays quiet` and `# evidence missing`. Every `expect` block
//! closes a case, which is all blocks since the last one:
//!
//! - `yaml` holds objects; their kinds count as complete, but for those in `partial=Kind,Kind`, and
//!   `complete=Kind,Kind` adds kinds of which there is none;
//! - `file path=HOST/args/kubelet` is a file of a host;
//! - `settings` holds thresholds as YAML; `now=TIME` on any block sets when the dump was taken.
//!
//! A gap is a fault of the page, but for an `expect` block with `gaps=shown`.

use berth_audit::dump::Dump;
use berth_audit::dump::coverage::Extent;
use berth_audit::dump::kinds::{KINDS, Kind};
use berth_audit::dump::lenient::Stamp;
use berth_audit::engine::baseline::Baseline;
use berth_audit::engine::{FindingView, Outcome, Report, audit};
use berth_audit::rule::Rule;
use berth_audit::settings::Settings;
use berth_audit::source::Reader;
use berth_core::time::Time;

/// Sections that every page has.
pub(crate) const SECTIONS: [&str; 3] = ["finds", "stays quiet", "evidence missing"];

/// A fenced block.
struct Block {
    /// First word behind the fence.
    kind: String,
    /// `key=value` behind it.
    attributes: Vec<(String, String)>,
    text: String,
}

/// Objects and files of a case, read.
pub(crate) struct Case {
    /// What was read.
    pub(crate) dump: Dump,
    /// Thresholds.
    pub(crate) settings: Settings,
    /// When the dump was taken, where the page says so.
    pub(crate) now: Option<Time>,
    /// `key=value` of its `expect` block.
    asked: Vec<(String, String)>,
}

impl Case {
    /// True where the `expect` block has `key=value`.
    pub(crate) fn asks(&self, key: &str, value: &str) -> bool {
        self.asked.iter().any(|(k, v)| k == key && v == value)
    }
}

/// Runs a page of one rule; returns the page with true expectations, and what is wrong with it
/// besides.
pub(crate) fn run(page: &str, rule: &'static Rule) -> (String, Vec<String>) {
    let mut unfitting = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let (written, mut problems) = rewrite(page, |section, case| {
        let report = audit(
            &case.dump,
            &[rule],
            &case.settings,
            &Baseline::default(),
            case.now,
        );
        let shown = show(&report);
        unfitting.extend(unfit(section, &shown).map(|why| format!("section `{section}`: {why}")));
        seen.push(section.to_owned());
        shown
    });
    problems.extend(unfitting);
    for wanted in SECTIONS {
        if !seen.iter().any(|section| section == wanted) {
            problems.push(format!("no expectation in a section `# {wanted}`"));
        }
    }
    (written, problems)
}

/// Reads the cases of a page and writes what `shown` says of each into its `expect` block.
pub(crate) fn rewrite(
    page: &str,
    mut shown: impl FnMut(&str, &Case) -> String,
) -> (String, Vec<String>) {
    let mut problems = Vec::new();
    let mut written = String::new();
    let mut section = String::new();
    let mut blocks: Vec<Block> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(title) = line.strip_prefix("# ") {
            section = title.trim().to_owned();
        }
        written += line;
        written.push('\n');
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else {
            continue;
        };
        let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        let mut words = info.split_whitespace();
        let kind = words.next().unwrap_or_default().to_owned();
        let attributes = words.filter_map(|word| word.split_once('='));
        let attributes: Vec<(String, String)> = attributes
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        if kind == "expect" {
            let case = read(&std::mem::take(&mut blocks), attributes, &mut problems);
            written += &shown(&section, &case);
        } else {
            written += &text
                .iter()
                .map(|line| format!("{line}\n"))
                .collect::<String>();
            blocks.push(Block {
                kind,
                attributes,
                text: text.join("\n") + "\n",
            });
        }
        written += "```\n";
    }
    (written, problems)
}

/// What a section may not expect.
fn unfit(section: &str, shown: &str) -> Option<&'static str> {
    match section {
        "finds" if !shown.starts_with(['e', 'w', 'i']) => Some("there is no finding"),
        "stays quiet" if shown != "nothing\n" => Some("the rule is not quiet"),
        "evidence missing" if !shown.contains("not assess") && shown != "not applicable\n" => {
            Some("the rule does not say what is missing")
        }
        _ => None,
    }
}

/// Reads the blocks of one case.
fn read(blocks: &[Block], asked: Vec<(String, String)>, problems: &mut Vec<String>) -> Case {
    let mut reader = Reader::new();
    let mut settings = Settings::default();
    let mut now = None;
    let mut claims: Vec<(Kind, Extent)> = Vec::new();
    for block in blocks {
        for (key, value) in &block.attributes {
            match key.as_str() {
                "complete" => {
                    claims.extend(kinds(value, problems).map(|kind| (kind, Extent::Complete)));
                }
                "partial" => {
                    claims.extend(kinds(value, problems).map(|kind| (kind, Extent::Partial)));
                }
                "now" => now = Stamp::parse(value).map(|stamp| stamp.0),
                _ => {}
            }
        }
        let attribute = |key: &str| {
            block
                .attributes
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value.as_str())
        };
        match block.kind.as_str() {
            "yaml" => reader.file("case.yaml", &mut block.text.as_bytes()),
            "file" => {
                let path = attribute("path").unwrap_or_default();
                let (host, file) = path.split_once('/').unwrap_or(("host", path));
                reader.file(
                    &format!("{host}/inspection-report/{file}"),
                    &mut block.text.as_bytes(),
                );
            }
            "settings" => {
                settings = serde_saphyr::from_str(&block.text).expect("settings are YAML");
            }
            other => problems.push(format!("a block `{other}` is unknown")),
        }
    }
    let mut dump = reader.finish();
    for spec in KINDS.iter().filter(|spec| dump.count(spec.kind) > 0) {
        if !claims.iter().any(|(kind, _)| *kind == spec.kind) {
            claims.push((spec.kind, Extent::Complete));
        }
    }
    for (kind, extent) in claims {
        dump.coverage.claim(kind, extent, "the test");
    }
    let case = Case {
        dump,
        settings,
        now,
        asked,
    };
    if !case.asks("gaps", "shown") {
        let gaps = case.dump.coverage.gaps().iter();
        problems.extend(gaps.map(|gap| format!("unreadable {}: {}", gap.what, gap.why)));
    }
    case
}

/// Kinds by their names in findings.
fn kinds(names: &str, problems: &mut Vec<String>) -> impl Iterator<Item = Kind> {
    let mut found = Vec::new();
    for name in names.split(',') {
        match KINDS.iter().find(|spec| spec.kind.title() == name) {
            Some(spec) => found.push(spec.kind),
            None => problems.push(format!("no kind `{name}`")),
        }
    }
    found.into_iter()
}

/// One line a finding, its evidence and fix under it.
fn show(report: &Report) -> String {
    without_trailing_blanks(&show_raw(report))
}

/// Values may end in blanks; pages do not.
pub(crate) fn without_trailing_blanks(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn show_raw(report: &Report) -> String {
    let outcome = &report.rules[0];
    let mut text = String::new();
    for finding in &report.findings {
        show_finding(finding, 0, &mut text);
    }
    for why in &outcome.not_assessed {
        text += &format!("not assessed: {why}\n");
    }
    match &outcome.outcome {
        Outcome::NotAssessable { missing } => {
            for missing in missing {
                text += &format!("not assessable: {missing}\n");
            }
        }
        Outcome::NotApplicable => text += "not applicable\n",
        Outcome::Clean => text += "nothing\n",
        Outcome::Found { .. } => {}
    }
    text
}

/// A finding with its evidence, its fix and its symptoms.
pub(crate) fn show_finding(finding: &FindingView, depth: usize, text: &mut String) {
    let indent = "    ".repeat(depth);
    let FindingView {
        severity,
        confidence,
        subject,
        message,
        ..
    } = finding;
    *text += &format!("{indent}{severity} {subject} ({confidence}): {message}\n");
    for subject in &finding.also {
        *text += &format!("{indent}  also {subject}\n");
    }
    for seen in &finding.evidence {
        *text += &format!(
            "{indent}  {} {} = {}\n",
            seen.subject,
            seen.path,
            seen.value
                .escape_debug()
                .to_string()
                .replace("\\\"", "\"")
                .replace("\\'", "'")
        );
    }
    if finding.n_more_evidence > 0 {
        *text += &format!("{indent}  and {} more\n", finding.n_more_evidence);
    }
    if let Some(fix) = &finding.fix {
        *text += &format!("{indent}  fix ({}): {}\n", fix.applicability, fix.text);
    }
    for symptom in &finding.symptoms {
        show_finding(symptom, depth + 1, text);
    }
}
