//! An API server that authorizes whoever is authenticated for everything.

use super::program::programs;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM004",
    name: "api-allows-everyone",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
API servers whose authorization mode contains `AlwaysAllow`, or that name none, which means the same.

## Why it matters
Every service account, and so every pod and every notebook, may read all Secrets, delete all workloads and make itself administrator. Quotas, namespaces and tenancy are a courtesy then.

## How it is decided
`--authorization-mode` in the arguments of `kube-apiserver`, on hosts that are not known as workers, or in the command of its static pod. MicroK8s starts with `AlwaysAllow` until its add-on `rbac` is on. An `--authorization-config` file is not in a dump and is not judged.

## Fix
`microk8s enable rbac`, or `--authorization-mode=Node,RBAC`. Before that, list what relies on the open door: controllers without roles stop working at that moment.

## False positives
None known.

## References
Kubernetes, `kube-apiserver --authorization-mode`; MicroK8s default arguments and add-on `rbac`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let servers = programs(cx, HostFile::ApiServerArgs, "kube-apiserver");
    if servers.is_empty() {
        out.not_assessable(
            "no arguments of kube-apiserver, neither of a host nor of its static pod",
        );
        return;
    }
    let open: Vec<_> = servers
        .iter()
        .filter(|server| server.flag("authorization-config").is_none())
        .filter_map(|server| {
            let mode = server.flag(MODE).unwrap_or_default();
            let is_open = mode.is_empty() || mode.split(',').any(|mode| mode.trim() == OPEN);
            is_open.then_some((server, mode))
        })
        .collect();
    if open.is_empty() {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        "every authenticated user and every pod may do everything in the cluster",
    );
    for (server, mode) in open {
        let shown = if mode.is_empty() {
            "not given, which means AlwaysAllow"
        } else {
            mode
        };
        server.saw(finding, MODE, shown);
    }
    finding.fix(
        Applicability::Manual,
        "set --authorization-mode=Node,RBAC (`microk8s enable rbac`) after giving roles to what needs them",
    );
}

const MODE: &str = "authorization-mode";
const OPEN: &str = "AlwaysAllow";
