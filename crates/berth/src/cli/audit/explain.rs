//! `berth explain CODE`: the manual page of a rule.

use berth_audit::rule::Rule;
use berth_audit::rules;

use crate::cli::exit::{Exit, Failure};
use crate::output;

/// Explain a rule of the audit: what it finds, why it matters, what to do
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Code or name of a rule, such as BN001 or leaked-address
    #[arg(value_name = "CODE")]
    code: String,
}

pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    let rule = rules::named(&args.code).ok_or_else(|| {
        Failure::usage(format!("no rule has the code or name `{}`", args.code))
            .next("`berth audit rules` lists them all")
    })?;
    output::write_text(&page(rule))?;
    Ok(Exit::Done)
}

/// The manual page with a head of facts.
pub(crate) fn page(rule: &Rule) -> String {
    let needs: Vec<String> = rule.needs.iter().map(ToString::to_string).collect();
    format!(
        "# {} {}\n\n{} of the area {}, confidence {}, {} since {}. Needs: {}.\n\n{}",
        rule.code,
        rule.name,
        capital(&rule.severity.to_string()),
        rule.family.title(),
        rule.confidence,
        rule.status,
        rule.since,
        if needs.is_empty() {
            "nothing in particular".to_owned()
        } else {
            needs.join(", ")
        },
        rule.manual
    )
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
