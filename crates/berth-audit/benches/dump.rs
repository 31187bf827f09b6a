//! How fast a large dump is read and audited, and with how much memory.
//!
//! The dump is `kubectl cluster-info dump` of 5,000 nodes and 150,000 pods as the command prints it,
//! made while it is read, so that memory is the audit's own. Prints one line of JSON.
//!
//! `cargo bench -p berth-audit --bench dump [-- NODES PODS]`

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::disallowed_macros,
    reason = "a bench reads the clock, its arguments and its own memory, and prints"
)]

use std::fmt::Write as _;
use std::io::Read;
use std::time::Instant;

use berth_audit::engine::audit;
use berth_audit::engine::baseline::Baseline;
use berth_audit::rules;
use berth_audit::settings::Settings;
use berth_audit::source::Reader;

fn main() {
    let mut numbers = std::env::args().filter_map(|text| text.parse::<usize>().ok());
    let nodes = numbers.next().unwrap_or(5_000);
    let pods = numbers.next().unwrap_or(150_000);
    let begun = Instant::now();
    let mut reader = Reader::new();
    let mut stream = Stream::new(nodes, pods);
    reader.file("dump.json", &mut stream);
    let n_bytes = stream.n_bytes;
    let dump = reader.finish();
    let read = begun.elapsed();
    let peak_read = peak_mib();
    let rules = rules::all();
    let report = audit(
        &dump,
        &rules,
        &Settings::default(),
        &Baseline::default(),
        None,
    );
    let whole = begun.elapsed();
    assert_eq!(
        dump.objects.pods.len(),
        pods,
        "every pod is read: {:?}",
        dump.coverage.gaps().first()
    );
    println!(
        "{{\"nodes\": {nodes}, \"pods\": {pods}, \"bytes\": {n_bytes}, \"read_s\": {:.2}, \"audit_s\": {:.2}, \"peak_read_mib\": {peak_read}, \"peak_mib\": {}, \"findings\": {}}}",
        read.as_secs_f64(),
        (whole - read).as_secs_f64(),
        peak_mib(),
        report.flat().len()
    );
}

/// Peak resident memory of this process.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap_or_default();
    line.split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .unwrap_or(0)
        / 1024
}

/// A dump that is made while it is read.
struct Stream {
    nodes: usize,
    pods: usize,
    at: usize,
    chunk: String,
    read: usize,
    n_bytes: u64,
}

impl Stream {
    fn new(nodes: usize, pods: usize) -> Self {
        Self {
            nodes,
            pods,
            at: 0,
            chunk: String::new(),
            read: 0,
            n_bytes: 0,
        }
    }

    fn refill(&mut self) {
        self.chunk.clear();
        self.read = 0;
        while self.chunk.len() < 1 << 16 && self.at <= self.nodes + self.pods {
            let at = self.at;
            self.at += 1;
            if at == 0 {
                self.chunk.push_str("{\n    \"kind\": \"NodeList\",\n    \"apiVersion\": \"v1\",\n    \"metadata\": {},\n    \"items\": [\n");
            }
            if at < self.nodes {
                node(&mut self.chunk, at);
                self.chunk.push_str(if at + 1 < self.nodes {
                    ",\n"
                } else {
                    "\n    ]\n}\n"
                });
            } else if at < self.nodes + self.pods {
                let pod_at = at - self.nodes;
                if pod_at == 0 {
                    self.chunk.push_str("{\n    \"kind\": \"PodList\",\n    \"apiVersion\": \"v1\",\n    \"metadata\": {},\n    \"items\": [\n");
                }
                pod(&mut self.chunk, pod_at, self.nodes);
                self.chunk.push_str(if pod_at + 1 < self.pods {
                    ",\n"
                } else {
                    "\n    ]\n}\n"
                });
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.read == self.chunk.len() {
            self.refill();
        }
        let n = buffer.len().min(self.chunk.len() - self.read);
        buffer[..n].copy_from_slice(&self.chunk.as_bytes()[self.read..self.read + n]);
        self.read += n;
        self.n_bytes += n as u64;
        Ok(n)
    }
}

fn node(out: &mut String, i: usize) {
    let (b, c) = (i / 250, i % 250 + 1);
    let _ = write!(out, include_str!("dump/node.json.in"), i = i, b = b, c = c);
}

fn pod(out: &mut String, i: usize, nodes: usize) {
    let (a, b, c) = (i / 62_500, i / 250 % 250, i % 250 + 1);
    let (node, team) = (i % nodes, i % 1000);
    let _ = write!(
        out,
        include_str!("dump/pod.json.in"),
        i = i,
        a = a,
        b = b,
        c = c,
        node = node,
        team = team
    );
}
