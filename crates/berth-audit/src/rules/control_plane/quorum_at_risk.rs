//! A dqlite cluster with fewer voters than it needs to lose one.

use crate::dump::host::dqlite::Member;
use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM001",
    name: "quorum-at-risk",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::DqliteCluster)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
A MicroK8s cluster of several control-plane nodes whose dqlite store has fewer than three voters.

## Why it matters
A store survives the loss of a minority of its voters. With one or two voters, the loss of one stops the API, and with one voter it loses the data.

## How it is decided
The members in `dqlite/cluster.yaml`, as each host last saw them, are counted by role (0 voter, 1 standby, 2 spare); hosts that know more members are believed more.
Expected are three voters where there are three or more control-plane nodes; nodes of the cluster without a member are named.

## Fix
Back up first (`microk8s dbctl backup`, and a copy of the backend folder of the voter). Then bring missing members back, or remove dead ones with `microk8s remove-node --force` and join again.

## False positives
A cluster that is being grown at the moment of the dump.

## References
MicroK8s issue 3448; MicroK8s documentation, `restore-quorum`.
";

/// Voters that survive the loss of one.
const VOTERS_WANTED: usize = 3;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    // Several hosts tell about the same members; the fullest list is the one to judge.
    let lists = cx
        .dump
        .hosts
        .values()
        .map(|host| (host, host.dqlite().members));
    let fullest = lists.max_by_key(|(_, members)| members.len());
    let Some((host, members)) = fullest.filter(|(_, members)| !members.is_empty()) else {
        out.not_assessable("no readable member in dqlite/cluster.yaml");
        return;
    };
    let n_nodes = control_plane(cx).count().max(members.len());
    let n_voters = members
        .iter()
        .filter(|member| member.role == Some(0))
        .count();
    if n_nodes < 2 || n_voters >= VOTERS_WANTED {
        return;
    }
    let message = if (n_voters, n_nodes) == (2, 2) {
        "two voters need each other: the loss of either stops the API, and a third is missing"
            .to_owned()
    } else {
        format!(
            "{n_voters} of {VOTERS_WANTED} voters: the loss of one more stops the API and may lose the data"
        )
    };
    let finding = out.report(Subject::cluster(), message);
    for member in &members {
        let role = role_of(member);
        let value = format!("{} is {role}", member.address);
        finding.saw_on(host, member.place, "dqlite/cluster.yaml", value);
    }
    let known: Vec<&str> = members.iter().map(Member::host).collect();
    let is_member = |node: &Node| {
        let addresses = &node.status.addresses;
        addresses
            .iter()
            .any(|address| known.contains(&address.address.as_str()))
    };
    for node in control_plane(cx).filter(|node| !is_member(node)) {
        finding.saw(
            node.meta(),
            "status.addresses",
            "control-plane node without a member",
        );
    }
    finding.fix(Applicability::Manual, FIX);
}

const FIX: &str = "back up with `microk8s dbctl backup` before anything else; then bring the missing \
    members back or join new ones";

fn control_plane<'a>(cx: &Cx<'a>) -> impl Iterator<Item = &'a Node> {
    cx.dump
        .objects
        .nodes
        .iter()
        .filter(|node| node.is_control_plane())
}

const fn role_of(member: &Member<'_>) -> &'static str {
    match member.role {
        Some(0) => "voter",
        Some(1) => "standby",
        Some(2) => "spare",
        _ => "of unknown role",
    }
}
