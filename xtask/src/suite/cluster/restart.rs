//! A scheduler that is killed, and one that is asked to end.

use anyhow::ensure;
use serde_json::json;

use super::case::{Case, Cx};
use super::object::{POD_GROUPS, in_group, pod_group, pods};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "what a killed scheduler left is placed once by the next",
        run: killed_under_load,
    },
    Case {
        name: "a gang that was half bound when the scheduler was killed is completed",
        run: killed_between_members,
    },
    Case {
        name: "a scheduler that is asked to end does so by itself and gives its Lease back",
        run: asked_to_end,
    },
];

fn killed_under_load(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    cx.pods(&pods("before", 150, 1, &json!({})))?;
    cx.until("some pods bound", |seen| seen.n_bound("") >= 20)?;
    kill_all(cx);
    cx.pods(&pods("after", 150, 1, &json!({})))?;
    cx.world.start()?;
    // There are 240 GPUs for 300 pods.
    cx.until("240 pods bound, and 60 told to wait", |seen| {
        seen.n_bound("") == 240 && seen.n_waiting("", "Unschedulable") == 60
    })
}

fn killed_between_members(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    for round in 0..3 {
        let name = format!("gang-{round}");
        cx.make(POD_GROUPS, &pod_group(&name, 60))?;
        cx.pods(&pods(&name, 59, 1, &in_group(&name)))?;
        cx.pods(&pods(&format!("{name}-last"), 1, 1, &in_group(&name)))?;
        cx.until("the first members bound", |seen| seen.n_bound(&name) >= 1)?;
        kill_all(cx);
        cx.world.start()?;
        cx.until("all members bound", |seen| seen.n_bound(&name) == 60)?;
    }
    Ok(())
}

fn asked_to_end(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    for scheduler in std::mem::take(&mut cx.world.schedulers) {
        ensure!(
            scheduler.stop(),
            "expected it to end, and it had to be killed"
        );
    }
    let path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth-scheduler";
    let lease = cx.world.api.get(path)?;
    let holder = lease["spec"]["holderIdentity"].as_str().unwrap_or_default();
    ensure!(holder.is_empty(), "expected no holder, seen {holder}");
    cx.world.start()?;
    cx.settle()
}

pub(super) fn kill_all(cx: &mut Cx<'_>) {
    for scheduler in std::mem::take(&mut cx.world.schedulers) {
        scheduler.kill();
    }
}
