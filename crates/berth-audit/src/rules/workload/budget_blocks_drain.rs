//! Disruption budgets that never let a pod go.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BW001",
    name: "budget-blocks-drain",
    family: Family::Workload,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::PodDisruptionBudget)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pod disruption budgets that allow no eviction although every pod that they protect is healthy.

## Why it matters
A drain of any node with such a pod waits for ever: upgrades and repairs stand still until somebody deletes the budget.

## How it is decided
`status.disruptionsAllowed` is 0, the budget protects at least one pod, and as many are healthy as are expected. So it is the budget's arithmetic and no outage that forbids evictions.

## Fix
Allow one pod to go (`maxUnavailable: 1`), or run one replica more than `minAvailable` asks for.

## False positives
Budgets that are meant to make somebody look before a drain; accept those in the baseline.

## References
Kubernetes documentation, specifying a disruption budget.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for budget in &cx.dump.objects.disruption_budgets {
        let status = &budget.status;
        let is_healthy = status.current_healthy >= status.expected_pods;
        if status.disruptions_allowed.0 != 0 || status.expected_pods.0 == 0 || !is_healthy {
            continue;
        }
        let n = status.expected_pods.0;
        let finding = out.report(
            budget.meta(),
            format!("it never lets one of its {n} healthy pods go, so drains hang"),
        );
        let (field, value) = if budget.spec.max_unavailable.is_empty() {
            ("spec.minAvailable", &budget.spec.min_available)
        } else {
            ("spec.maxUnavailable", &budget.spec.max_unavailable)
        };
        finding.saw(budget.meta(), field, value);
        finding.saw(budget.meta(), "status.disruptionsAllowed", 0);
        finding.fix(
            Applicability::Safe,
            "set maxUnavailable to 1, or run one replica more",
        );
    }
}
