//! An exporter of GPU metrics whose list lacks the fields that tell a dying card.

use std::collections::BTreeSet;

use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG010",
    name: "exporter-lacks-fields",
    family: Family::Gpu,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::ConfigMap)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Lists of fields of dcgm-exporter without use, memory, Xid, uncorrectable errors, pending row remaps or the reasons of slow clocks.

## Why it matters
Without them nobody sees that a card waits for a reset, is throttled, or stands idle while it is held; the default list lacks several.

## How it is decided
ConfigMaps whose values have rows that begin with `DCGM_FI_`; rows behind `#` are off. Both names of a field, before and since DCGM 4.6, count.

## Fix
Add the rows, each with its type and help text, and let the exporter read the map.

## False positives
A second exporter that has the rows.

## References
dcgm-exporter default-counters.csv; DCGM field identifiers.
";

/// What must be there: what it tells, and the fields of which one is enough.
const WANTED: &[(&str, &[&str])] = &[
    (
        "use",
        &[
            "DCGM_FI_DEV_GPU_UTIL",
            "DCGM_FI_DEV_GPU_UTIL_RATIO",
            "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
        ],
    ),
    ("memory in use", &["DCGM_FI_DEV_FB_USED"]),
    (
        "Xid",
        &[
            "DCGM_FI_DEV_XID_ERRORS",
            "DCGM_FI_DEV_XID_ERROR",
            "DCGM_EXP_XID_ERRORS_COUNT",
        ],
    ),
    (
        "uncorrectable errors",
        &[
            "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
            "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL",
        ],
    ),
    ("pending row remaps", &["DCGM_FI_DEV_ROW_REMAP_PENDING"]),
    (
        "reasons of slow clocks",
        &[
            "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",
            "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
            "DCGM_EXP_CLOCK_EVENTS_COUNT",
        ],
    ),
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut has_list = false;
    for map in &cx.dump.objects.config_maps {
        for (key, text) in map.data.iter() {
            let fields: BTreeSet<&str> = text
                .lines()
                .filter_map(|line| line.trim().split(',').next())
                .map(str::trim)
                .filter(|field| field.starts_with("DCGM_"))
                .collect();
            if fields.is_empty() {
                continue;
            }
            has_list = true;
            let missing: Vec<_> = WANTED
                .iter()
                .filter(|(_, names)| names.iter().all(|name| !fields.contains(name)))
                .collect();
            if missing.is_empty() {
                continue;
            }
            let what: Vec<&str> = missing.iter().map(|(what, _)| *what).collect();
            let rows: Vec<&str> = missing
                .iter()
                .filter_map(|(_, names)| names.first().copied())
                .collect();
            let finding = out.report(
                map.meta(),
                format!("the exporter's list does not show {}", what.join(", ")),
            );
            let value = format!("{} rows", fields.len());
            finding.saw(map.meta(), &format!("data[{key}]"), value);
            finding.fix(
                Applicability::Safe,
                format!("add the rows {}", rows.join(", ")),
            );
        }
    }
    if !has_list {
        out.not_assessable("no ConfigMap of the dump holds an exporter's list of fields");
    }
}
