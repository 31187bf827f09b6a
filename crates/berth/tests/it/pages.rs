//! What is made from the program's own definitions: lists, manuals, completions, pages.

use std::fs;

use crate::support::{Folder, berth};

#[test]
fn policies_are_listed_in_every_form() {
    let ended = berth(["policies"]);
    assert_eq!(ended.code, 0);
    assert!(
        ended.out.starts_with("POLICY ") && ended.out.contains("\nfgd "),
        "{}",
        ended.out
    );
    let json = berth(["policies", "--output", "json"]).json();
    let rows = json["policies"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["name"] == "fgd"), "{json}");
    let yaml = berth(["policies", "--output", "yaml"]).out;
    assert!(yaml.contains("- name: fgd"), "{yaml}");
    let csv = berth(["policies", "--output", "csv"]).out;
    assert!(
        csv.starts_with("policy,what it does\n") && csv.contains("\nfgd,"),
        "{csv}"
    );
}

#[test]
fn every_policy_has_a_manual() {
    let list = berth(["policies", "--output", "json"]).json();
    for policy in list["policies"].as_array().unwrap() {
        let ended = berth(["policies", "show", policy["name"].as_str().unwrap()]);
        assert_eq!(ended.code, 0);
        assert!(ended.out.len() > 80, "{policy}: {}", ended.out);
    }
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish"] {
        let ended = berth(["completions", shell]);
        assert_eq!(ended.code, 0);
        for word in ["simulate", "policies", "gpu-packing"] {
            assert!(ended.out.contains(word), "{shell}, {word}");
        }
    }
}

#[test]
fn every_shown_command_has_a_manual_page() {
    assert!(berth(["man"]).out.contains(".TH berth 1"));
    let folder = Folder::new();
    assert_eq!(
        berth(["man", "--out", folder.path("").to_str().unwrap()]).code,
        0
    );
    let names = folder.names();
    for page in [
        "berth.1",
        "berth-up.1",
        "berth-simulate.1",
        "berth-simulate-suite.1",
    ] {
        assert!(names.iter().any(|name| name == page), "{page}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.contains("docs")), "{names:?}");
}

#[test]
fn generated_pages_are_the_same_each_time() {
    let (first, second) = (Folder::new(), Folder::new());
    for folder in [&first, &second] {
        assert_eq!(
            berth(["docs", "--out", folder.path("").to_str().unwrap()]).code,
            0
        );
    }
    assert_eq!(first.names(), second.names());
    for name in first.names() {
        let read = |folder: &Folder| fs::read_to_string(folder.path(&name)).unwrap();
        let page = read(&first);
        assert_eq!(page, read(&second), "{name}");
        assert!(page.starts_with("# "), "{name}");
        let is_clean = page.lines().all(|line| line == line.trim_end()) && page.ends_with('\n');
        assert!(
            is_clean && !page.ends_with("\n\n"),
            "{name}: stray white space"
        );
    }
}
