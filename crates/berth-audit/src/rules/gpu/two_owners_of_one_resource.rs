//! Two device plugins of one node that both offer the same resource name.

use super::stack::{Plugin, Server, servers};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG002",
    name: "two-owners-of-one-resource",
    family: Family::Gpu,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes on which two device plugins run that both register `nvidia.com/gpu`: HAMi's beside NVIDIA's, or two installations of NVIDIA's.

## Why it matters
The kubelet takes the later registration and drops the earlier one, so the count of GPUs flips between cards and slots, and one plugin hands out cards that the other has given already. HAMi's authors say not to run beside NVIDIA's plugin.

## How it is decided
Running pods of device plugins are told by image and container; two pods of one DaemonSet are one plugin that is being replaced. HAMi counts as an owner of `nvidia.com/gpu` unless a ConfigMap of HAMi's sets another `resourceCountName`.

## Fix
Keep one: `devicePlugin.enabled: false` in the GPU operator's policy where HAMi is to serve the node, or keep HAMi off the node by its label `gpu=on`, or remove the second installation.

## False positives
NVIDIA's plugin under another resource name, by a `resources` section of its settings, which a dump shows only as a ConfigMap.

## References
HAMi issue 646; Kubernetes issue 121994.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let is_hami_elsewhere = hami_serves_another_name(cx);
    for (node, servers) in servers(cx) {
        let mut owners: Vec<(Subject, Server<'_>)> = Vec::new();
        for server in servers {
            let counts = match server.plugin {
                Plugin::Nvidia => true,
                Plugin::Hami => !is_hami_elsewhere,
                Plugin::Volcano => false,
            };
            let owner = server.owner();
            if counts && owners.iter().all(|(known, _)| *known != owner) {
                owners.push((owner, server));
            }
        }
        if owners.len() < 2 {
            continue;
        }
        let names: Vec<String> = owners
            .iter()
            .map(|(owner, server)| format!("{} ({owner})", server.plugin.title()))
            .collect();
        let message = format!("{} both offer nvidia.com/gpu", names.join(" and "));
        let finding = out.report(Subject::new("Node", "", node), message);
        for (_, server) in &owners {
            finding.saw(
                server.pod.meta(),
                "spec.containers[].image",
                &server.container.image,
            );
        }
        finding.fix(
            Applicability::Disruptive,
            "let one of them serve the node: drain it, switch the other off, and restart the kubelet",
        );
    }
}

/// True where HAMi's settings give its count of GPUs a name of its own.
fn hami_serves_another_name(cx: &Cx<'_>) -> bool {
    let maps = cx.dump.objects.config_maps.iter();
    maps.filter(|map| map.meta().name.contains("hami"))
        .flat_map(|map| map.data.iter())
        .flat_map(|(_, text)| text.lines())
        .filter_map(|line| line.trim().strip_prefix("resourceCountName:"))
        .map(|name| name.trim().trim_matches(['"', '\'']))
        .any(|name| name.contains('/') && name.ends_with("/gpu") && name != "nvidia.com/gpu")
}
