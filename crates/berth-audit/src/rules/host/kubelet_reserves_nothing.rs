//! Kubelets that give every byte of the host to pods.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH012",
    name: "kubelet-reserves-nothing",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::KubeletArgs)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Kubelets without `--system-reserved` and `--kube-reserved`.

## Why it matters
Everything that the host has is promised to pods. When they take it, the kernel ends whatever it likes: the kubelet, containerd, or the store of the cluster, and the node goes with all of its GPUs.

## How it is decided
The arguments of the kubelet. A kubelet with a settings file (`--config`) is not judged, since the file is not in the dump. One finding for all hosts.

## Fix
Reserve memory and CPU for the system, such as `--system-reserved=cpu=1,memory=4Gi --kube-reserved=cpu=1,memory=4Gi` on GPU hosts, and raise `--eviction-hard` to `memory.available<1Gi,nodefs.available<10%`.

## False positives
Hosts whose pods all have limits that sum to less than the host.

## References
Kubernetes, reserve compute resources for system daemons; MicroK8s default arguments.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut bare = Vec::new();
    let mut n_judged = 0;
    for host in cx.dump.hosts.values() {
        let Some(args) = host.args(HostFile::KubeletArgs) else {
            continue;
        };
        if args.flag("config").is_some() {
            continue;
        }
        n_judged += 1;
        if RESERVED
            .iter()
            .all(|flag| args.flag(flag).is_none_or(|flag| flag.value.is_empty()))
        {
            bare.push((host, args));
        }
    }
    if n_judged == 0 {
        out.not_assessable("the settings file of a kubelet (--config)");
    }
    if bare.is_empty() {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        format!(
            "{} of {n_judged} kubelets promise every byte of their host to pods",
            bare.len()
        ),
    );
    for (host, args) in bare {
        finding.saw_on(
            host,
            args.or_default(RESERVED[0], "").place,
            "--system-reserved",
            "not given",
        );
        if let Some(eviction) = args.flag("eviction-hard") {
            finding.saw_on(host, eviction.place, "--eviction-hard", eviction.value);
        }
    }
    finding.fix(
        Applicability::Disruptive,
        "reserve CPU and memory with --system-reserved and --kube-reserved, and raise --eviction-hard",
    );
}

const RESERVED: [&str; 2] = ["system-reserved", "kube-reserved"];
