//! The server as a client on the wire sees it.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{CONNECTIONS_MAX, Server};
use crate::console::{Console, Front};
use crate::service::control::Control;
use crate::service::scripted;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn server() -> Server {
    let (_, latest) = watch::channel(Arc::new(scripted::published()));
    let console = Arc::new(Console::new(latest));
    serving(Front::Scheduling(console))
}

fn serving(front: Front) -> Server {
    let (_, front) = watch::channel(front);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Server::start(listener, front, Arc::new(Control::default())).unwrap()
}

/// Sends `request` as it is and returns the whole answer.
fn exchange(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn get(address: SocketAddr, path: &str) -> String {
    exchange(
        address,
        &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    )
}

fn body(answer: &str) -> &str {
    answer
        .split_once("\r\n\r\n")
        .expect("an answer has a head")
        .1
}

#[test]
fn every_path_answers_in_its_own_form() {
    let server = server();
    let check = |path: &str, kind: &str, part: &str| {
        let answer = get(server.address(), path);
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n"),
            "{path}: {answer}"
        );
        assert!(
            answer.contains(&format!("content-type: {kind}")),
            "{path}: {answer}"
        );
        assert!(
            answer.contains("x-content-type-options: nosniff"),
            "{path}: {answer}"
        );
        assert!(
            !answer.contains("access-control-allow-origin"),
            "{path}: {answer}"
        );
        assert!(body(&answer).contains(part), "{path}: {answer}");
    };
    check("/healthz", "text/plain", "ok");
    check("/readyz", "text/plain", "ok");
    check(
        "/metrics",
        "application/openmetrics-text",
        "berth_gpus{gpu_class=\"A100\"} 8",
    );
    check(
        "/api/v1/snapshot",
        "application/json",
        "\"apiVersion\":\"console.berth.dev/v1\"",
    );
    check("/", "text/html", "QueueLimit");
    check("/style.css", "text/css", "prefers-color-scheme");
    assert!(get(server.address(), "/nowhere").starts_with("HTTP/1.1 404"));
    server.stop();
}

#[test]
fn whoever_stands_by_is_well_and_shows_nothing() {
    for (front, ready) in [(Front::Listing, "503"), (Front::StandingBy, "200")] {
        let server = serving(front);
        let check = |path: &str, status: &str| {
            let answer = get(server.address(), path);
            assert_eq!(answer.split(' ').nth(1), Some(status), "{path}: {answer}");
            answer
        };
        check("/healthz", "200");
        check("/readyz", ready);
        assert_eq!(body(&check("/metrics", "200")), "# EOF\n");
        for path in ["/", "/api/v1/snapshot"] {
            let answer = check(path, "503");
            assert!(answer.contains("application/problem+json"), "{answer}");
        }
        server.stop();
    }
}

#[test]
fn the_api_tells_what_the_view_tells_and_how_much_it_leaves_out() {
    let server = server();
    let answer = get(server.address(), "/api/v1/snapshot");
    let value: serde_json::Value = serde_json::from_str(body(&answer)).unwrap();
    assert_eq!(value["waiting"]["total"], 3);
    assert_eq!(value["waiting"]["items"][2]["reason"], "QueueLimit");
    assert_eq!(
        value["waiting"]["items"][2]["explanation"]["hindrance"]["kind"],
        "queue-limit"
    );
    assert_eq!(value["nodes"]["items"][2]["gpus"][0]["free_share"], 0.6);
    assert_eq!(
        value["nodes"]["items"][2]["gpus"][0]["tenants"][0]["user"],
        "bo"
    );
    assert_eq!(value["nodes"]["truncated"], 0);
    assert_eq!(value["queues"]["items"][2]["limit"], 12.0);
    let cut = get(server.address(), "/api/v1/snapshot?limit=1");
    let value: serde_json::Value = serde_json::from_str(body(&cut)).unwrap();
    for list in ["nodes", "queues", "waiting", "events"] {
        let (total, truncated) = (&value[list]["total"], &value[list]["truncated"]);
        assert_eq!(
            value[list]["items"].as_array().map(Vec::len),
            Some(1),
            "{list}"
        );
        assert_eq!(total.as_u64(), truncated.as_u64().map(|n| n + 1), "{list}");
    }
    for wrong in ["x", "-1", "10001"] {
        let answer = get(server.address(), &format!("/api/v1/snapshot?limit={wrong}"));
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    server.stop();
}

#[test]
fn names_of_others_bodies_and_writes_are_refused() {
    let server = server();
    let check = |head: &str, status: &str| {
        let answer = exchange(server.address(), &format!("{head}\r\n\r\n"));
        assert_eq!(answer.split(' ').nth(1), Some(status), "{head}: {answer}");
    };
    check("GET / HTTP/1.1\r\nHost: rebound.example.org", "421");
    check("GET / HTTP/1.1\r\nHost: rebound.example.org:8420", "421");
    check(
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: rebound.example.org",
        "421",
    );
    check(
        "GET http://rebound.example.org/ HTTP/1.1\r\nHost: localhost",
        "421",
    );
    check("GET / HTTP/1.0", "421");
    check("GET / HTTP/1.1\r\nHost: [::1]:1", "200");
    check(
        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1",
        "413",
    );
    check(
        "GET / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked",
        "413",
    );
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        check(
            &format!("{method} /api/v1/snapshot HTTP/1.1\r\nHost: localhost"),
            "405",
        );
    }
    check("HEAD /healthz HTTP/1.1\r\nHost: localhost", "200");
    server.stop();
}

#[test]
fn silent_clients_do_not_keep_others_from_an_answer() {
    let server = server();
    let silent: Vec<TcpStream> = (0..CONNECTIONS_MAX + 8)
        .map(|_| TcpStream::connect(server.address()).unwrap())
        .collect();
    // All places are taken by clients that say nothing, until their time is up.
    let answer = get(server.address(), "/style.css");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer:?}");
    drop(silent);
    server.stop();
}

#[test]
fn the_page_is_whole_without_a_script() {
    let server = server();
    let page = get(server.address(), "/");
    assert!(!page.contains("<script"), "{page}");
    assert!(page.contains("<html lang=\"en\">") && page.contains("http-equiv=\"refresh\""));
    assert!(!get(server.address(), "/?refresh=off").contains("http-equiv=\"refresh\""));
    // The map and its twin in words.
    assert!(
        page.contains("████████") && page.contains("8 held"),
        "{page}"
    );
    assert!(page.contains("1 in part, 1 failed"), "{page}");
    server.stop();
}
