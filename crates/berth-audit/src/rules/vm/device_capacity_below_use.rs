//! Nodes that offer fewer devices than their machines hold.

use std::collections::BTreeMap;

use crate::dump::kind::kubevirt::VirtualMachineInstance;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV009",
    name: "device-capacity-below-use",
    family: Family::Vm,
    severity: Severity::Error,
    confidence: Confidence::High,
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
Nodes whose capacity of a device is smaller than what machines on it hold.

## Why it matters
The device plugin is gone or lost its devices. Running machines go on, and nothing new starts: the free devices of the node are invisible to the scheduler.

## How it is decided
Devices of running instances are summed by node and resource name and compared with the node's `status.capacity`.

## Fix
Restart the pod that serves the device on that node (virt-handler, or the vendor's plugin), and look into its log.

## False positives
A plugin that was restarted in the second of the dump.

## References
KubeVirt issue 16602.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut held: BTreeMap<(&str, &str), Vec<&VirtualMachineInstance>> = BTreeMap::new();
    for machine in cx
        .dump
        .objects
        .vm_instances
        .iter()
        .filter(|machine| machine.is_running())
    {
        for device in machine.spec.device_names() {
            let key = (machine.status.node_name.as_str(), device.as_str());
            held.entry(key).or_default().push(machine);
        }
    }
    for ((name, device), machines) in held {
        let Some(node) = cx.dump.objects.nodes.get("", name) else {
            continue;
        };
        let capacity = node
            .status
            .capacity
            .get(device)
            .map_or(0, |have| have.units());
        let n = machines.len();
        if i64::try_from(n).is_ok_and(|n| n <= capacity) {
            continue;
        }
        let message = format!("it offers {capacity} of {device} while machines hold {n}");
        let finding = out.report(node.meta(), message);
        finding.saw(node.meta(), &format!("status.capacity[{device}]"), capacity);
        let mut machines = machines;
        machines.dedup_by_key(|machine| machine.meta().full_name());
        for machine in machines {
            finding.saw(machine.meta(), "spec.domain.devices", device);
        }
        finding.fix(
            Applicability::Safe,
            "restart the pod that serves this device on the node, and look into its log",
        );
    }
}
