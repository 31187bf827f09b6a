//! What commands that look at a live cluster share: which cluster, whose pods, and names that are
//! nearly right.

use crate::cli::exit::Failure;
use crate::cli::scheduler::Reach;

/// Which cluster, and whose pods.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Looking {
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// The schedulerName whose pods are meant; may be given more than once
    #[arg(long = "scheduler", value_name = "NAME", default_value = "berth")]
    pub(crate) schedulers: Vec<String>,
}

/// How alike two names have to be for one to be meant by the other, from 0 to 1.
const ALIKE_MIN: f64 = 0.7;

/// Names that are suggested.
const SUGGESTED_MAX: usize = 3;

/// The names that are most like `wanted`, the likest first.
pub(crate) fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let likeness = |name: &str| strsim::jaro_winkler(wanted, name);
    let names = names.into_iter().map(|name| (likeness(name), name));
    let mut near: Vec<(f64, &str)> = names
        .filter(|(likeness, _)| *likeness >= ALIKE_MIN)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let near = near.into_iter().map(|(_, name)| name);
    near.take(SUGGESTED_MAX).collect()
}

/// The failure of somebody who names what doesn't exist; `list` shows what does.
pub(crate) fn unknown<'a>(
    what: &str,
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
    list: &str,
) -> Failure {
    let failure = Failure::usage(format!("there is no {what} {wanted}"));
    match nearest(wanted, names).as_slice() {
        [] => failure.next(format!("`{list}` shows all")),
        near => failure.next(format!("perhaps {}; `{list}` shows all", near.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_right_are_suggested_the_likest_first() {
        let names = ["train-1", "train-10", "web", "training"];
        assert_eq!(
            nearest("trian-1", names),
            ["train-1", "train-10", "training"]
        );
        assert!(nearest("zzz", names).is_empty());
    }

    #[test]
    fn an_unknown_name_says_where_all_are() {
        let failure = unknown("queue", "teem-a", ["team-a"], "berth queue ls").to_string();
        assert!(failure.contains("perhaps team-a"), "{failure}");
        let failure = unknown("queue", "x", [], "berth queue ls").to_string();
        assert!(failure.contains("`berth queue ls` shows all"), "{failure}");
    }
}
