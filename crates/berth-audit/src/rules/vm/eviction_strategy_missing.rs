//! Machines that could move and are killed by a drain instead.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV007",
    name: "eviction-strategy-missing",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachineInstance),
        Need::Every(Kind::KubeVirt),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Running machines that KubeVirt can migrate, for which neither they nor the installation name an eviction strategy.

## Why it matters
Without a strategy an eviction shuts the machine down: a drain kills it although it could have moved.

## How it is decided
`LiveMigratable` is True, the instance has no `evictionStrategy`, and the KubeVirt resource has no default. An explicit `None` is a decision and is left alone.

## Fix
Set `evictionStrategy: LiveMigrateIfPossible` in the KubeVirt resource's configuration.

## False positives
Machines that are made to be stopped at any time; say so with `None`.

## References
KubeVirt documentation, node maintenance and eviction strategies.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut installs = cx.dump.objects.kubevirts.iter();
    if installs.any(|install| !install.spec.configuration.eviction_strategy.is_empty()) {
        return;
    }
    for machine in &cx.dump.objects.vm_instances {
        if !machine.is_migratable()
            || !machine.is_running()
            || !machine.spec.eviction_strategy.is_empty()
        {
            continue;
        }
        let node = &machine.status.node_name;
        let message = format!("a drain of {node} shuts it down although it could move");
        let finding = out.report(machine.meta(), message);
        finding.saw(machine.meta(), "spec.evictionStrategy", "(none)");
        finding.saw(machine.meta(), "status.conditions[LiveMigratable]", "True");
        finding.fix(
            Applicability::Safe,
            "set evictionStrategy to LiveMigrateIfPossible in the KubeVirt resource",
        );
    }
}
