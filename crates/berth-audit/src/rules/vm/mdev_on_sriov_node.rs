//! Settings for mediated devices on nodes whose driver has none.

use crate::dump::kind::node::Node;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV010",
    name: "mdev-on-sriov-node",
    family: Family::Vm,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::KubeVirt), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes for vGPUs with a new GPU and a new kernel that offer none of the mediated devices which the KubeVirt resource lists.

## Why it matters
Since vGPU 17, on Ada, Hopper and Blackwell with kernel 6.8 or newer, there are no mediated devices: vGPUs are virtual functions. The list matches nothing, the node's capacity is 0, and nothing says why.

## How it is decided
The KubeVirt resource permits mediated devices; the node is labelled `nvidia.com/gpu.workload.config=vm-vgpu`, its GPU's family or product is of these generations, its kernel is at least 6.8, and its capacity of every listed resource is 0.

## Fix
Enable virtual functions, give them a vGPU type (`current_vgpu_type`), and list them under `pciHostDevices`.

## False positives
A node whose vGPU manager is not installed yet offers nothing for that reason.

## References
KubeVirt issue 17642 and pull request 16890; GPU operator issue 2594; NVIDIA vGPU documentation, release 17.
";

const FAMILIES: [&str; 3] = ["ada-lovelace", "hopper", "blackwell"];
/// Products of these families, as words of the label.
const PRODUCTS: [&str; 12] = [
    "H100", "H200", "H800", "H20", "L4", "L20", "L40", "L40S", "B100", "B200", "B300", "GH200",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for install in &cx.dump.objects.kubevirts {
        let devices = &install
            .spec
            .configuration
            .permitted_host_devices
            .mediated_devices;
        let Some(first) = devices.first() else {
            continue;
        };
        for node in &cx.dump.objects.nodes {
            let offers = |resource: &str| {
                node.status
                    .capacity
                    .get(resource)
                    .is_some_and(|have| have.units() > 0)
            };
            let offers_any = devices.iter().any(|device| offers(&device.resource_name));
            let kernel = &node.status.node_info.kernel_version;
            let is_for_vgpus = node.meta().label("nvidia.com/gpu.workload.config") == "vm-vgpu";
            if offers_any || !is_for_vgpus || !is_new_gpu(node) || !is_new_kernel(kernel) {
                continue;
            }
            let message = format!(
                "it has no mediated devices (kernel {kernel}), so {} is never offered",
                first.resource_name
            );
            let finding = out.report(node.meta(), message);
            finding.saw(node.meta(), "status.nodeInfo.kernelVersion", kernel);
            let path = "spec.configuration.permittedHostDevices.mediatedDevices[0]";
            finding.saw(install.meta(), path, &first.mdev_name_selector);
            finding.fix(
                Applicability::Disruptive,
                "create virtual functions with a vGPU type and list them under pciHostDevices",
            );
        }
    }
}

fn is_new_gpu(node: &Node) -> bool {
    let family = node.meta().label("nvidia.com/gpu.family");
    let product = node.meta().label("nvidia.com/gpu.product");
    FAMILIES.contains(&family)
        || product
            .split(['-', '_', ' '])
            .any(|word| PRODUCTS.contains(&word))
}

/// True for 6.8 and newer.
fn is_new_kernel(version: &str) -> bool {
    let mut numbers = version
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 8)
}
