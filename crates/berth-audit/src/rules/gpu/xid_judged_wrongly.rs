//! Errors of cards that the installed device plugin treats otherwise than NVIDIA's catalogue.

use std::collections::BTreeMap;

use super::stack::{Plugin, servers};
use crate::dump::host::Host;
use crate::dump::host::journal::{JournalLine, Needle};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG012",
    name: "xid-judged-wrongly",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Xids in the kernel's messages that the node's device plugin judges wrongly: it takes the card away for good although nothing needs it, or leaves a card on offer that needs a reset.

## Why it matters
A healthy card stays lost until the plugin restarts, or every pod on a broken card fails.

## How it is decided
NVIDIA's device plugin ignores 13, 31, 43, 45, 68 and 109, and gives a card up for every other Xid, for ever. By the catalogue 109 needs a reset, while 8, 11, 32, 63, 69, 92, 94, 106 and 154 need no removal. `DP_DISABLE_HEALTHCHECKS` is taken into account.

## Fix
For cards taken away: set `DP_DISABLE_HEALTHCHECKS` to these Xids and restart the plugin. For 109: drain the card and reset it.

## False positives
The card was reset, or the plugin restarted, since the message.

## References
k8s-device-plugin internal/rm/health.go at 0.20 and issue 1974; NVIDIA Xid catalogue.
";

/// Xids for which the plugin gives a card up although none of them needs it.
const REMOVED_NEEDLESSLY: [u32; 9] = [8, 11, 32, 63, 69, 92, 94, 106, 154];
/// An Xid that the plugin ignores although the card needs a reset.
const IGNORED_WRONGLY: u32 = 109;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    if cx.dump.hosts.is_empty() {
        out.not_assessable("the dump has no messages of any kernel");
        return;
    }
    let servers = servers(cx);
    for host in cx.dump.hosts.values() {
        let on_host = servers.get(host.name.as_str()).into_iter().flatten();
        let Some(plugin) = on_host
            .into_iter()
            .find(|server| server.plugin == Plugin::Nvidia)
        else {
            continue;
        };
        let disabled = plugin
            .container
            .env("DP_DISABLE_HEALTHCHECKS")
            .unwrap_or_default();
        for (xid, lines) in xids(host) {
            let is_disabled = disabled.split(',').any(|word| {
                let word = word.trim();
                word == "all" || word == "xids" || word.parse() == Ok(xid)
            });
            let (message, fix) = if xid == IGNORED_WRONGLY {
                (
                    format!(
                        "Xid {xid} needs a reset of the card, and the device plugin goes on offering it"
                    ),
                    "drain the pods of the card and reset it".to_owned(),
                )
            } else if REMOVED_NEEDLESSLY.contains(&xid) && !is_disabled {
                (
                    format!(
                        "Xid {xid} needs no removal, and the device plugin takes the card away until it restarts"
                    ),
                    format!(
                        "add {xid} to DP_DISABLE_HEALTHCHECKS and restart the device plugin on the node"
                    ),
                )
            } else {
                continue;
            };
            let finding = out.report(host, message);
            for line in &lines {
                finding.saw_on(host, line.place, "kernel", &line.text);
            }
            finding.saw(
                plugin.pod.meta(),
                "spec.containers[].image",
                &plugin.container.image,
            );
            finding.fix(Applicability::Disruptive, fix);
        }
    }
}

/// Messages by Xid: `NVRM: Xid (PCI:0000:3b:00): 94, pid=...`.
fn xids(host: &Host) -> BTreeMap<u32, Vec<&JournalLine>> {
    let mut by_xid = BTreeMap::<_, Vec<_>>::new();
    for line in host.journal.of(Needle::Xid) {
        let number = line
            .text
            .split_once("NVRM: Xid")
            .and_then(|(_, rest)| rest.split_once("): "))
            .map(|(_, rest)| {
                rest.split(|c: char| !c.is_ascii_digit())
                    .next()
                    .unwrap_or_default()
            })
            .and_then(|digits| digits.parse().ok());
        if let Some(xid) = number {
            by_xid.entry(xid).or_default().push(line);
        }
    }
    by_xid
}
