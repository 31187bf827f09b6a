//! `berth simulate scenario`: what happens is told, and what was expected is checked.

use crate::support::{Folder, berth};

const SMALL: &str = "\
# A high one takes the place of a low one

```scenario
node n gpu=1xA100
evictions min-runtime=0s
job low gpu=1 run=1h
job high gpu=1 priority=1 preempts t=10m run=5m
expect 10m high.running=1 low.running=0 evictions=1
expect end completed=2
```
";

#[test]
fn the_story_has_starts_evictions_and_reasons() {
    let folder = Folder::new();
    folder.write("story.md", SMALL);
    let path = folder.path("story.md").display().to_string();
    let ended = berth(["simulate", "scenario", &path]);
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    for line in [
        "A high one takes the place of a low one (berth)",
        "starts on n",
        "evicted for high: preempted",
        "waits: GpuBusy",
        "as expected",
    ] {
        assert!(ended.out.contains(line), "{line}: {}", ended.out);
    }
    let json = berth(["simulate", "scenario", &path, "--output", "json"]).json();
    let moments = json["stories"][0]["moments"].as_array().unwrap();
    let evicted = moments.iter().find(|moment| moment["what"] == "evicted");
    assert_eq!(evicted.unwrap()["by"], "high", "{json}");
}

#[test]
fn what_comes_out_otherwise_ends_with_1_and_what_cant_be_read_with_3() {
    let folder = Folder::new();
    let path = folder.path("story.md").display().to_string();
    folder.write("story.md", SMALL.replace("completed=2", "completed=3"));
    let ended = berth(["simulate", "scenario", &path]);
    assert_eq!(ended.code, 1, "{}", ended.out);
    assert!(ended.out.contains("WRONG"), "{}", ended.out);
    folder.write("story.md", "# Nothing here\n");
    assert_eq!(berth(["simulate", "scenario", &path]).code, 3);
    folder.write("story.md", SMALL.replace("node n", "node"));
    let ended = berth(["simulate", "scenario", &path]);
    assert_eq!(ended.code, 3, "{}", ended.err);
    assert!(ended.err.contains("story.md"), "{}", ended.err);
}
