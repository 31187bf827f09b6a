//! Calico's CNI settings without `policy_setup_timeout_seconds`.

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN019",
    name: "cni-does-not-wait-for-policy",
    family: Family::Network,
    severity: Severity::Info,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::ConfigMap)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Calico's CNI settings without `policy_setup_timeout_seconds`.

## Why it matters
A new pod starts before its policy is in force. On busy nodes the first seconds, and the first connections, go wrong.

## How it is decided
`cni_network_config` of the ConfigMap `calico-config` is searched for the key with a value above 0.

## Fix
Set `policy_setup_timeout_seconds` (10 is a fair start) and Felix's `endpointStatusPathPrefix`.

## False positives
Clusters without network policy have nothing to wait for.

## References
Felix issue 2032; Calico issues 3628, 2471.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let maps = cx
        .dump
        .objects
        .config_maps
        .iter()
        .filter(|map| map.meta().name == "calico-config");
    let mut any = false;
    for map in maps {
        let Some(settings) = map.data.get("cni_network_config") else {
            continue;
        };
        any = true;
        let value = settings
            .split("policy_setup_timeout_seconds")
            .nth(1)
            .unwrap_or_default();
        let digits: String = value
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        if digits.parse::<u32>().unwrap_or(0) > 0 {
            continue;
        }
        let finding = out.report(
            map.meta(),
            "pods start before their network policy is in force",
        );
        finding.saw(
            map.meta(),
            "data.cni_network_config",
            "policy_setup_timeout_seconds is absent or 0",
        );
        finding.fix(
            Applicability::Safe,
            "set policy_setup_timeout_seconds in it, and endpointStatusPathPrefix of Felix",
        );
    }
    if !any {
        out.not_assessable("the ConfigMap calico-config");
    }
}
