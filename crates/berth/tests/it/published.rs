//! The published experiment on a tiny cluster.

use std::fs;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Folder, berth_on, small_openb, small_pods};

const RUN: [&str; 7] = [
    "simulate",
    "--trace",
    "openb:tiny",
    "--policy",
    "fgd,random",
    "--seeds",
    "7..8",
];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().chain(more).copied().collect()
}

#[test]
fn json_holds_every_run_and_the_means() {
    let json = berth_on(&small_openb(), with(&["--output", "json"])).json();
    let results = json["results"].as_array().unwrap();
    let key = |at: usize| (results[at]["policy"].as_str(), results[at]["seed"].as_u64());
    assert_eq!(results.len(), 4);
    assert_eq!(key(0), (Some("fgd"), Some(7)));
    assert_eq!(key(3), (Some("random"), Some(8)));
    for run in results {
        assert_eq!(run["trace"], "tiny");
        assert!(run["pods_placed"].as_u64().unwrap() <= run["pods_offered"].as_u64().unwrap());
        let arrived = run["arrived"].as_array().unwrap();
        assert!(arrived.len() > 2, "{run}");
        for column in arrived {
            assert!(
                (0..=130).contains(&column["percent"].as_i64().unwrap()),
                "{column}"
            );
            assert!(
                (0.0..=100.0).contains(&column["allocation"].as_f64().unwrap()),
                "{column}"
            );
            assert!(column["fragmentation"].as_f64().unwrap() >= 0.0, "{column}");
        }
    }
    for mean in json["means"].as_array().unwrap() {
        assert!(
            [100, 130].contains(&mean["percent"].as_u64().unwrap()),
            "{mean}"
        );
    }
}

#[test]
fn equal_runs_print_equal_documents_whatever_the_threads() {
    let data = small_openb();
    let first = berth_on(&data, with(&["--output", "json", "--jobs", "1"]));
    assert_eq!(first.code, 0, "{}", first.err);
    assert_eq!(
        first,
        berth_on(&data, with(&["--output", "json", "--jobs", "3"]))
    );
}

#[test]
fn arrival_ends_where_it_is_told_to() {
    let json = berth_on(&small_openb(), with(&["--until", "50", "--output", "json"])).json();
    for run in json["results"].as_array().unwrap() {
        let last = run["arrived"].as_array().unwrap().last().unwrap();
        assert!(last["percent"].as_u64().unwrap() <= 50, "{last}");
    }
}

#[test]
fn people_see_a_row_a_policy() {
    let ended = berth_on(&small_openb(), RUN);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let lines: Vec<&str> = ended.out.lines().collect();
    assert_eq!(lines[0], "openb:tiny, 16 GPUs");
    assert!(lines[1].starts_with("POLICY "), "{}", lines[1]);
    assert!(
        lines[2].starts_with("fgd ") && lines[3].starts_with("random "),
        "{}",
        ended.out
    );
    assert_eq!(ended.err, "", "a progress bar without a terminal");
}

#[test]
fn a_compressed_list_is_read_like_a_plain_one() {
    let data = small_openb();
    let plain = berth_on(&data, with(&["--output", "json"]));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(small_pods().as_bytes()).unwrap();
    fs::remove_file(data.path("openb/openb_pod_list_tiny.csv")).unwrap();
    data.write("openb/openb_pod_list_tiny.csv.gz", gzip.finish().unwrap());
    assert_eq!(plain, berth_on(&data, with(&["--output", "json"])));
}

#[test]
fn the_report_for_a_browser_loads_nothing() {
    let (data, folder) = (small_openb(), Folder::new());
    let report = folder.path("report.html");
    let ended = berth_on(&data, with(&["--html", report.to_str().unwrap()]));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let html = fs::read_to_string(report).unwrap();
    for forbidden in [
        "http://", "https://", "src=", "href=", "<script", "url(", "@import",
    ] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    for expected in [
        "<svg ",
        "fgd",
        "berth simulate --trace openb:tiny --policy fgd,random",
    ] {
        assert!(html.contains(expected), "{expected}");
    }
    assert_eq!(folder.names(), ["report.html"]);
}

#[test]
fn what_is_wrong_with_a_list_is_said_with_its_place() {
    let data = small_openb();
    let pods = small_pods().replacen("pod-03,4000", "pod-03,many", 1);
    data.write("openb/openb_pod_list_tiny.csv", pods);
    let ended = berth_on(&data, RUN);
    assert_eq!(ended.code, 3);
    for word in ["openb_pod_list_tiny.csv:5", "cpu_milli", "many"] {
        assert!(ended.err.contains(word), "{word}: {}", ended.err);
    }
}

#[test]
fn a_misspelt_list_names_those_that_are_there() {
    let ended = berth_on(&small_openb(), ["simulate", "--trace", "openb:tyni"]);
    assert_eq!(ended.code, 3);
    assert!(
        ended.err.contains("next: take one of tiny"),
        "{}",
        ended.err
    );
}

#[test]
fn a_seed_without_its_generator_is_refused_with_the_way_to_it() {
    let arguments = ["simulate", "--trace", "openb:tiny", "--seed", "9"];
    let ended = berth_on(&small_openb(), arguments);
    assert_eq!(ended.code, 3);
    assert!(ended.err.contains("rand.NewSource(SEED)"), "{}", ended.err);
}
