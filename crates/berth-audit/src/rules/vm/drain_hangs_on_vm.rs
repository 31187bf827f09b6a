//! Machines that must move before a drain ends and can't.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV001",
    name: "drain-hangs-on-vm",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::VirtualMachineInstance)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Running machines with the eviction strategy `LiveMigrate` that KubeVirt itself says can't be migrated.

## Why it matters
KubeVirt protects such a machine from eviction with a budget that never allows one, so a drain of its node hangs until somebody stops the machine.

## How it is decided
The condition `LiveMigratable` of the instance is False, and its eviction strategy, or the installation's default where it has none, is `LiveMigrate`.

## Fix
Use `LiveMigrateIfPossible`, or `None` for machines with devices that can't move, and announce their stop; or remove what keeps the machine from moving (the reason stands in the condition).

## False positives
None known.

## References
KubeVirt documentation, node maintenance and eviction strategies.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let default = cx.dump.objects.kubevirts.iter().next();
    let default = default.map_or("", |install| {
        install.spec.configuration.eviction_strategy.as_str()
    });
    for instance in &cx.dump.objects.vm_instances {
        let own = instance.spec.eviction_strategy.as_str();
        let strategy = if own.is_empty() { default } else { own };
        let condition = instance
            .status
            .conditions
            .iter()
            .find(|condition| condition.kind == "LiveMigratable");
        let Some(condition) =
            condition.filter(|condition| condition.status == "False" && strategy == "LiveMigrate")
        else {
            continue;
        };
        let node = &instance.status.node_name;
        let finding = out.report(
            instance.meta(),
            format!(
                "a drain of {node} hangs on it: it must migrate and can't ({})",
                condition.reason
            ),
        );
        finding.saw(
            instance.meta(),
            "status.conditions[LiveMigratable]",
            format!("{}: {}", condition.reason, condition.message),
        );
        finding.saw(
            instance.meta(),
            "spec.evictionStrategy",
            if own.is_empty() {
                "(the installation's default) LiveMigrate"
            } else {
                own
            },
        );
        finding.fix(
            Applicability::Manual,
            "set evictionStrategy to LiveMigrateIfPossible, or remove what keeps it from moving",
        );
    }
}
