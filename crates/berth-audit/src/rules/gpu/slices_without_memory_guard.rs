//! Cards that are shared by time slicing, where nothing bounds the memory of a sharer.

use super::stack::{label_number, replicas};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG003",
    name: "slices-without-memory-guard",
    family: Family::Gpu,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Node), Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Nodes whose cards are shared by time slicing: each sharer may take the whole memory of the card. Where pods declare their memory and the declared sum is more than the node's cards have, that is an error.

## Why it matters
The sharer that allocates last fails with out-of-memory, whoever took too much; a fault of one sharer ends all of them.

## How it is decided
Feature discovery's labels `nvidia.com/gpu.sharing-strategy: time-slicing` with `nvidia.com/gpu.replicas` above 1; declared memory is the annotation `gpu-memory` in MiB, held against `nvidia.com/gpu.memory` times `nvidia.com/gpu.count`.

## Fix
Use MIG, MPS with memory limits, or a sharing layer that enforces memory (HAMi-core), or give whole cards to what needs much memory.

## False positives
Programs that bound their own memory.

## References
NVIDIA k8s-device-plugin documentation, time slicing; Karpenter issue 729; AWS Karpenter provider issue 3376.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let nodes = cx.dump.objects.nodes.iter();
    let sliced: Vec<_> = nodes
        .filter(|node| {
            node.meta().label("nvidia.com/gpu.sharing-strategy") == "time-slicing"
                && replicas(node) > 1
        })
        .collect();
    if sliced.is_empty() {
        return;
    }
    let message = format!(
        "{} nodes share cards by time slicing without a bound on the memory of a sharer",
        sliced.len()
    );
    let finding = out.report(Subject::cluster(), message);
    for node in &sliced {
        finding.saw(
            node.meta(),
            "metadata.labels[nvidia.com/gpu.replicas]",
            replicas(node),
        );
    }
    finding.fix(
        Applicability::Manual,
        "share by MIG or by a layer that enforces memory, or tell users that a neighbour can take all of it",
    );
    for node in sliced {
        let name = &node.meta().name;
        let (Some(card_mib), Some(n_cards)) = (
            label_number(node, "nvidia.com/gpu.memory"),
            label_number(node, "nvidia.com/gpu.count"),
        ) else {
            continue;
        };
        let declared: Vec<_> = cx
            .pods_on(name)
            .iter()
            .filter_map(|pod| {
                let mib: i64 = pod.meta().annotation("gpu-memory")?.parse().ok()?;
                Some((pod, mib))
            })
            .collect();
        let sum_mib = declared
            .iter()
            .fold(0_i64, |sum, (_, mib)| sum.saturating_add(*mib));
        let have_mib = card_mib.saturating_mul(n_cards);
        if sum_mib <= have_mib {
            continue;
        }
        let message = format!(
            "pods declare {sum_mib} MiB of GPU memory, the {n_cards} cards have {have_mib} MiB"
        );
        let finding = out.report(node.meta(), message);
        finding.severity(Severity::Error);
        finding.saw(
            node.meta(),
            "metadata.labels[nvidia.com/gpu.memory]",
            card_mib,
        );
        for (pod, mib) in declared {
            finding.saw(pod.meta(), "metadata.annotations[gpu-memory]", mib);
        }
        finding.fix(
            Applicability::Manual,
            "move pods away until the declared sum fits",
        );
    }
}
