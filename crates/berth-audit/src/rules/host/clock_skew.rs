//! Nodes whose clock differs from the others'.

use berth_core::time::{Span, Time};

use crate::dump::kind::lease::Lease;
use crate::dump::lenient::Stamp;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BH009",
    name: "clock-skew",
    family: Family::Host,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Lease), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Ready nodes whose lease was renewed, by their own clock, a minute or more before or after those of the other nodes.

## Why it matters
Certificates and tokens count as expired or as not valid yet, Ceph's monitors fall out of quorum, leaks of addresses are judged by wrong ages, and journals of several hosts cannot be laid side by side.

## How it is decided
Kubelets renew their lease in `kube-node-lease` every ten seconds. A node that is Ready renews it, so its time shows its clock; the median of at least three ready nodes is the measure.

## Fix
Mend the time service (`chronyc tracking`, `timedatectl`) on the node, and step the clock after a drain.

## False positives
A node that died while the dump was taken, or leases that were read minutes apart from several dumps.

## References
Kubernetes, node heartbeats; Ceph `MON_CLOCK_SKEW`.
";

/// More than six renewals, so neither the pace nor the length of one listing explains it.
const SKEW_MAX: Span = Span::from_secs(60);

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    let mut renewals: Vec<(Time, &Lease)> = objects
        .leases
        .iter()
        .filter(|lease| lease.meta().namespace == "kube-node-lease")
        .filter(|lease| {
            let node = objects.nodes.get("", &lease.meta().name);
            node.is_some_and(|node| node.condition("Ready") == "True")
        })
        .filter_map(|lease| Some((lease.spec.renew_time?.0, lease)))
        .collect();
    if renewals.len() < 3 {
        out.not_assessable("leases of three ready nodes or more");
        return;
    }
    renewals.sort_by_key(|(time, _)| *time);
    let (median, by) = renewals[renewals.len() / 2];
    for (time, lease) in &renewals {
        let skew = time.since(median);
        let (amount, way) = if skew < Span::ZERO {
            (median.since(*time), "behind")
        } else {
            (skew, "ahead of")
        };
        if amount < SKEW_MAX {
            continue;
        }
        let name = &lease.meta().name;
        let finding = out.report(
            Subject::new("Node", "", name),
            format!("its clock is about {amount} {way} the other nodes'"),
        );
        finding.saw(lease.meta(), "spec.renewTime", Stamp::write(*time));
        finding.saw(
            by.meta(),
            "spec.renewTime",
            format!("{}, the median", Stamp::write(median)),
        );
        finding.fix(
            Applicability::Disruptive,
            "mend the time service of the node, and step its clock after a drain",
        );
    }
}
