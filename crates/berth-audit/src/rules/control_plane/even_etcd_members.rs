//! An etcd cluster with an even number of members.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM010",
    name: "even-etcd-members",
    family: Family::ControlPlane,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
etcd clusters with two, four or six members.

## Why it matters
A majority of four is three, so four members survive the loss of one, as three do, with one more that can fail. Two members are worse than one: the loss of either stops the API.

## How it is decided
Static pods with a container `etcd` in `kube-system` are counted by node.

## Fix
Remove one member or add one: `etcdctl member remove`, or join another control-plane node.

## False positives
A member that is being replaced at this moment; an etcd outside the cluster, which is not counted.

## References
etcd FAQ, why an odd number of members.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let pods = cx.dump.objects.pods.iter().filter(|pod| {
        pod.meta().namespace == "kube-system"
            && pod.status.phase == "Running"
            && pod
                .spec
                .containers
                .iter()
                .any(|container| container.name == "etcd")
    });
    let members: Vec<_> = pods.collect();
    if members.is_empty() || members.len() % 2 == 1 {
        return;
    }
    let message = if members.len() == 2 {
        "etcd has two members that need each other: the loss of either stops the API".to_owned()
    } else {
        format!(
            "etcd has {} members and survives the loss of {}, as it would with {}",
            members.len(),
            (members.len() - 1) / 2,
            members.len() - 1
        )
    };
    let finding = out.report(Subject::cluster(), message);
    if members.len() == 2 {
        finding.severity(Severity::Error);
    }
    for pod in members {
        finding.saw(pod.meta(), "spec.nodeName", &pod.spec.node_name);
    }
    finding.fix(
        Applicability::Manual,
        "add a member on another control-plane node, or remove one; back up first",
    );
}
