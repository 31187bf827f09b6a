//! Suite `doc`: the API documentation builds, with no broken link and no other warning.

use super::{Context, Outcome, Suite, one_command};

pub(super) const SUITE: Suite = Suite {
    name: "doc",
    about: "API documentation, warnings denied",
    run,
};

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let mut command = cx.workspace.cargo(["doc", "--workspace", "--no-deps"]);
    one_command(command.env("RUSTDOCFLAGS", "-D warnings"))
}
