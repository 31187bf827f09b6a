//! Suite `fmt`: every Rust file is formatted as rustfmt.toml says.

use super::{Context, Outcome, Suite, one_command};

pub(super) const SUITE: Suite = Suite {
    name: "fmt",
    about: "formatting of Rust files",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    one_command(&mut cx.workspace.cargo(["fmt", "--all", "--check"]))
}
