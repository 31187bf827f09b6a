//! Suite `real-node`: kubelet and containerd run containers, and leave the machine as it was.

use std::path::Path;

use super::testbed::cluster::{Checks, is_left_clean};
use super::{Context, InCi, Outcome, Suite};
use crate::testbed::{Options, Testbed, real_node, stage};

pub(super) const SUITE: Suite = Suite {
    name: "real-node",
    about: "a real node of the testbed runs containers",
    run,
};

/// What a kubelet writes to by default, and must not here.
const FOREIGN: [&str; 3] = ["/var/log/pods", "/var/lib/kubelet", "/var/log/containers"];

fn run(cx: &Context) -> anyhow::Result<Outcome> {
    let workspace = &cx.workspace;
    let needed = [
        &stage::PKI,
        &stage::IMAGE,
        &stage::ETCD,
        &stage::KUBERNETES_STAGE,
        &stage::CONTAINERD,
    ];
    let mut why = real_node::is_impossible();
    if why.is_none() && !stage::all_built(workspace, &needed)? {
        why = stage::go_is_missing();
    }
    if let Some(why) = why {
        return Ok(Outcome::Skipped {
            why,
            in_ci: InCi::MustRun,
        });
    }
    let before = FOREIGN.map(|path| Path::new(path).exists());
    let name = format!("suite-node-{}", std::process::id());
    let testbed = Testbed::up(workspace, &name, &Options::real_node())?;
    let mut checks = Checks::of(&testbed);
    let lived = live(&mut checks);
    let clean = is_left_clean(&testbed)?;
    let after = FOREIGN.map(|path| Path::new(path).exists());
    checks.check("the machine is as it was", before == after);
    lived?;
    let mut tally = checks.tally;
    tally += clean;
    Ok(Outcome::Ran(tally))
}

/// The last pod still runs when the testbed is taken down.
fn live(checks: &mut Checks<'_>) -> anyhow::Result<()> {
    for (name, arguments) in [
        ("ends", &["sleep", "1s"][..]),
        ("fails", &["sleep", "1s", "exit", "3"]),
        ("stays", &[]),
    ] {
        checks.create(&pod(name, arguments))?;
    }
    checks.reach("ends", "Succeeded");
    checks.reach("fails", "Failed");
    checks.reach("stays", "Running");
    Ok(())
}

fn pod(name: &str, arguments: &[&str]) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "nodeName": "real-0",
            "restartPolicy": "Never",
            "containers": [{
                "name": "main",
                "image": "testbed.berth.dev/image:1",
                "args": arguments,
            }],
        },
    })
}
