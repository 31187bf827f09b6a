//! IPAMHandle objects that no allocation of any block names.

use std::collections::BTreeSet;

use super::ipam::Block;
use crate::dump::kind::calico::IpamHandle;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN002",
    name: "handle-without-allocation",
    family: Family::Network,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Every(Kind::IpamHandle), Need::Every(Kind::IpamBlock)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
IPAMHandle objects that no allocation of any block names.

## Why it matters
Handles that nothing refers to are never collected by the controller. Tens of thousands of them slow every list down and fill etcd or dqlite.

## How it is decided
The `handle_id` of every allocated address is gathered; a handle outside that set, older than `leak-grace` and not being removed, is orphaned. All are counted in one finding.

## Fix
Run kube-controllers (it must run at all), and delete the orphans with `calicoctl ipam check` and `calicoctl ipam release`, or object by object.

## False positives
A handle is written before its block; one created at the moment of the dump is young and does not count, if its creation is known.

## References
Calico issues 8548 (over 30,000 handles), 4259.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let ipam = cx.ipam();
    let allocations = ipam.blocks.iter().flat_map(Block::allocations);
    let known: BTreeSet<&str> = allocations
        .filter_map(|allocation| allocation.handle())
        .collect();
    let is_orphan = |handle: &&IpamHandle| {
        let is_young = handle
            .meta()
            .age(cx.now)
            .is_some_and(|age| age < cx.settings.leak_grace);
        !handle.spec.deleted.0 && !is_young && !known.contains(handle.spec.handle_id.as_str())
    };
    let handles = &cx.dump.objects.ipam_handles;
    let orphans: Vec<&IpamHandle> = handles.iter().filter(is_orphan).collect();
    let Some(first) = orphans.first() else {
        return;
    };
    let n = orphans.len();
    let subject = if n == 1 {
        Subject::from(first.meta())
    } else {
        Subject::cluster()
    };
    let message = format!(
        "{n} of {} handles hold no address and are never collected",
        handles.len()
    );
    let finding = out.report(subject, message);
    for handle in &orphans {
        finding.saw(handle.meta(), "spec.handleID", &handle.spec.handle_id);
    }
    finding.fix(
        Applicability::Safe,
        "delete the orphaned IPAMHandle objects, and see that calico-kube-controllers runs",
    );
}
