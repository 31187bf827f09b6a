//! Volumes that count as attached to a node that is gone or does not answer.

use crate::rule::prelude::*;
use berth_core::time::Span;

pub(super) const RULE: Rule = Rule {
    code: "BS015",
    name: "attached-to-lost-node",
    family: Family::Storage,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::VolumeAttachment), Need::Every(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Attachments of volumes to a node that is not in the cluster, or whose `Ready` is `Unknown` for more than six minutes.

## Why it matters
A volume for one node cannot be attached to another while the attachment stands: the pod waits in ContainerCreating with a multi-attach error, and a StatefulSet does not move at all.

## How it is decided
`spec.nodeName` of attachments that are attached, against all nodes and their `Ready` condition. Six minutes is when Kubernetes itself would detach by force, which it does only for pods that are gone.

## Fix
Make sure that the machine is off. Then delete the Node, or taint it with `node.kubernetes.io/out-of-service=nodeshutdown:NoExecute`, so that its volumes are detached; delete attachments of nodes that are gone.

## False positives
A partition of the network behind which the node still writes: never detach before it is off.

## References
Kubernetes, non-graceful node shutdown; Longhorn `node-failure` documentation.
";

/// When the attach-detach controller would detach by force (`maxWaitForUnmountDuration`).
const SILENCE_MAX: Span = Span::from_mins(6);

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for attachment in &cx.dump.objects.volume_attachments {
        if !attachment.status.attached.0 {
            continue;
        }
        let name = &attachment.spec.node_name;
        let node = cx.dump.objects.nodes.get("", name);
        let silence = node.and_then(|node| {
            let ready = node
                .status
                .conditions
                .iter()
                .find(|condition| condition.kind == "Ready")?;
            let since = ready
                .last_transition_time
                .filter(|_| ready.status == "Unknown")?;
            Some(cx.now.since(since.0))
        });
        let message = match (node, silence) {
            (None, _) => format!("it ties its volume to {name}, which is not in the cluster"),
            (Some(_), Some(silence)) if silence > SILENCE_MAX => {
                format!("it ties its volume to {name}, which has not answered for {silence}")
            }
            _ => continue,
        };
        let meta = attachment.meta();
        let finding = out.report(meta, message);
        finding.saw(meta, "spec.nodeName", name);
        let volume = &attachment.spec.source.persistent_volume_name;
        finding.saw(meta, "spec.source.persistentVolumeName", volume);
        finding.also(Subject::new("PersistentVolume", "", volume));
        if let Some(node) = node {
            finding.saw(node.meta(), "status.conditions[Ready]", "Unknown");
            finding.caused_by("BH003", node.meta());
        }
        finding.fix(
            Applicability::Manual,
            "make sure that the machine is off, then delete the Node or taint it out-of-service so that its volumes are detached",
        );
    }
}
