//! Machines whose memory stands in huge pages that no quota counts.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV005",
    name: "vm-hugepages-outside-quota",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachineInstance),
        Need::Every(Kind::ResourceQuota),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Machines with memory on huge pages in namespaces whose quotas limit memory and not huge pages.

## Why it matters
Such a machine's pod asks for `memory` only as far as its overhead goes. A machine of 64 GiB is charged about half a GiB, so the memory quota limits nothing.

## How it is decided
The instance names a page size, a quota of its namespace has a key for memory, and none has `requests.hugepages-SIZE` or `hugepages-SIZE`.

## Fix
Add `requests.hugepages-SIZE` to the quota.

## False positives
None known.

## References
Kubernetes documentation, resource quotas; KubeVirt documentation, huge pages.
";

const MEMORY_KEYS: [&str; 3] = ["memory", "requests.memory", "limits.memory"];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for machine in &cx.dump.objects.vm_instances {
        let memory = &machine.spec.domain.memory;
        let size = &memory.hugepages.page_size;
        let quotas = &cx.dump.objects.resource_quotas;
        let hard = || {
            quotas
                .iter()
                .filter(|quota| quota.meta().namespace == machine.meta().namespace)
                .flat_map(|quota| {
                    quota
                        .spec
                        .hard
                        .iter()
                        .map(move |(key, value)| (quota, key, value))
                })
        };
        let page_key = format!("hugepages-{size}");
        let counts_pages =
            hard().any(|(_, key, _)| key.strip_prefix("requests.").unwrap_or(key) == page_key);
        let Some((quota, key, value)) = hard()
            .find(|(_, key, _)| MEMORY_KEYS.contains(&key.as_str()))
            .filter(|_| !size.is_empty() && !counts_pages)
        else {
            continue;
        };
        let guest = memory.guest.map_or_else(
            || "its memory".to_owned(),
            |guest| format!("{} MiB of memory", guest.bytes().0 >> 20),
        );
        let message = format!("{guest} in huge pages of {size} counts against no quota");
        let finding = out.report(machine.meta(), message);
        finding.saw(
            machine.meta(),
            "spec.domain.memory.hugepages.pageSize",
            size,
        );
        finding.saw(quota.meta(), &format!("spec.hard[{key}]"), value);
        finding.fix(
            Applicability::Safe,
            format!("add requests.{page_key} to the quota"),
        );
    }
}
