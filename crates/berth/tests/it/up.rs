//! `berth up` from its start to its end.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{Folder, berth, command};

/// A small cluster on a port that is free.
const SMALL: [&str; 7] = [
    "up",
    "--preset",
    "small",
    "--plain",
    "--listen",
    "127.0.0.1:0",
    "--output=json",
];

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn two_seconds_at_an_hour_a_second_are_two_hours_and_a_summary() {
    let ended = berth(SMALL.into_iter().chain(["--for", "2s", "--speed", "3600"]));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let summary = ended.json();
    let lag_h = summary["lag_s"].as_f64().unwrap() / 3600.0;
    let simulated_h = summary["simulated_hours"].as_f64().unwrap();
    // What is missing is said to be missing, to the millisecond.
    assert!((simulated_h + lag_h - 2.0).abs() < 1e-6, "{summary}");
    for key in [
        "users_seen",
        "nodes",
        "gpus",
        "submitted",
        "placed",
        "completed",
        "pending",
        "invariant_violations",
        "allocation_mean",
        "fragmentation_mean",
        "decisions",
    ] {
        assert!(summary[key].is_number(), "{key}: {summary}");
    }
    for key in ["evictions", "wait", "reasons"] {
        assert!(summary[key].is_object(), "{key}: {summary}");
    }
    assert_eq!(summary["invariant_violations"], 0);
    assert!(summary["placed"].as_u64().unwrap() > 0, "{summary}");
    assert!(summary["wait"]["p90_s"].is_number(), "{summary}");
    assert_eq!(summary["log_hash"].as_str().map(str::len), Some(16));
}

#[test]
fn equal_runs_that_keep_up_have_equal_logs() {
    let run = || {
        let arguments = [
            "--for", "1s", "--speed", "3600", "--faults", "heavy", "--seed", "7",
        ];
        let ended = berth(SMALL.into_iter().chain(arguments));
        assert_eq!(ended.code, 0, "{}", ended.err);
        ended.json()
    };
    let (one, other) = (run(), run());
    if one["lag_s"] == 0.0 && other["lag_s"] == 0.0 {
        assert_eq!(one, other);
    }
}

#[test]
fn a_port_in_use_is_named_with_the_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = berth(["up", "--listen", &address, "--for", "1s"]);
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert_eq!(ended.out, "");
    let port = taken.local_addr().unwrap().port().to_string();
    for word in [port.as_str(), "--listen", "why:", "next:"] {
        assert!(ended.err.contains(word), "{word}: {}", ended.err);
    }
}

#[test]
fn served_figures_are_those_of_the_summary_and_sigterm_ends_it_cleanly() {
    let mut running = Running::start(&["--speed", "36000"]);
    let metrics = running.get("/metrics");
    assert!(metrics.contains("berth_gpus{"), "{metrics}");
    assert!(running.get("/healthz").ends_with("ok\n"));
    let snapshot = running.get("/api/v1/snapshot");
    let snapshot: Value = serde_json::from_str(snapshot.split_once("\r\n\r\n").unwrap().1).unwrap();
    let summary = running.end();
    assert_eq!(snapshot["figures"]["gpus"], summary["gpus"]);
    assert!(snapshot["figures"]["submitted"].as_u64() <= summary["submitted"].as_u64());
}

#[test]
fn frames_can_be_captured_as_pictures_and_as_text() {
    let folder = Folder::new();
    for (name, start) in [("frame.svg", "<svg "), ("frame.txt", " Berth  ")] {
        let path = folder.path(name);
        let arguments = [
            "--for",
            "200ms",
            "--speed",
            "100000",
            "--capture",
            path.to_str().unwrap(),
        ];
        let ended = berth(SMALL.into_iter().chain(arguments));
        assert_eq!(ended.code, 0, "{}", ended.err);
        let frame = std::fs::read_to_string(&path).unwrap();
        assert!(frame.starts_with(start), "{frame}");
        assert!(frame.contains("GPUs held"), "{frame}");
    }
    for wrong in ["160", "x", "49x20", "160x401", "-1x5"] {
        let size = format!("--capture-size={wrong}");
        let ended = berth(SMALL.into_iter().chain([size.as_str()]));
        assert_eq!(ended.code, 2, "{}", ended.err);
    }
}

/// A run in the background.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut command = command(SMALL.into_iter().chain(arguments.iter().copied()));
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was built");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().unwrap().unwrap();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let address = first.split_whitespace().next().unwrap();
        let address = address
            .strip_prefix("http://")
            .unwrap_or_else(|| panic!("{first}"));
        Self {
            address: address.to_owned(),
            child,
        }
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        answer
    }

    /// Asks it to end and returns its summary.
    fn end(&mut self) -> Value {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        let mut out = String::new();
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{out}");
        serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves nothing running; one that ended it finds it gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
