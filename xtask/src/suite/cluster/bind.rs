//! Binding: single pods, by room and by all of Kubernetes' rules.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use serde_json::{Value, json};

use super::N_NODES;
use super::case::{Case, Cx};
use super::object::{on_node, pod, pods, with};
use crate::testbed::api::Verb;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "GPU pods fill the nodes and never more",
        run: gpu_pods_fill_nodes,
    },
    Case {
        name: "plain pods share a node's CPU and never more",
        run: plain_pods_share_cpu,
    },
    Case {
        name: "a pod that no node can hold says so",
        run: too_large_says_so,
    },
    Case {
        name: "pods of another scheduler are left alone and counted",
        run: others_are_left_alone_and_counted,
    },
    Case {
        name: "node selectors and affinity are honoured",
        run: node_affinity,
    },
    Case {
        name: "taints are honoured",
        run: taints,
    },
    Case {
        name: "pods that avoid each other do not meet",
        run: anti_affinity,
    },
    Case {
        name: "a pod that wants to be beside another is",
        run: pod_affinity,
    },
    Case {
        name: "pods are spread over zones",
        run: topology_spread,
    },
    Case {
        name: "host ports are used once a node",
        run: host_ports,
    },
    Case {
        name: "gates of others keep a pod",
        run: gates_of_others,
    },
    Case {
        name: "Berth's own gate is taken away by the bind",
        run: own_gate,
    },
    Case {
        name: "what an ended pod held is given on",
        run: ended_pods_make_room,
    },
];

fn gpu_pods_fill_nodes(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let nothing = json!({});
    cx.pods(&pods("seven", 40, 7, &nothing))?;
    cx.until("30 of 40 pods bound, and 10 Unschedulable", |seen| {
        seen.n_bound("seven") == 30 && seen.n_waiting("seven", "Unschedulable") == 10
    })?;
    cx.pods(&pods("one", 40, 1, &nothing))?;
    cx.until("30 of 40 small pods bound beside them", |seen| {
        seen.n_bound("one") == 30 && seen.n_waiting("one", "Unschedulable") == 10
    })
}

fn plain_pods_share_cpu(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let cpu = json!({"spec": {"containers": [{
        "name": "main", "image": "none", "resources": {"requests": {"cpu": "50"}},
    }]}});
    let here = with(on_node("fake-00004"), &cpu);
    cx.pods(&pods("half", 3, 0, &here))?;
    cx.until("two pods of 50 CPUs on a node with 128", |seen| {
        seen.n_bound("half") == 2 && seen.n_waiting("half", "Unschedulable") == 1
    })?;
    cx.pods(&pods("any", 100, 0, &json!({})))?;
    cx.until("100 pods without a wish bound", |seen| {
        seen.n_bound("any") == 100
    })
}

fn too_large_says_so(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    cx.pod(&pod("nine", 9))?;
    cx.pod(&with(pod("nowhere", 0), &on_node("no-such-node")))?;
    cx.until("both Unschedulable", |seen| {
        seen.waits("nine", "Unschedulable", "NeverFits")
            && seen.n_waiting("nowhere", "Unschedulable") == 1
    })
}

fn others_are_left_alone_and_counted(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let theirs = json!({"spec": {"schedulerName": "somebody-else"}});
    cx.pod(&with(pod("foreign", 8), &theirs))?;
    cx.pod(&with(pod("unplaced", 1), &theirs))?;
    let binding = json!({
        "metadata": {"name": "foreign"},
        "target": {"kind": "Node", "name": "fake-00005"},
    });
    cx.make("pods/foreign/binding", &binding)?;
    cx.until("the foreign pod to be bound", |seen| {
        seen.node("foreign").is_some()
    })?;
    cx.pod(&with(pod("ours", 1), &on_node("fake-00005")))?;
    cx.until("ours to wait", |seen| {
        seen.n_waiting("ours", "Unschedulable") == 1
    })?;
    cx.expect("theirs to be left alone", |seen| {
        seen.node("unplaced").is_none()
            && !seen.waits("unplaced", "Unschedulable", "")
            && seen.has("foreign")
    })?;
    cx.delete(&cx.path("pods/foreign"))?;
    cx.until("ours to take the place", |seen| {
        seen.node("ours") == Some("fake-00005")
    })
}

fn node_affinity(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let not_in = json!({"spec": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{
            "matchExpressions": [{
                "key": "kubernetes.io/hostname",
                "operator": "In",
                "values": ["fake-00002", "fake-00009"],
            }],
        }]},
    }}}});
    cx.pods(&pods("either", 3, 8, &not_in))?;
    cx.pod(&with(pod("exact", 8), &on_node("fake-00011")))?;
    cx.until("two on the named nodes, and one waiting", |seen| {
        let nodes: BTreeSet<&str> = seen.nodes("either").into_iter().collect();
        nodes == BTreeSet::from(["fake-00002", "fake-00009"])
            && seen.n_waiting("either", "Unschedulable") == 1
            && seen.node("exact") == Some("fake-00011")
    })
}

fn taints(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    const NODE: &str = "/api/v1/nodes/fake-00001";
    let taint = |taints: Value| json!({"spec": {"taints": taints}});
    let reserved = json!([{"key": "reserved", "value": "yes", "effect": "NoSchedule"}]);
    let api = &cx.world.api;
    api.require(Verb::Merge, NODE, &taint(reserved))?;
    let here = on_node("fake-00001");
    let tolerant = json!({"spec": {"tolerations": [{"key": "reserved", "operator": "Exists"}]}});
    let looked = cx
        .pod(&with(pod("shut-out", 0), &here))
        .and_then(|()| cx.pod(&with(with(pod("tolerant", 0), &here), &tolerant)))
        .and_then(|()| {
            cx.until("only the tolerant pod bound", |seen| {
                seen.node("tolerant").is_some() && seen.n_waiting("shut-out", "Unschedulable") == 1
            })
        });
    api.require(Verb::Merge, NODE, &taint(Value::Null))?;
    looked?;
    cx.until("the other too once the taint is gone", |seen| {
        seen.node("shut-out").is_some()
    })
}

fn anti_affinity(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let apart = json!({
        "metadata": {"labels": {"app": "lone"}},
        "spec": {"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{
                "labelSelector": {"matchLabels": {"app": "lone"}},
                "topologyKey": "kubernetes.io/hostname",
            }],
        }}},
    });
    let n = N_NODES as usize;
    cx.pods(&pods("lone", n + 1, 0, &apart))?;
    cx.until("one on each node, and one waiting", |seen| {
        seen.n_bound("lone") == n && seen.n_waiting("lone", "Unschedulable") == 1
    })?;
    let distinct = cx.look(|seen| {
        let nodes: BTreeSet<&str> = seen.nodes("lone").into_iter().collect();
        nodes.len()
    });
    ensure!(distinct == n, "expected {n} nodes, seen {distinct}");
    Ok(())
}

fn pod_affinity(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let beside = json!({"spec": {"affinity": {"podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": {"matchLabels": {"app": "leader"}},
            "topologyKey": "kubernetes.io/hostname",
        }],
    }}}});
    cx.pods(&pods("follower", 5, 0, &beside))?;
    cx.until("followers to wait for a leader", |seen| {
        seen.n_waiting("follower", "Unschedulable") == 5
    })?;
    let leader = json!({"metadata": {"labels": {"app": "leader"}}});
    cx.pod(&with(
        with(pod("leader", 0), &leader),
        &on_node("fake-00017"),
    ))?;
    cx.until("followers beside their leader", |seen| {
        seen.nodes("follower") == ["fake-00017"; 5]
    })
}

fn topology_spread(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let spread = json!({
        "metadata": {"labels": {"app": "spread"}},
        "spec": {"topologySpreadConstraints": [{
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "spread"}},
        }]},
    });
    cx.pods(&pods("spread", 9, 0, &spread))?;
    cx.until("nine pods bound", |seen| seen.n_bound("spread") == 9)?;
    let nodes = cx.world.api.list("/api/v1/nodes")?;
    let zone = |name: &str| {
        let node = nodes.iter().find(|node| node["metadata"]["name"] == name);
        let labels = node.map(|node| &node["metadata"]["labels"]);
        labels.and_then(|labels| labels["topology.kubernetes.io/zone"].as_str())
    };
    let counts = cx.look(|seen| {
        let mut counts: BTreeMap<Option<&str>, u32> = BTreeMap::new();
        for node in seen.nodes("spread") {
            *counts.entry(zone(node)).or_default() += 1;
        }
        counts.into_values().collect::<Vec<_>>()
    });
    ensure!(counts == [3, 3, 3], "expected 3 a zone, seen {counts:?}");
    Ok(())
}

fn host_ports(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let port = json!({"spec": {"containers": [{
        "name": "main", "image": "none", "ports": [{"containerPort": 80, "hostPort": 8080}],
    }]}});
    let here = with(port, &on_node("fake-00006"));
    cx.pods(&pods("server", 3, 0, &here))?;
    cx.until("one server on its node, two waiting", |seen| {
        seen.n_bound("server") == 1 && seen.n_waiting("server", "Unschedulable") == 2
    })
}

fn gates_of_others(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let gates = json!({"spec": {"schedulingGates": [
        {"name": "example.com/wait"}, {"name": "berth.dev/quota"},
    ]}});
    cx.pod(&with(pod("gated", 1), &gates))?;
    cx.settle()?;
    cx.expect("the gated pod to wait with both gates", |seen| {
        seen.node("gated").is_none() && seen.is_gated("gated")
    })?;
    let ungate = json!({"spec": {"schedulingGates": [{"name": "berth.dev/quota"}]}});
    let path = cx.path("pods/gated");
    cx.world.api.require(Verb::Merge, &path, &ungate)?;
    cx.until("the pod bound once the other's gate is gone", |seen| {
        seen.node("gated").is_some() && !seen.is_gated("gated")
    })
}

fn own_gate(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let gates = json!({"spec": {"schedulingGates": [{"name": "berth.dev/quota"}]}});
    cx.pods(&pods("gated", 10, 1, &gates))?;
    cx.pod(&with(pod("too-large", 9), &gates))?;
    cx.until("ten pods bound without a gate", |seen| {
        seen.n_bound("gated") == 10 && !seen.is_gated("gated-0")
    })?;
    cx.settle()?;
    cx.expect("the one without a place to keep its gate", |seen| {
        seen.is_gated("too-large")
    })
}

fn ended_pods_make_room(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let short = json!({"metadata": {"annotations": {"testbed.berth.dev/run-for": "1s"}}});
    let here = with(on_node("fake-00008"), &short);
    cx.pods(&pods("short", 6, 4, &here))?;
    cx.until(
        "six pods of four GPUs to have had a node of eight",
        |seen| seen.n_bound("short") == 6,
    )
}
