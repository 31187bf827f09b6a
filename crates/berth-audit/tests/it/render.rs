//! Reports in every form: valid, complete, and safe against what a dump contains.

#![expect(
    clippy::disallowed_methods,
    reason = "the schema is a file, and blessing is asked for by a variable"
)]

use std::path::Path;

use berth_audit::engine::baseline::Baseline;
use berth_audit::engine::diff::diff;
use berth_audit::engine::{Report, audit};
use berth_audit::finding::Severity;
use berth_audit::render::text::{Detail, Paint};
use berth_audit::render::{html, json_schema, junit, markdown, sarif, text};
use berth_audit::rules;
use berth_audit::settings::Settings;
use berth_audit::source::Reader;

/// A name that every form must escape; Kubernetes would refuse it, a forged dump would not.
const HOSTILE: &str = "</script><script>alert(1)</script>&\"'`|";

fn report(baseline: &str) -> Report {
    let name = serde_json::to_string(HOSTILE).expect("a string is JSON");
    let budget = format!(
        "{{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{{\"namespace\":\"n\",\"name\":{name}}},\
         \"spec\":{{\"maxUnavailable\":0}},\"status\":{{\"disruptionsAllowed\":0,\"currentHealthy\":3,\"expectedPods\":3}}}}"
    );
    let mut reader = Reader::new();
    reader.file("folder with space/x.json", &mut budget.as_bytes());
    reader.file(
        "inspection-report/k8s/cluster-info-dump",
        &mut &b"error: \x1b[31mdown\n"[..],
    );
    let baseline = Baseline::parse(baseline).expect("the baseline of the test is one");
    audit(
        &reader.finish(),
        &rules::all(),
        &Settings::default(),
        &baseline,
        None,
    )
}

#[test]
fn sarif_keeps_its_shape_through_the_types_of_its_schema() {
    let accepted = "accept: [{code: BW001, reason: old, owner: me, expires: 2020-01-01}]";
    for baseline in ["{}", accepted] {
        let log = sarif::render(&report(baseline), &rules::all(), "0.1.0");
        let value: serde_json::Value = serde_json::from_str(&log).expect("it is JSON");
        let typed: serde_sarif::sarif::Sarif =
            serde_json::from_str(&log).expect("it has the shape of SARIF 2.1.0");
        let again = serde_json::to_value(&typed).expect("the types are JSON");
        assert_eq!(again, value, "a property is not of SARIF 2.1.0");
        let run = &value["runs"][0];
        assert_eq!(run["tool"]["driver"]["name"], "berth audit");
        assert_eq!(
            run["tool"]["driver"]["rules"].as_array().map(Vec::len),
            Some(rules::all().len())
        );
        let result = &run["results"][0];
        assert_eq!(
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "folder%20with%20space/x.json"
        );
        assert_eq!(
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            1
        );
        assert!(
            no_empty_object(&value),
            "an empty object is no evidence of anything"
        );
    }
}

fn no_empty_object(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Object(map) => !map.is_empty() && map.values().all(no_empty_object),
        serde_json::Value::Array(list) => list.iter().all(no_empty_object),
        _ => true,
    }
}

#[test]
fn accepted_findings_are_suppressed_and_expired_ones_count_again() {
    let entry = |expires: &str| {
        format!(
            "accept: [{{code: BW001, subject: 'PodDisruptionBudget n/*', reason: r, owner: o, expires: {expires}}}]"
        )
    };
    let accepted = report(&entry("2999-01-01"));
    assert!(
        accepted
            .findings
            .iter()
            .all(|finding| finding.code != "BW001")
    );
    assert_eq!(accepted.ignored.len(), 1);
    let log = sarif::render(&accepted, &rules::all(), "0.1.0");
    assert!(log.contains("\"suppressions\""));
    let expired = report(&entry("1969-01-01"));
    assert!(
        expired
            .findings
            .iter()
            .any(|finding| finding.code == "BW001")
    );
    for wrong in [
        "accept: [{code: X, reason: '', owner: o, expires: 2999-01-01}]",
        "accept: [{code: X, reason: r, owner: o, expires: never}]",
        "- x",
    ] {
        assert!(Baseline::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_a_dump_contains_is_text_in_every_form() {
    let report = report("{}");
    let page = html::render(&report);
    assert_eq!(page.matches("<script>").count(), 1, "the page's own");
    assert!(page.contains("&lt;/script&gt;"));
    let xml = junit::render(&report, Severity::Warning);
    assert!(!xml.contains("<script>") && xml.contains("<failure"));
    assert!(!markdown::render(&report).contains("`</script>`\n`"));
    let terminal = text::render(&report, Detail::All, Paint::None);
    assert!(
        !terminal.contains('\u{1b}'),
        "the dump's escapes do not reach the terminal"
    );
}

#[test]
fn every_form_names_what_was_not_assessed() {
    let report = report("{}");
    let forms = [
        text::render(&report, Detail::Short, Paint::None),
        markdown::render(&report),
        html::render(&report),
        junit::render(&report, Severity::Error),
        sarif::render(&report, &rules::all(), "0.1.0"),
        serde_json::to_string(&report).expect("a report is JSON"),
    ];
    for form in forms {
        assert!(
            form.contains("every IPAMBlock")
                || form.contains("BN001 leaked-address could not be assessed")
        );
    }
}

#[test]
fn difference_tells_new_from_gone_and_from_not_comparable() {
    let with = report("{}");
    let nothing = audit(
        &Reader::new().finish(),
        &rules::all(),
        &Settings::default(),
        &Baseline::default(),
        None,
    );
    let changed = diff(&nothing, &with);
    assert!(changed.appeared.is_empty());
    assert!(changed.not_comparable.contains(&"BW001"));
    let same = diff(&with, &with);
    assert_eq!(
        (same.appeared.len(), same.disappeared.len(), same.n_same),
        (0, 0, with.flat().len())
    );
}

#[test]
fn schema_of_the_json_form_is_the_committed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/report.schema.json");
    let schema = json_schema();
    if std::env::var_os("BERTH_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it is in a folder"))
            .expect("the folder can be made");
        std::fs::write(&path, &schema).expect("the schema can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), schema);
}
