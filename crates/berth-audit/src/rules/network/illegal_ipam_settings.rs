//! Settings of Calico's address management that it refuses to read.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN021",
    name: "illegal-ipam-settings",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::IpamConfig)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Settings of Calico's address management that it refuses to read.

## Why it matters
Every allocation fails with an error about settings, so no pod starts; it shows only at the next restart.

## How it is decided
`strictAffinity: false` together with `autoAllocateBlocks: false`; `maxBlocksPerHost` above 0 without strict affinity. Only the library checks, so `kubectl edit` can store both.

## Fix
Set one of the two values back.

## False positives
None known.

## References
Calico `libcalico-go/lib/ipam`.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for config in &cx.dump.objects.ipam_configs {
        let spec = &config.spec;
        let is_manual = spec.auto_allocate_blocks.is_some_and(|auto| !auto.0);
        if !spec.strict_affinity.0 && is_manual {
            let finding = out.report(
                config.meta(),
                "no block is ever claimed, and none may be borrowed from: no pod gets an address",
            );
            finding.saw(config.meta(), "spec.strictAffinity", false);
            finding.saw(config.meta(), "spec.autoAllocateBlocks", false);
            finding.fix(
                Applicability::Safe,
                "set autoAllocateBlocks to true, or strictAffinity to true",
            );
        }
        if spec.max_blocks_per_host.0 > 0 && !spec.strict_affinity.0 {
            let finding = out.report(
                config.meta(),
                "a limit of blocks without strict affinity is refused",
            );
            finding.saw(
                config.meta(),
                "spec.maxBlocksPerHost",
                spec.max_blocks_per_host.0,
            );
            finding.saw(config.meta(), "spec.strictAffinity", false);
            finding.fix(
                Applicability::Safe,
                "set maxBlocksPerHost to 0, or strictAffinity to true",
            );
        }
    }
}
