//! A CPU guarantee of Longhorn that is too small for a node, or takes a GPU node's cores.

use super::longhorn::{number, setting};
use crate::dump::kind::longhorn::Setting;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BS007",
    name: "longhorn-cpu-guarantee-unfit",
    family: Family::Storage,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::LonghornSetting),
        Need::Some(Kind::LonghornNode),
        Need::Some(Kind::Node),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes of Longhorn on which `guaranteed-instance-manager-cpu` comes to less than one core, and nodes with GPUs on which it comes to more than four.

## Why it matters
The setting is a percentage of the node. On small nodes 5 % is a fraction of a core: under load the instance manager is starved, replicas drop out and file systems turn read-only. On a GPU node of 128 cores 12 % reserve 15 cores that no pod can ask for, while the instance manager uses about two; cores that are missing strand GPUs.

## How it is decided
The percentage (of `guaranteed-instance-manager-cpu`, or of the two older settings together) times allocatable CPU, or the node's own `instanceManagerCPURequest` where it has one. Only nodes that Longhorn knows are looked at.

## Fix
12 % on small nodes. On large GPU nodes set `spec.instanceManagerCPURequest` of the Longhorn node to 2000 (thousandths of a core), or keep replicas off them.

## False positives
Nodes whose volumes are always idle.

## References
Longhorn `best-practices.md`; Longhorn issues 1756, 9722; Harvester issue 3347.
";

/// Below this many thousandths of a core the instance manager starves under load.
const LEAST: i64 = 1000;
/// More than this is not used on a GPU node.
const MOST: i64 = 4000;
const NAMES: [&str; 3] = [
    "guaranteed-instance-manager-cpu",
    "guaranteed-engine-manager-cpu",
    "guaranteed-replica-manager-cpu",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let settings: Vec<&Setting> = match setting(cx, NAMES[0]) {
        Some(one) => vec![one],
        None => NAMES[1..]
            .iter()
            .filter_map(|name| setting(cx, name))
            .collect(),
    };
    let percents: Option<Vec<i64>> = settings.iter().map(|setting| number(setting)).collect();
    let Some(percent) = percents
        .filter(|all| !all.is_empty())
        .map(|all| all.iter().sum::<i64>())
    else {
        out.not_assessable("no readable guaranteed-instance-manager-cpu among Longhorn's settings");
        return;
    };
    for longhorn in &cx.dump.objects.longhorn_nodes {
        let Some(node) = cx.dump.objects.nodes.get("", &longhorn.meta().name) else {
            continue;
        };
        let cpu = node
            .status
            .allocatable
            .get("cpu")
            .map_or(0, |cpu| cpu.milli());
        let gpus = node
            .status
            .allocatable
            .iter()
            .filter(|(name, amount)| name.starts_with("nvidia.com/") && amount.units() > 0);
        let has_gpus = gpus.count() > 0;
        let own = longhorn.spec.instance_manager_cpu_request.0;
        let guarantee = if own > 0 {
            own
        } else {
            cpu.saturating_mul(percent) / 100
        };
        let message = if guarantee < LEAST && cpu > 0 {
            format!(
                "{guarantee}m of CPU are guaranteed to its volumes, and {LEAST}m is what they need under load"
            )
        } else if guarantee > MOST && has_gpus {
            format!(
                "{guarantee}m of CPU are reserved for its volumes on a node with GPUs, and about 2000m are used"
            )
        } else {
            continue;
        };
        let is_more = guarantee > MOST;
        let finding = out.report(node.meta(), message);
        finding.saw(node.meta(), "status.allocatable.cpu", format!("{cpu}m"));
        for setting in &settings {
            finding.saw(setting.meta(), "value", &setting.value);
        }
        if is_more {
            finding.severity(Severity::Info);
            finding.fix(
                Applicability::Disruptive,
                "set spec.instanceManagerCPURequest of the Longhorn node to 2000, or keep replicas off it",
            );
        } else {
            finding.fix(
                Applicability::Disruptive,
                "set guaranteed-instance-manager-cpu to 12, or instanceManagerCPURequest of the node to 1000 or more",
            );
        }
    }
}
