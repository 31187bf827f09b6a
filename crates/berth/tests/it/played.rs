//! Workloads played by their own times.

use std::fs;

use crate::support::{Folder, berth, berth_on, small_openb};

const OBJECT: &str = r#"{
  "name": "two cards",
  "nodes": [{"name": "gpu-01", "cpu": "16", "memory": "64GiB", "gpus": 2, "model": "A100",
             "gpu_memory": "40GiB", "mode": "time-slice"}],
  "queues": [{"name": "lab"}],
  "jobs": [
    {"name": "a", "user": "ada", "queue": "lab", "arrival": "0", "run": "1h", "cpu": "1",
     "memory": "1GiB", "gpu": "2"},
    {"name": "b", "user": "bo", "queue": "lab", "arrival": "10m", "run": "1h", "cpu": "1",
     "memory": "1GiB", "gpu": "0.5"},
    {"name": "c", "user": "cy", "queue": "lab", "arrival": "20m", "run": "1h", "cpu": "1",
     "memory": "1GiB", "gpu": "4"}
  ]
}"#;

fn native(folder: &Folder) -> String {
    format!("native:{}", folder.write("work.json", OBJECT).display())
}

#[test]
fn json_holds_a_report_a_run() {
    let folder = Folder::new();
    let trace = native(&folder);
    let arguments = [
        "simulate", "--trace", &trace, "--policy", "fgd", "--output", "json",
    ];
    let json = berth(arguments).json();
    let report = &json["results"][0];
    assert_eq!(report["trace"], "two cards");
    assert_eq!(report["policy"], "fgd");
    assert_eq!(report["seed"], 42);
    assert_eq!(report["gpus"], 2);
    assert_eq!(report["submitted"], 3);
    assert_eq!(report["completed"], 2, "{report}");
    assert_eq!(report["pending_at_end"], 1, "nothing has four GPUs");
    assert_eq!(report["reasons"]["NeverFits"], 1, "{}", report["reasons"]);
    assert_eq!(report["invariant_violations"], 0);
    assert_eq!(report["wait"]["max_s"], 3000.0, "b waits for a");
    assert_eq!(json["means"][0]["policy"], "fgd");
    assert_eq!(json["means"][0]["completed"], 2.0);
}

#[test]
fn tables_of_a_folder_are_read_like_the_object() {
    let folder = Folder::new();
    folder.write(
        "nodes.csv",
        "name,cpu,memory,gpus,model,mode\ngpu-01,16,64GiB,2,A100,time-slice\n",
    );
    let trace = format!("native:{}", folder.path("").display());
    let arguments = ["simulate", "--trace", &trace, "--output", "json"];
    let ended = berth(arguments);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("there is no jobs.csv"), "{}", ended.err);
    folder.write(
        "jobs.csv",
        "name,user,queue,arrival,run,cpu,memory,gpu\na,ada,lab,0,1h,1,1GiB,2\n",
    );
    let json = berth(arguments).json();
    assert_eq!(
        json["results"].as_array().unwrap().len(),
        4,
        "fgd, best-fit and random"
    );
    assert_eq!(json["results"][0]["completed"], 1);
}

#[test]
fn a_public_list_is_played_by_its_times() {
    let arguments = [
        "simulate",
        "--trace",
        "openb:tiny",
        "--replay",
        "--output",
        "json",
    ];
    let json = berth_on(&small_openb(), arguments).json();
    assert_eq!(json["results"][0]["trace"], "openb:tiny");
    let means = json["means"].as_array().unwrap();
    assert_eq!(means.len(), 4, "berth, fgd, best-fit and random");
    for mean in means {
        assert_eq!(mean["completed"], 40.0);
        // Asked for as much as there is, so a queue forms and the cluster is nearly full.
        let under_load = mean["allocation_under_load"].as_f64().unwrap();
        assert!((50.0..=100.0).contains(&under_load), "{mean}");
    }
    let recorded = arguments.iter().chain(&["--load", "recorded"]);
    let json = berth_on(&small_openb(), recorded).json();
    assert!(json["means"][0].get("allocation_under_load").is_none());
    assert_eq!(json["results"][0]["completed"], 40);
}

#[test]
fn equal_runs_print_equal_documents_with_faults_too() {
    let run = |jobs| {
        let trouble = [
            "--faults", "heavy", "--days", "1", "--seeds", "1..2", "--jobs", jobs,
        ];
        let arguments = ["simulate", "--policy", "fgd,random", "--output", "json"];
        let ended = berth(arguments.iter().chain(&trouble));
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.out
    };
    assert_eq!(run("1"), run("2"));
}

#[test]
fn days_end_the_run() {
    let arguments = [
        "simulate", "--policy", "fgd", "--days", "1", "--output", "json",
    ];
    let json = berth(arguments).json();
    let hours = json["results"][0]["simulated_hours"].as_f64().unwrap();
    // What is made up arrives within the day, and the last of it before its end.
    assert!((12.0..=24.0).contains(&hours), "{hours}");
}

#[test]
fn people_see_figures_and_reasons() {
    let folder = Folder::new();
    let trace = native(&folder);
    let ended = berth(["simulate", "--trace", &trace, "--policy", "fgd,first-fit"]);
    assert_eq!(ended.code, 0, "{}", ended.err);
    for words in [
        "two cards, 2 GPUs",
        "WAIT P50",
        "Why pods waited",
        "NeverFits",
    ] {
        assert!(ended.out.contains(words), "{words}: {}", ended.out);
    }
}

#[test]
fn the_report_for_a_browser_shows_every_chart_and_loads_nothing() {
    let folder = Folder::new();
    let trace = native(&folder);
    let report = folder.path("report.html");
    let arguments = [
        "simulate",
        "--trace",
        &trace,
        "--html",
        report.to_str().unwrap(),
    ];
    let ended = berth(arguments);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let html = fs::read_to_string(report).unwrap();
    for title in [
        "GPUs held",
        "GPUs at work",
        "Waiting pods",
        "From submission to start",
    ] {
        assert!(html.contains(&format!("<h2>{title}</h2>")), "{title}");
    }
    assert_eq!(html.matches("<h2>Who held which GPU").count(), 4);
    assert!(
        !html.contains("NaN") && !html.contains("inf\""),
        "a figure that is no number"
    );
    for forbidden in [
        "http://", "https://", "src=", "href=", "<script", "url(", "@import",
    ] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn the_fuzzer_counts_seeds_and_repeats_itself() {
    let arguments = [
        "simulate", "fuzz", "--seeds", "5", "--seed", "3", "--output", "json",
    ];
    let ended = berth(arguments);
    let json = ended.json();
    let failures = json["failures"].as_array().unwrap();
    assert_eq!(json["passed"].as_u64().unwrap() + failures.len() as u64, 5);
    assert_eq!(ended.code, i32::from(!failures.is_empty()));
    assert_eq!(ended.out, berth(arguments).out);
}
