//! Namespaces that do not end.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BW004",
    name: "namespace-stuck-terminating",
    family: Family::Workload,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Namespace)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Namespaces whose deletion was asked for long ago, with what the namespace controller says of the reason.

## Why it matters
The name can't be used again, and what is left in it may still hold volumes and addresses. A dead aggregated API keeps every namespace from ending, and spoils garbage collection for the whole cluster.

## How it is decided
The phase is Terminating and `metadata.deletionTimestamp` is older than `leak-grace`. The conditions of the status name the cause: an API group that does not answer, content that can't be deleted, or finalizers.

## Fix
Bring the API group back or delete its APIService; let the owner of the finalizer run again, and remove the finalizer by hand only when that owner is gone for good. Never empty `spec.finalizers` of the namespace: it leaves objects behind that nobody sees.

## False positives
None known.

## References
Kubernetes documentation, namespaces and finalizers; the conditions of NamespaceStatus in the API reference.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for namespace in &cx.dump.objects.namespaces {
        let meta = namespace.meta();
        let Some(deleted) = meta
            .deleted
            .filter(|_| namespace.status.phase == "Terminating")
        else {
            continue;
        };
        let late = cx.now.since(deleted.0);
        if late <= cx.settings.leak_grace {
            continue;
        }
        let mut reasons = namespace
            .status
            .conditions
            .iter()
            .filter(|condition| condition.status == "True")
            .peekable();
        let why = match reasons.peek() {
            Some(reason) => reason.reason.as_str(),
            None => "no condition says why",
        };
        let finding = out.report(meta, format!("it has been ending for {late}: {why}"));
        let at = crate::dump::lenient::Stamp::write(deleted.0);
        finding.saw(meta, "metadata.deletionTimestamp", at);
        for reason in reasons {
            let path = format!("status.conditions[{}]", reason.kind);
            finding.saw(meta, &path, &reason.message);
        }
        finding.fix(
            Applicability::Manual,
            "bring back the API group or the owner of the finalizer that the condition names",
        );
    }
}
