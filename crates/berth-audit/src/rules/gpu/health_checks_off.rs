//! A device plugin that does not look at the health of cards, or looks away from errors that need a reset.

use std::collections::BTreeMap;

use super::stack::{Plugin, Server, servers};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG011",
    name: "health-checks-off",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Device plugins whose `DP_DISABLE_HEALTHCHECKS` is `all` or `xids`, or lists Xids after which a card needs a reset.

## Why it matters
A card that has failed stays on offer, and every pod that is sent to it fails.

## How it is decided
The variable of containers of NVIDIA's device plugin. Errors that need a reset by NVIDIA's catalogue: 46, 48, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143. `DP_ENABLE_HEALTHCHECKS` wins for what it names.

## Fix
Remove the variable, or list only Xids that are faults of applications.

## False positives
Another agent that watches the cards and takes bad ones away.

## References
k8s-device-plugin internal/rm/health.go; NVIDIA Xid catalogue.
";

/// Xids after which the card needs a reset, by NVIDIA's catalogue.
const NEED_RESET: [&str; 14] = [
    "46", "48", "62", "64", "74", "79", "95", "109", "110", "119", "120", "136", "140", "143",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut by_owner: BTreeMap<Subject, (Server<'_>, usize)> = BTreeMap::new();
    for server in servers(cx).into_values().flatten() {
        if server.plugin == Plugin::Nvidia {
            by_owner.entry(server.owner()).or_insert((server, 0)).1 += 1;
        }
    }
    for (owner, (server, n_nodes)) in by_owner {
        let container = server.container;
        let Some(disabled) = container.env("DP_DISABLE_HEALTHCHECKS") else {
            continue;
        };
        let enabled: Vec<&str> = words(container.env("DP_ENABLE_HEALTHCHECKS").unwrap_or_default());
        let disabled_words = words(disabled);
        let is_off = disabled_words
            .iter()
            .any(|word| word.eq_ignore_ascii_case("all") || word.eq_ignore_ascii_case("xids"));
        let ignored: Vec<&str> = NEED_RESET
            .into_iter()
            .filter(|xid| is_off || disabled_words.contains(xid))
            .filter(|xid| !enabled.contains(xid))
            .collect();
        if ignored.is_empty() {
            continue;
        }
        let message = format!(
            "on {n_nodes} nodes the device plugin ignores Xid {}, after which a card needs a reset",
            ignored.join(", ")
        );
        let finding = out.report(owner, message);
        finding.saw(server.pod.meta(), "env[DP_DISABLE_HEALTHCHECKS]", disabled);
        finding.fix(
            Applicability::Disruptive,
            "remove DP_DISABLE_HEALTHCHECKS or keep only Xids of applications in it; the plugin restarts",
        );
    }
}

fn words(list: &str) -> Vec<&str> {
    let words = list.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).collect()
}
