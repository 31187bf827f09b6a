//! `berth audit`: what is wrong with a cluster, from whatever dump there is of it.
//!
//! Files are opened here and read in `berth-audit`. Invariant: the exit code tells findings (1) from
//! unreadable input (3) and from evidence that was not there (4), in this order of precedence:
//! unreadable, findings, incomplete.

mod diff;
pub(crate) mod explain;
mod input;
mod live;
mod rules;

use std::path::PathBuf;

use berth_audit::dump::Dump;
use berth_audit::engine::baseline::Baseline;
use berth_audit::engine::{Report, audit, usual};
use berth_audit::finding::Severity;
use berth_audit::render::text::{Detail, Paint};
use berth_audit::render::{html, junit, markdown, sarif, text};
use berth_audit::settings::{PROFILES, Profile, Settings};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use serde::Serialize;

use crate::cli::exit::{Exit, Failure};
use crate::cli::scheduler::Reach;
use crate::output;
use crate::output::table::Style;

/// Find what is wrong with a cluster, from a dump of it or live
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// Files, folders and archives of dumps of one cluster; `-` reads standard input
    #[arg(required_unless_present = "live", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read the cluster itself instead of a dump: lists everything, changes nothing
    #[arg(long, conflicts_with = "paths")]
    live: bool,
    #[command(flatten)]
    cluster: Reach,
    /// Where objects may not be listed cluster-wide, list them here; else in the context's namespace
    #[arg(short, long = "namespace", value_name = "NAME", requires = "live")]
    namespaces: Vec<String>,
    #[command(flatten)]
    options: Options,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
    /// Show all findings with all evidence
    #[arg(short, long)]
    verbose: bool,
}

/// How findings are judged.
#[derive(Debug, clap::Args)]
struct Options {
    /// End with exit code 1 where a finding is at least this bad
    #[arg(long, value_enum, default_value_t = FailOn::Warning, value_name = "SEVERITY")]
    fail_on: FailOn,
    /// Thresholds to compare with
    #[arg(long, value_parser = profile_parser(), default_value = PROFILES[0].name)]
    profile: &'static Profile,
    /// File of accepted findings, each with reason, owner and expiry
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Rules(rules::Args),
    Diff(diff::Args),
    /// Print the JSON schema of `--output json`
    Schema,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text for people, grouped by cause
    Table,
    /// One JSON document
    Json,
    /// One YAML document
    Yaml,
    /// SARIF 2.1.0, for code scanning views
    Sarif,
    /// JUnit XML, for CI views
    Junit,
    /// Markdown, for tickets
    Markdown,
    /// One HTML page with filters
    Html,
}

/// From which severity on findings count for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Warnings and errors
    Warning,
    /// Errors only
    Error,
    /// Nothing: report only
    Never,
}

const EXAMPLES: &str = "\
Examples:
  berth audit inspection-report-*.tar.gz
  berth audit --live --context production
  berth audit must-gather/ --output html > audit.html
  kubectl cluster-info dump -A | berth audit -
  berth audit diff before.tar.gz after.tar.gz
  berth audit rules
  berth explain BN001

Exit codes: 0 clean, 1 findings, 2 usage, 3 nothing readable, 4 no finding but something could not
be assessed, 5 internal.";

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Some(Command::Rules(args)) => rules::run(args),
        Some(Command::Diff(args)) => diff::run(args),
        Some(Command::Schema) => {
            output::write_text(&berth_audit::render::json_schema())?;
            Ok(Exit::Done)
        }
        None => {
            let dump = if args.live {
                live::read(&args.cluster, &args.namespaces)?
            } else {
                input::read(&args.paths)?
            };
            let report = judge(&dump, &args.options)?;
            output::write_text(&args.shown(&report)?)?;
            Ok(args.options.exit(&report))
        }
    }
}

/// Reads dumps and runs the rules over them.
fn report(paths: &[PathBuf], options: &Options) -> Result<Report, Failure> {
    judge(&input::read(paths)?, options)
}

/// Runs the rules over a dump.
fn judge(dump: &Dump, options: &Options) -> Result<Report, Failure> {
    let baseline = options.baseline()?;
    let rules = usual(&berth_audit::rules::all());
    Ok(audit(dump, &rules, &options.settings(), &baseline, None))
}

impl Args {
    fn shown(&self, report: &Report) -> Result<String, Failure> {
        Ok(match self.output {
            Format::Table => {
                let detail = if self.verbose {
                    Detail::All
                } else {
                    Detail::Short
                };
                let paint = match Style::of_stdout() {
                    Style::Plain => Paint::None,
                    Style::Terminal => Paint::Ansi,
                };
                text::render(report, detail, paint)
            }
            Format::Json => json(report)?,
            Format::Yaml => yaml(report)?,
            Format::Sarif => sarif::render(
                report,
                &usual(&berth_audit::rules::all()),
                env!("CARGO_PKG_VERSION"),
            ),
            Format::Junit => junit::render(
                report,
                self.options.fail_on.severity().unwrap_or(Severity::Error),
            ),
            Format::Markdown => markdown::render(report),
            Format::Html => html::render(report),
        })
    }
}

impl Options {
    fn settings(&self) -> Settings {
        self.profile.settings()
    }

    fn baseline(&self) -> Result<Baseline, Failure> {
        let Some(path) = &self.baseline else {
            return Ok(Baseline::default());
        };
        let unusable = |why: &dyn std::fmt::Display| {
            Failure::unreadable(format!("unable to use the baseline {}", path.display()))
                .because(why)
        };
        let text = std::fs::read_to_string(path).map_err(|error| unusable(&error))?;
        Baseline::parse(&text).map_err(|error| {
            unusable(&error)
                .next("each entry needs code, reason, owner and expires, and may have a subject")
        })
    }

    fn exit(&self, report: &Report) -> Exit {
        if report.is_empty_handed() {
            return Exit::Unreadable;
        }
        self.fail_on.exit(report.worst(), report.is_incomplete())
    }
}

impl FailOn {
    fn severity(self) -> Option<Severity> {
        match self {
            Self::Warning => Some(Severity::Warning),
            Self::Error => Some(Severity::Error),
            Self::Never => None,
        }
    }

    fn exit(self, worst: Option<Severity>, is_incomplete: bool) -> Exit {
        let Some(bound) = self.severity() else {
            return Exit::Done;
        };
        if worst.is_some_and(|worst| worst >= bound) {
            Exit::Negative
        } else if is_incomplete {
            Exit::Incomplete
        } else {
            Exit::Done
        }
    }
}

fn json(document: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(document).map_err(|error| unserialisable(&error))?;
    Ok(text + "\n")
}

fn yaml(document: &impl Serialize) -> Result<String, Failure> {
    serde_saphyr::to_string(document).map_err(|error| unserialisable(&error))
}

fn unserialisable(error: &dyn std::fmt::Display) -> Failure {
    anyhow::anyhow!("unable to serialise the report: {error}").into()
}

fn profile_parser() -> impl clap::builder::TypedValueParser<Value = &'static Profile> {
    let values = PROFILES
        .iter()
        .map(|profile| PossibleValue::new(profile.name).help(profile.about));
    PossibleValuesParser::new(values)
        .map(|name| Profile::named(&name).expect("the parser accepts names of the list"))
}
