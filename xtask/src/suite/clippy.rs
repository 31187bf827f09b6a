//! Suite `clippy`: no lint fires in any target, the bans of the pure crates included.

use super::{Context, Outcome, Suite, one_command};

pub(super) const SUITE: Suite = Suite {
    name: "clippy",
    about: "lints of every target, warnings denied",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    one_command(&mut cx.workspace.cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))
}
