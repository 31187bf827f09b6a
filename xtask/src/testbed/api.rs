//! The API of a testbed in plain HTTP: `kubectl proxy` on a socket of its own keeps the keys.
//!
//! Invariant: a request is one connection and has a time limit, so that nothing here waits for ever;
//! the proxy ends with its owner. Not here: types of objects, which are JSON as the server sends it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::Testbed;

/// Longest wait for an answer; a loaded API server takes seconds.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// Longest wait for the proxy to listen.
const PROXY_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(20);

/// A running proxy.
#[derive(Debug)]
pub(crate) struct Api {
    proxy: Child,
    socket: PathBuf,
}

/// What the server said.
#[derive(Debug)]
pub(crate) struct Answer {
    pub code: u16,
    pub body: Value,
}

/// The kinds of requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
    /// A merge patch.
    Merge,
}

impl Api {
    pub(crate) fn start(testbed: &Testbed) -> anyhow::Result<Self> {
        let socket = testbed.folder().join("proxy.socket");
        let proxy = testbed
            .kubectl()
            .args(["proxy", "--keepalive=10s", "--unix-socket"])
            .arg(&socket)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("unable to start kubectl proxy")?;
        let api = Self { proxy, socket };
        let deadline = Instant::now() + PROXY_WITHIN;
        while UnixStream::connect(&api.socket).is_err() {
            anyhow::ensure!(Instant::now() < deadline, "kubectl proxy does not listen");
            std::thread::sleep(POLL);
        }
        Ok(api)
    }

    /// Where it is asked, without keys.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Reads an object; anything but success is an error.
    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.require(Verb::Get, path, &Value::Null)
    }

    /// The items of a list.
    pub(crate) fn list(&self, path: &str) -> anyhow::Result<Vec<Value>> {
        match self.get(path)?["items"].take() {
            Value::Array(items) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    /// Sends a request that has to succeed.
    pub(crate) fn require(&self, verb: Verb, path: &str, body: &Value) -> anyhow::Result<Value> {
        let answer = self.send(verb, path, body)?;
        if !(200..300).contains(&answer.code) {
            let why = answer.body["message"].as_str().unwrap_or_default();
            bail!("{verb:?} {path}: {} {why}", answer.code);
        }
        Ok(answer.body)
    }

    /// Sends a request, whatever the answer is.
    pub(crate) fn send(&self, verb: Verb, path: &str, body: &Value) -> anyhow::Result<Answer> {
        let mut stream = self.ask(verb, path, body, "application/json")?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        let bytes = bytes.as_slice();
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let head = head.with_context(|| format!("no answer to {verb:?} {path}"))?;
        let code = code(&String::from_utf8_lossy(&bytes[..head]))?;
        // What is no JSON is a message of the proxy: the server can't be reached.
        let body = &bytes[head + 4..];
        let text = || Value::String(String::from_utf8_lossy(body).into_owned());
        let body = serde_json::from_slice(body).unwrap_or_else(|_| text());
        Ok(Answer { code, body })
    }

    /// Follows a path with `watch=1`; lines come as they are sent.
    pub(crate) fn watch(&self, path: &str, accept: &str) -> anyhow::Result<Watch> {
        let stream = self.ask(Verb::Get, path, &Value::Null, accept)?;
        let stopper = stream.try_clone()?;
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let code = code(&first)?;
        anyhow::ensure!(code == 200, "watch {path}: {code}");
        let mut header = String::from("-");
        while !header.trim().is_empty() {
            header.clear();
            reader.read_line(&mut header)?;
        }
        Ok(Watch { reader, stopper })
    }

    fn ask(
        &self,
        verb: Verb,
        path: &str,
        body: &Value,
        accept: &str,
    ) -> anyhow::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket).context("kubectl proxy has ended")?;
        let (method, kind) = match verb {
            Verb::Get => ("GET", "json"),
            Verb::Post => ("POST", "json"),
            Verb::Delete => ("DELETE", "json"),
            Verb::Merge => ("PATCH", "merge-patch+json"),
        };
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        // Of version 1.0, so that the end of the answer is the end of the connection.
        let request = format!(
            "{method} {path} HTTP/1.0\r\nHost: localhost\r\nAccept: {accept}\r\n\
             Content-Type: application/{kind}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        Ok(stream)
    }
}

impl Drop for Api {
    fn drop(&mut self) {
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

/// What a watch sends.
#[derive(Debug)]
pub(crate) struct Watch {
    reader: BufReader<UnixStream>,
    stopper: UnixStream,
}

impl Watch {
    /// The next event; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let n = self.reader.read_line(&mut line).ok()?;
        if n == 0 {
            return None;
        }
        serde_json::from_str(&line).ok()
    }

    /// Ends the watch when nothing has come for so long.
    pub(crate) fn set_patience(&self, patience: Duration) -> anyhow::Result<()> {
        self.stopper.set_read_timeout(Some(patience))?;
        Ok(())
    }

    /// A handle by which another thread ends the watch.
    pub(crate) fn stopper(&self) -> anyhow::Result<UnixStream> {
        Ok(self.stopper.try_clone()?)
    }
}

fn code(head: &str) -> anyhow::Result<u16> {
    let code = head.split_whitespace().nth(1);
    let code = code.and_then(|code| code.parse().ok());
    code.with_context(|| format!("{head:?} is no answer of HTTP"))
}

#[cfg(test)]
mod tests {
    use super::code;

    #[test]
    fn code_is_read_from_the_first_line() {
        assert_eq!(code("HTTP/1.0 404 Not Found\r\nDate: today").unwrap(), 404);
        assert!(code("").is_err());
    }
}
