//! An API server that misbehaves: a proxy before the true one that refuses, hangs, loses answers and
//! cuts watches, as a seed has it.
//!
//! Invariant: the true server either gets a request whole or not at all, and what it answers is passed
//! on byte by byte or lost; nothing is made up but refusals. One request a connection, one thread a
//! connection; all end with their owner. Not here: who is to bear it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

use super::Testbed;
use super::api::Api;

/// How long a request hangs: longer than any client should wait.
const HANG: Duration = Duration::from_secs(15);
/// How long a watch lasts before it is cut.
const WATCH_LASTS: Duration = Duration::from_secs(2);
/// The longest that a slow answer takes.
const SLOW_MS_MAX: u64 = 300;
/// The largest head or body of a request.
const REQUEST_BYTES_MAX: u64 = 4 << 20;
/// Longest wait for the rest of a request, and for the server to take it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A way to misbehave.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Fault {
    /// Too many requests.
    Busy,
    /// Somebody else wrote at the same time (writes only).
    Conflict,
    Internal,
    Unavailable,
    /// No answer, ever.
    Hang,
    /// It is done, and nobody is told.
    AnswerLost,
    Slow,
    /// The connection ends in the middle of a watch (watches only).
    WatchCut,
    /// The version that a watch is to start from is forgotten (watches only).
    VersionForgotten,
}

/// How often each fault comes, in a thousand requests that it could meet.
type Rates = &'static [(Fault, u64)];

/// Of all kinds, and so many that a tenth of all writes fails at first.
const RATES: Rates = &[
    (Fault::Busy, 40),
    (Fault::Conflict, 30),
    (Fault::Internal, 30),
    (Fault::Unavailable, 20),
    (Fault::Hang, 4),
    (Fault::AnswerLost, 30),
    (Fault::Slow, 60),
    (Fault::WatchCut, 400),
    (Fault::VersionForgotten, 200),
];

/// The proxy.
#[derive(Debug)]
pub(crate) struct Faulty {
    shared: Arc<Shared>,
    address: SocketAddr,
    kubeconfig: PathBuf,
}

#[derive(Debug)]
struct Shared {
    /// Where the true server is asked.
    server: PathBuf,
    seed: u64,
    n_requests: AtomicU64,
    is_quiet: AtomicBool,
    has_ended: AtomicBool,
    /// How often each fault was done.
    done: Mutex<Vec<Fault>>,
}

impl Faulty {
    /// Starts to misbehave as `seed` has it, before the server of `api`.
    pub(crate) fn start(testbed: &Testbed, api: &Api, seed: u64) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            server: api.socket().to_owned(),
            seed,
            n_requests: AtomicU64::new(0),
            is_quiet: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            done: Mutex::default(),
        });
        let kubeconfig = testbed.folder().join(format!("faulty-{seed}.kubeconfig"));
        std::fs::write(&kubeconfig, kubeconfig_for(address))?;
        let accepting = Arc::clone(&shared);
        thread::Builder::new()
            .name("faulty".to_owned())
            .spawn(move || accept(&listener, &accepting))?;
        Ok(Self {
            shared,
            address,
            kubeconfig,
        })
    }

    /// The kubeconfig of whoever is to bear it.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Behaves from now on.
    pub(crate) fn behave(&self) {
        self.shared.is_quiet.store(true, Ordering::SeqCst);
    }

    /// How often each fault was done, in words.
    pub(crate) fn tally(&self) -> String {
        let mut done = self.shared.done().clone();
        done.sort_unstable();
        let parts = done.chunk_by(|a, b| a == b);
        let parts: Vec<_> = parts
            .map(|same| format!("{:?} {}", same[0], same.len()))
            .collect();
        let n = self.shared.n_requests.load(Ordering::SeqCst);
        format!("{n} requests, {}", parts.join(", "))
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::SeqCst);
        // Wakes the one that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn done(&self) -> std::sync::MutexGuard<'_, Vec<Fault>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What happens to the next request.
    fn next(&self, request: &Request) -> Option<Fault> {
        let n = self.n_requests.fetch_add(1, Ordering::SeqCst);
        if self.is_quiet.load(Ordering::SeqCst) {
            return None;
        }
        let mut chance = mixed(self.seed ^ mixed(n)) % 1_000;
        for &(fault, rate) in RATES {
            if !request.can_meet(fault) {
                continue;
            }
            if chance < rate {
                self.done().push(fault);
                return Some(fault);
            }
            chance -= rate;
        }
        None
    }
}

/// The bits of `value`, well mixed (the last step of SplitMix64).
fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn kubeconfig_for(address: SocketAddr) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: faulty\n\
         clusters: [{{name: faulty, cluster: {{server: \"http://{address}\"}}}}]\n\
         users: [{{name: anybody, user: {{}}}}]\n\
         contexts: [{{name: faulty, context: {{cluster: faulty, user: anybody}}}}]\n"
    )
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.has_ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let shared = Arc::clone(shared);
        // Whoever speaks to it bears what goes wrong here like any other fault.
        let spawned = thread::Builder::new().spawn(move || drop(serve(stream, &shared)));
        drop(spawned);
    }
}

/// A request as it came.
#[derive(Debug)]
struct Request {
    head: String,
    body: Vec<u8>,
}

impl Request {
    fn read(stream: &TcpStream) -> anyhow::Result<Self> {
        let mut reader = BufReader::new(stream.take(REQUEST_BYTES_MAX));
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            let n = reader.read_line(&mut head)?;
            anyhow::ensure!(n > 0, "a request without an end");
        }
        let mut lengths = head.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then_some(value)
        });
        let length = lengths
            .next_back()
            .map_or(Ok(0), |text| text.trim().parse())?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        Ok(Self { head, body })
    }

    fn is_write(&self) -> bool {
        !self.head.starts_with("GET ")
    }

    fn is_watch(&self) -> bool {
        let line = self.head.lines().next().unwrap_or_default();
        line.contains("watch=1") || line.contains("watch=true")
    }

    fn can_meet(&self, fault: Fault) -> bool {
        match fault {
            Fault::Conflict => self.is_write(),
            Fault::WatchCut | Fault::VersionForgotten => self.is_watch(),
            Fault::Busy
            | Fault::Internal
            | Fault::Unavailable
            | Fault::Hang
            | Fault::AnswerLost
            | Fault::Slow => true,
        }
    }

    /// Hands it to the true server, as the only one of its connection.
    fn pass_on(&self, server: &Path) -> anyhow::Result<UnixStream> {
        let mut stream = UnixStream::connect(server).context("the server's proxy has ended")?;
        let head = self.head.trim_end();
        let lines = head.lines().filter(|line| {
            let name = line.split(':').next().unwrap_or_default();
            !name.eq_ignore_ascii_case("connection") && !name.eq_ignore_ascii_case("host")
        });
        let lines: Vec<&str> = lines.collect();
        let head = lines.join("\r\n");
        write!(
            stream,
            "{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )?;
        stream.write_all(&self.body)?;
        Ok(stream)
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    let request = Request::read(&stream)?;
    match shared.next(&request) {
        None => answer(&request, stream, shared, None),
        Some(Fault::Busy) => refuse(&mut stream, 429, "TooManyRequests", "Retry-After: 1\r\n"),
        Some(Fault::Conflict) => refuse(&mut stream, 409, "Conflict", ""),
        Some(Fault::Internal) => refuse(&mut stream, 500, "InternalError", ""),
        Some(Fault::Unavailable) => refuse(&mut stream, 503, "ServiceUnavailable", ""),
        Some(Fault::Hang) => {
            thread::sleep(HANG);
            Ok(())
        }
        Some(Fault::AnswerLost) => {
            // A watch would be followed for ever.
            if !request.is_watch() {
                let mut answer = request.pass_on(&shared.server)?;
                answer.set_read_timeout(Some(PATIENCE))?;
                answer.read_to_end(&mut Vec::new())?;
            }
            Ok(())
        }
        Some(Fault::Slow) => {
            let n = shared.n_requests.load(Ordering::SeqCst);
            thread::sleep(Duration::from_millis(mixed(n) % SLOW_MS_MAX));
            answer(&request, stream, shared, None)
        }
        Some(Fault::WatchCut) => answer(&request, stream, shared, Some(WATCH_LASTS)),
        Some(Fault::VersionForgotten) => {
            let event = format!(
                "{{\"type\":\"ERROR\",\"object\":{}}}\n",
                status(410, "Expired")
            );
            write(&mut stream, 200, "", &event)
        }
    }
}

/// Passes the answer on, at most for so long.
fn answer(
    request: &Request,
    mut stream: TcpStream,
    shared: &Shared,
    lasts: Option<Duration>,
) -> anyhow::Result<()> {
    let mut server = request.pass_on(&shared.server)?;
    if let Some(lasts) = lasts {
        let end = server.try_clone()?;
        thread::spawn(move || {
            thread::sleep(lasts);
            let _ = end.shutdown(Shutdown::Both);
        });
    }
    // A client that goes away ends what it has asked for.
    let (client, end) = (stream.try_clone()?, server.try_clone()?);
    client.set_read_timeout(None)?;
    thread::spawn(move || {
        let _ = (&client).read(&mut [0]);
        let _ = end.shutdown(Shutdown::Both);
    });
    std::io::copy(&mut server, &mut stream)?;
    let _ = stream.shutdown(Shutdown::Both);
    Ok(())
}

fn refuse(stream: &mut TcpStream, code: u16, reason: &str, headers: &str) -> anyhow::Result<()> {
    write(stream, code, headers, &status(code, reason))
}

fn status(code: u16, reason: &str) -> String {
    serde_json::json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": format!("made up by the test: {reason}"),
        "reason": reason,
        "code": code,
    })
    .to_string()
}

fn write(stream: &mut TcpStream, code: u16, headers: &str, body: &str) -> anyhow::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {code} x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {headers}Connection: close\r\n\r\n{body}"
    )?;
    Ok(())
}
