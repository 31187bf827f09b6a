//! A cluster that refuses, and one that goes away.

use std::time::Duration;

use serde_json::{Value, json};

use super::case::{Case, Cx, WITHIN};
use super::object::{QUEUES, in_queue, pod, pods, queue, with};
use crate::testbed::api::Verb;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a pod whose bind is refused says so, and others are not starved",
        run: refused_bind,
    },
    Case {
        name: "work goes on by itself when the API server was away",
        run: server_restarts,
    },
    Case {
        name: "pods that can't be read are left out and disturb nobody",
        run: unreadable_pods,
    },
    Case {
        name: "a pod that is replaced by another of its name is placed as the other",
        run: replaced_pod,
    },
];

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const POLICY_BINDINGS: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";

/// Longest rest of a pod whose bind was refused some times, and the time to bind it.
const REST_WITHIN: Duration = Duration::from_secs(120);

fn policy(name: &str, namespace: &str) -> (Value, Value) {
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {
                    "matchLabels": {"kubernetes.io/metadata.name": namespace},
                },
                "resourceRules": [{
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["CREATE"],
                    "resources": ["pods/binding"],
                }],
            },
            "validations": [{
                "expression": "!object.metadata.name.startsWith('refused')",
                "message": "this namespace takes no pods today",
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    (policy, binding)
}

fn refused_bind(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let name = cx.unique("no-binds");
    let (policy, binding) = policy(&name, &cx.namespace);
    cx.make_global(POLICIES, &policy)?;
    cx.make_global(POLICY_BINDINGS, &binding)?;
    await_policy(cx)?;
    // They ask for everything, so that others starve if refused pods keep their places.
    cx.pods(&pods("refused", 30, 8, &json!({})))?;
    cx.until("30 pods told that their bind is refused", |seen| {
        seen.n_waiting("refused", "BindRejected") == 30
    })?;
    cx.pods(&pods("other", 30, 8, &json!({})))?;
    cx.until("30 others bound", |seen| {
        seen.n_bound("other") == 30 && seen.n_bound("refused") == 0
    })?;
    for path in [POLICY_BINDINGS, POLICIES] {
        cx.delete(&format!("{path}/{name}"))?;
    }
    for index in 0..30 {
        cx.delete(&cx.path(&format!("pods/other-{index}")))?;
    }
    cx.until_within(REST_WITHIN, "the refused ones bound in the end", |seen| {
        seen.n_bound("refused") == 30
    })
}

/// A policy counts some time after it was made.
fn await_policy(cx: &Cx<'_>) -> anyhow::Result<()> {
    let theirs = json!({"spec": {"schedulerName": "somebody-else"}});
    cx.pod(&with(pod("refused-probe", 0), &theirs))?;
    let path = cx.path("pods/refused-probe/binding");
    let binding = json!({
        "metadata": {"name": "refused-probe"},
        "target": {"kind": "Node", "name": "no-such-node"},
    });
    let deadline = std::time::Instant::now() + WITHIN;
    while cx.world.api.send(Verb::Post, &path, &binding)?.code != 422 {
        anyhow::ensure!(
            std::time::Instant::now() < deadline,
            "the policy is not in force"
        );
        cx.delete(&cx.path("pods/refused-probe"))?;
        cx.until("the probe gone", |seen| !seen.has("refused-probe"))?;
        cx.pod(&with(pod("refused-probe", 0), &theirs))?;
    }
    cx.delete(&cx.path("pods/refused-probe"))
}

fn server_restarts(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let name = cx.unique("half");
    cx.make_global(QUEUES, &queue(&name, None, Some(100)))?;
    cx.world.observer.cap(&cx.namespace, 100);
    cx.pods(&pods("before", 120, 1, &in_queue(&name)))?;
    cx.until("some pods bound", |seen| seen.n_bound("before") >= 10)?;
    let testbed = &mut cx.world.testbed;
    testbed.restart("kube-apiserver-0", Duration::from_secs(1))?;
    cx.until_api("the API server back", "/readyz", |_| true)?;
    cx.until_supervised(WITHIN, "100 pods bound", |seen| {
        seen.n_bound("before") == 100 && seen.n_waiting("before", "QueueLimit") == 20
    })?;
    for index in 0..120 {
        // Some are bound and some wait.
        cx.delete(&cx.path(&format!("pods/before-{index}")))?;
    }
    cx.pods(&pods("after", 100, 1, &in_queue(&name)))?;
    cx.until("100 pods that came afterwards bound", |seen| {
        seen.n_bound("after") == 100
    })
}

fn unreadable_pods(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let marked = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
    let gang = json!({"metadata": {
        "labels": {"berth.dev/gang": "g"},
        "annotations": {"berth.dev/gang-members-min": "many"},
    }});
    cx.pod(&with(
        pod("bad-share", 0),
        &marked("gpu.berth.dev/share", "lots"),
    ))?;
    cx.pod(&with(pod("bad-gang", 0), &gang))?;
    cx.pod(&pod("huge", i64::MAX.unsigned_abs()))?;
    cx.settle()?;
    cx.pods(&pods("good", 20, 1, &json!({})))?;
    cx.until("good pods bound, and bad ones waiting", |seen| {
        seen.n_bound("good") == 20 && seen.n_bound("bad") == 0 && seen.n_bound("huge") == 0
    })
}

fn replaced_pod(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let now = json!({"gracePeriodSeconds": 0});
    for round in 0..30_u64 {
        cx.pod(&pod("same", 1 + round % 8))?;
        let path = cx.path("pods/same");
        cx.world.api.require(Verb::Delete, &path, &now)?;
    }
    cx.pod(&pod("same", 5))?;
    cx.until("the last one bound", |seen| seen.node("same").is_some())
}
