//! Suite `gen`: every generated page is what the code would generate now.

use super::{Context, Outcome, Suite};
use crate::generate;

pub(super) const SUITE: Suite = Suite {
    name: "gen",
    about: "generated pages are fresh (cargo xtask gen --check)",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    Ok(Outcome::Ran(generate::check(&cx.workspace)?))
}
