//! Gangs: all or nothing, whoever says how large they are.

use anyhow::ensure;
use serde_json::json;

use super::case::{Case, Cx};
use super::object::{POD_GROUPS, in_group, pod, pod_group, pods, with};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "of twins that do not both fit one starts as a whole",
        run: twins,
    },
    Case {
        name: "a gang larger than the cluster holds nothing",
        run: larger_than_the_cluster,
    },
    Case {
        name: "a gang waits for its last member",
        run: last_member,
    },
    Case {
        name: "members that come before their group start when it comes",
        run: group_comes_late,
    },
    Case {
        name: "a gang by Kueue's labels starts as a whole",
        run: kueue,
    },
    Case {
        name: "a gang by the group of another scheduler starts as a whole",
        run: volcano,
    },
    Case {
        name: "members of a plain group start one by one",
        run: basic_group,
    },
];

fn twins(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let mut members = Vec::new();
    for twin in ["castor", "pollux"] {
        cx.make(POD_GROUPS, &pod_group(twin, 20))?;
        members.push(pods(twin, 20, 8, &in_group(twin)));
    }
    // Interleaved, so that neither is complete long before the other.
    let (castor, pollux) = (&members[0], &members[1]);
    let both = castor
        .iter()
        .zip(pollux)
        .flat_map(|(one, other)| [one.clone(), other.clone()]);
    cx.pods(&both.collect::<Vec<_>>())?;
    cx.until(
        "20 members of one bound, and 20 of the other told why not",
        |seen| seen.n_bound("") == 20 && seen.n_waiting("", "Unschedulable") == 20,
    )?;
    let counts = cx.look(|seen| [seen.n_bound("castor"), seen.n_bound("pollux")]);
    ensure!(
        counts == [20, 0] || counts == [0, 20],
        "expected all of one twin and none of the other, seen {counts:?}"
    );
    let winner = if counts[0] == 20 { "castor" } else { "pollux" };
    for name in cx.look(|seen| seen.names_bound(winner)) {
        cx.delete(&cx.path(&format!("pods/{name}")))?;
    }
    cx.until("the other twin in its place", |seen| {
        seen.n_bound("") == 20 && seen.n_bound(winner) == 0
    })
}

fn larger_than_the_cluster(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    cx.make(POD_GROUPS, &pod_group("huge", 31))?;
    cx.pods(&pods("huge", 31, 8, &in_group("huge")))?;
    cx.until("31 members told that there is no room", |seen| {
        seen.n_waiting("huge", "Unschedulable") == 31
    })?;
    // It must not keep others from the room that it can't use.
    cx.pods(&pods("small", 30, 8, &json!({})))?;
    cx.until("30 others bound, and no member", |seen| {
        seen.n_bound("small") == 30 && seen.n_bound("huge") == 0
    })
}

fn last_member(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    cx.make(POD_GROUPS, &pod_group("four", 4))?;
    cx.pods(&pods("member", 3, 2, &in_group("four")))?;
    cx.settle()?;
    cx.expect("three of four members waiting", |seen| {
        seen.n_bound("member") == 0
    })?;
    cx.pod(&with(pod("member-last", 2), &in_group("four")))?;
    cx.until("all four bound", |seen| seen.n_bound("member") == 4)
}

fn group_comes_late(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    cx.pods(&pods("member", 3, 1, &in_group("late")))?;
    cx.until("members Misconfigured", |seen| {
        seen.n_waiting("member", "Misconfigured") == 3
    })?;
    cx.make(POD_GROUPS, &pod_group("late", 3))?;
    cx.until("all bound", |seen| seen.n_bound("member") == 3)
}

fn kueue(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let marks = json!({"metadata": {
        "labels": {"kueue.x-k8s.io/pod-group-name": "group"},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "6"},
    }});
    cx.pods(&pods("member", 5, 1, &marks))?;
    cx.settle()?;
    cx.expect("five of six members waiting", |seen| {
        seen.n_bound("member") == 0
    })?;
    cx.pod(&with(pod("member-last", 1), &marks))?;
    cx.until("all six bound", |seen| seen.n_bound("member") == 6)
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn volcano(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    cx.make_global(
        CRDS,
        &json!({
            "metadata": {"name": "podgroups.scheduling.volcano.sh"},
            "spec": {
                "group": "scheduling.volcano.sh",
                "scope": "Namespaced",
                "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup"},
                "versions": [{
                    "name": "v1beta1",
                    "served": true,
                    "storage": true,
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": true,
                    }},
                }],
            },
        }),
    )?;
    let groups = cx.path("scheduling.volcano.sh/v1beta1:podgroups");
    cx.until_api("the kind served", &groups, |list| list["items"].is_array())?;
    // Kinds are looked for at the start.
    cx.world.schedulers.clear();
    cx.one_scheduler()?;
    let marks = json!({"metadata": {"annotations": {"scheduling.k8s.io/group-name": "team"}}});
    cx.pods(&pods("member", 3, 1, &marks))?;
    cx.until("members Misconfigured", |seen| {
        seen.n_waiting("member", "Misconfigured") == 3
    })?;
    let group = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "team"},
        "spec": {"minMember": 4},
    });
    cx.make("scheduling.volcano.sh/v1beta1:podgroups", &group)?;
    cx.settle()?;
    cx.expect("three of four members waiting", |seen| {
        seen.n_bound("member") == 0
    })?;
    cx.pod(&with(pod("member-last", 1), &marks))?;
    cx.until("all four bound", |seen| seen.n_bound("member") == 4)?;
    cx.world.schedulers.clear();
    Ok(())
}

fn basic_group(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let mut group = pod_group("plain", 1);
    group["spec"]["schedulingPolicy"] = json!({"basic": {}});
    cx.make(POD_GROUPS, &group)?;
    cx.pods(&pods("member", 31, 8, &in_group("plain")))?;
    cx.until("30 of 31 members bound", |seen| {
        seen.n_bound("member") == 30 && seen.n_waiting("member", "Unschedulable") == 1
    })
}
