//! Nodes whose own conditions say that something is wrong.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH002",
    name: "node-in-trouble",
    family: Family::Host,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes under pressure of memory, disk or process numbers, and nodes on which a problem detector has seen a fault.

## Why it matters
Under pressure the kubelet evicts pods and takes no new ones, so notebooks die and GPUs stand idle. A runtime that restarts often, or a file system that has become read-only, takes pods with it.

## How it is decided
Only conditions that are known to be bad when `True`: those of the kubelet (errors) and those of node-problem-detector (warnings; a deadlocked kernel and a read-only file system are errors). Conditions such as `KernelReady=True` are healthy and are not touched.

## Fix
Free or add what is short (images, logs and empty folders fill disks first), and look at the journal of the component that restarts.

## False positives
A condition that node-problem-detector never takes back until it is restarted.

## References
Kubernetes, node conditions; node-problem-detector `config/`; k8sgpt issue 1461.
";

/// Conditions that are bad when true, and how bad.
const BAD: [(&str, Severity); 11] = [
    ("MemoryPressure", Severity::Error),
    ("DiskPressure", Severity::Error),
    ("PIDPressure", Severity::Error),
    ("NetworkUnavailable", Severity::Error),
    ("KernelDeadlock", Severity::Error),
    ("ReadonlyFilesystem", Severity::Error),
    ("XfsShutdown", Severity::Error),
    ("FrequentKubeletRestart", Severity::Warning),
    ("FrequentContainerdRestart", Severity::Warning),
    ("FrequentDockerRestart", Severity::Warning),
    ("FrequentUnregisterNetDevice", Severity::Warning),
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for node in &cx.dump.objects.nodes {
        let raised = node.status.conditions.iter().filter_map(|condition| {
            let (_, severity) = BAD.iter().find(|(kind, _)| condition.kind == *kind)?;
            (condition.status == "True").then_some((condition, *severity))
        });
        let raised: Vec<_> = raised.collect();
        let Some(worst) = raised.iter().map(|(_, severity)| *severity).max() else {
            continue;
        };
        let kinds: Vec<&str> = raised
            .iter()
            .map(|(condition, _)| condition.kind.as_str())
            .collect();
        let finding = out.report(node.meta(), format!("it reports {}", kinds.join(", ")));
        finding.severity(worst);
        for (condition, _) in &raised {
            let path = format!("status.conditions[{}]", condition.kind);
            finding.saw(
                node.meta(),
                &path,
                format!("{}: {}", condition.reason, condition.message),
            );
        }
        if kinds.contains(&"DiskPressure") {
            finding.caused_by("BH004", Subject::new("Host", "", &node.meta().name));
        }
        finding.fix(
            Applicability::Manual,
            "free or add what is short, and look at the journal of the component that is named",
        );
    }
}
