//! A `kubectl cluster-info dump`, made while it is read, so that memory is the audit's own.

use std::fmt::Write as _;
use std::io::Read;

/// A dump that is made while it is read.
pub(crate) struct Stream {
    nodes: usize,
    pods: usize,
    at: usize,
    chunk: String,
    read: usize,
}

impl Stream {
    pub(crate) fn new(nodes: usize, pods: usize) -> Self {
        Self {
            nodes,
            pods,
            at: 0,
            chunk: String::new(),
            read: 0,
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
        Ok(n)
    }
}

/// Node number `i` as JSON, without kind and version as in a list.
pub(crate) fn node(out: &mut String, i: usize) {
    let (b, c) = (i / 250, i % 250 + 1);
    let _ = write!(out, include_str!("node.json.in"), i = i, b = b, c = c);
}

/// Pod number `i` as JSON, on one of so many nodes.
pub(crate) fn pod(out: &mut String, i: usize, nodes: usize) {
    let (a, b, c) = (i / 62_500, i / 250 % 250, i % 250 + 1);
    let (node, team) = (i % nodes, i % 1000);
    let _ = write!(
        out,
        include_str!("pod.json.in"),
        i = i,
        a = a,
        b = b,
        c = c,
        node = node,
        team = team
    );
}
