//! Machines that still run away from a drain that is over.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV008",
    name: "evacuation-left-over",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachineInstance),
        Need::Some(Kind::Node),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Machines that are marked to leave a node which is not being drained.

## Why it matters
KubeVirt never takes the mark back when a drain is given up. It makes one migration after another until one succeeds, and each takes room and bandwidth.

## How it is decided
`status.evacuationNodeName` is the node where the machine runs, and that node may take new pods: it is neither cordoned nor tainted with `node.kubernetes.io/unschedulable`.

## Fix
Let the machine move, or cancel the evacuation (`virtctl evacuate-cancel`, or remove the field from the status).

## False positives
Evictions that do not come from a drain, such as those of a descheduler, mark machines too, for as long as their migration takes.

## References
KubeVirt issues 5177, 9585.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for machine in &cx.dump.objects.vm_instances {
        let marked = &machine.status.evacuation_node_name;
        let Some(node) = cx.dump.objects.nodes.get("", marked) else {
            continue;
        };
        let mut taints = node.spec.taints.iter();
        let is_drained = node.spec.unschedulable.0
            || taints.any(|taint| taint.key == "node.kubernetes.io/unschedulable");
        if is_drained || machine.status.node_name != *marked {
            continue;
        }
        let message = format!("it is still to leave {marked}, which is not drained any more");
        let finding = out.report(machine.meta(), message);
        finding.saw(machine.meta(), "status.evacuationNodeName", marked);
        finding.saw(node.meta(), "spec.unschedulable", "(none)");
        finding.fix(
            Applicability::Manual,
            "cancel the evacuation, or let the machine move",
        );
    }
}
