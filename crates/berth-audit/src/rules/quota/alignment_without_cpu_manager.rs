//! Kubelets that align devices and memory, and leave CPUs out.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BQ007",
    name: "alignment-without-cpu-manager",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::KubeletArgs)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Kubelets with a topology manager's policy and without the CPU manager's static policy, and nodes that say `cpumanager=true` without it.

## Why it matters
The topology manager asks the CPU manager where a pod's cores are to be; with the policy `none` it has no answer, so the GPU is on one socket and the threads are anywhere. KubeVirt sends machines with dedicated CPUs to nodes with the label, and they fail there.

## How it is decided
`--topology-manager-policy` other than `none`, or the node's label `cpumanager=true`, with `--cpu-manager-policy` `none`. A kubelet with `--config` is judged only where its flags say both.

## Fix
Drain the node, set `--cpu-manager-policy=static` with `--reserved-cpus`, remove `cpu_manager_state`, restart the kubelet.

## False positives
Alignment of devices among themselves, a card and a network port, which needs no CPU manager.

## References
Kubernetes documentation, topology management policies; KubeVirt user guide, dedicated CPU resources.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx.dump.hosts.values() {
        let Some(args) = host.args(HostFile::KubeletArgs) else {
            continue;
        };
        let cpu = args.or_default("cpu-manager-policy", "none");
        if cpu.value != "none" {
            continue;
        }
        let topology = args.or_default("topology-manager-policy", "none");
        let node = cx.dump.objects.nodes.get("", &host.name);
        let labelled = node.filter(|node| node.meta().label("cpumanager") == "true");
        if topology.value == "none" && labelled.is_none() {
            continue;
        }
        if args.flag("config").is_some() && args.flag("cpu-manager-policy").is_none() {
            out.not_assessable(format!(
                "the kubelet of {} has --config, which may hold the CPU manager's policy",
                host.name
            ));
            continue;
        }
        let why = if topology.value == "none" {
            "the node says cpumanager=true".to_owned()
        } else {
            format!("the topology manager's policy is {}", topology.value)
        };
        let finding = out.report(host, format!("{why}, and the CPU manager's is none"));
        finding.saw_on(host, cpu.place, "--cpu-manager-policy", cpu.value);
        finding.saw_on(
            host,
            topology.place,
            "--topology-manager-policy",
            topology.value,
        );
        if let Some(node) = labelled {
            finding.saw(node.meta(), "metadata.labels[cpumanager]", "true");
        }
        finding.fix(
            Applicability::Disruptive,
            "drain the node, set --cpu-manager-policy=static with --reserved-cpus, remove cpu_manager_state, restart the kubelet",
        );
    }
}
