//! Suite `tidy`: the house rules that no compiler checks.

use super::{Context, Outcome, Suite};
use crate::tidy;

pub(super) const SUITE: Suite = Suite {
    name: "tidy",
    about: "house rules (cargo xtask tidy)",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    Ok(Outcome::Ran(tidy::check(&cx.workspace)?))
}
