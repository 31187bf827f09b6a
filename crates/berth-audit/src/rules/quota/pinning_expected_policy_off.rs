//! Pods that ask for whole CPUs and a GPU on a node whose kubelet does not pin or align them.

use crate::dump::host::Host;
use crate::dump::kind::pod::{Container, Pod};
use crate::dump::place::Place;
use crate::rule::prelude::*;
use crate::rules::gpu::stack::gpu_requests;

pub(super) const RULE: Rule = Rule {
    code: "BQ006",
    name: "pinning-expected-policy-off",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::KubeletArgs), Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Guaranteed pods with a GPU and whole CPUs on nodes whose kubelet has the CPU manager's policy `none` or the topology manager's policy `none`.

## Why it matters
Their threads run on any core, and their GPU may hang on the other socket: copies to the card cross the link between sockets, and speed changes from start to start.

## How it is decided
`--cpu-manager-policy` and `--topology-manager-policy` of the kubelet, `none` by default, or `cpuManagerPolicy` and `topologyManagerPolicy` of its effective settings. A kubelet with `--config` and without effective settings is not judged.

## Fix
Drain the node, set `--cpu-manager-policy=static`, `--topology-manager-policy=best-effort` (or `restricted`, `single-numa-node`) and `--reserved-cpus`, remove the file `cpu_manager_state`, restart the kubelet.

## False positives
Nodes with one socket and one NUMA node, where nothing needs aligning.

## References
Kubernetes documentation, control CPU management policies and topology management policies.
";

/// Flag, its name in effective settings.
const POLICIES: [(&str, &str); 2] = [
    ("cpu-manager-policy", "cpuManagerPolicy"),
    ("topology-manager-policy", "topologyManagerPolicy"),
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx.dump.hosts.values() {
        let pods: Vec<&Pod> = cx
            .pods_on(&host.name)
            .iter()
            .copied()
            .filter(|pod| expects_pinning(pod))
            .collect();
        if pods.is_empty() || host.file(HostFile::KubeletArgs).is_none() {
            continue;
        }
        let policies = POLICIES.map(|(flag, field)| (flag, policy(host, flag, field)));
        if policies.iter().any(|(_, policy)| policy.is_none()) {
            out.not_assessable(format!(
                "the kubelet of {} has --config, and its effective settings are not in the dump",
                host.name
            ));
            continue;
        }
        let off: Vec<_> = policies
            .iter()
            .filter_map(|(flag, policy)| {
                policy.as_ref().map(|(value, place)| (*flag, value, *place))
            })
            .filter(|(_, value, _)| value.as_str() == "none")
            .collect();
        if off.is_empty() {
            continue;
        }
        let names: Vec<&str> = off.iter().map(|(flag, ..)| *flag).collect();
        let message = format!(
            "{} pods ask for whole CPUs and a GPU, and {} is none",
            pods.len(),
            names.join(" and ")
        );
        let finding = out.report(host, message);
        for (flag, value, place) in off {
            finding.saw_on(host, place, &format!("--{flag}"), value);
        }
        for pod in pods {
            finding.saw(pod.meta(), "requests[cpu]", pod.spec.request("cpu"));
        }
        finding.fix(
            Applicability::Disruptive,
            "drain the node, set both policies with --reserved-cpus, remove cpu_manager_state, restart the kubelet",
        );
    }
}

/// A policy that is in force and where it stands; `None` where the dump cannot tell.
fn policy(host: &Host, flag: &str, field: &str) -> Option<(String, Place)> {
    if let Some(file) = host.file(HostFile::KubeletConfigz) {
        let root: serde_json::Value = serde_json::from_str(&file.text).ok()?;
        let settings = root.get("kubeletconfig").unwrap_or(&root);
        let value = settings.get(field).and_then(|value| value.as_str());
        return Some((value.unwrap_or("none").to_owned(), file.place));
    }
    let args = host.args(HostFile::KubeletArgs)?;
    if args.flag(flag).is_none() && args.flag("config").is_some() {
        return None;
    }
    let found = args.or_default(flag, "none");
    Some((found.value.to_owned(), found.place))
}

/// A pod that the static policy would pin: guaranteed, with whole CPUs, and a GPU.
fn expects_pinning(pod: &Pod) -> bool {
    let is_whole = |container: &Container| {
        let n_milli = container.wants("cpu").milli();
        n_milli >= 1000 && n_milli % 1000 == 0
    };
    pod.status.qos_class == "Guaranteed"
        && !gpu_requests(pod).is_empty()
        && pod.spec.containers.iter().any(is_whole)
}
