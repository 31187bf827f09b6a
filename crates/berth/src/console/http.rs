//! The server: health, metrics, the API and a page.
//!
//! Invariants: one request a connection, a bounded number of connections, and a bounded time for
//! each; only names of this machine are answered, so that a page of another site can't read it by
//! DNS rebinding; nothing can be changed through it. Not here: logins. It listens on the loopback
//! address unless told otherwise.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::runtime::{self, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::Front;
use crate::service::control::Control;

mod api;
mod guard;
mod page;
#[cfg(test)]
mod tests;

use guard::Hosts;

/// Connections answered at a time; further ones wait in the kernel's queue. Some browsers and a
/// metrics collector need a handful.
const CONNECTIONS_MAX: usize = 64;

/// How long a client may take to send the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

/// How long a connection may last in all.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(15);

/// The largest head of a request: some cookies of other local servers, and no more.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// Threads that answer.
const WORKERS: usize = 2;

/// How long answers in progress get when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// How long to wait after the system refused a connection (out of file descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Headers of every answer: nothing is loaded from elsewhere, framed, guessed or kept.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CACHE_CONTROL, "no-store"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// What handlers share.
#[derive(Debug, Clone)]
struct Shared {
    front: watch::Receiver<Front>,
}

impl Shared {
    fn front(&self) -> Front {
        self.front.borrow().clone()
    }
}

/// The running server.
#[derive(Debug)]
pub(crate) struct Server {
    runtime: Runtime,
    address: SocketAddr,
}

impl Server {
    /// Serves what is in `front` on `listener`, and stops `control` on SIGINT and SIGTERM.
    ///
    /// # Errors
    /// If the machine gives no threads, or the listener can't be used.
    pub(crate) fn start(
        listener: TcpListener,
        front: watch::Receiver<Front>,
        control: Arc<Control>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("berth-http")
            .enable_all()
            .build()?;
        let app = app(Shared { front }, Hosts::of(address));
        let (listener, signals) = {
            let _inside = runtime.enter();
            (
                tokio::net::TcpListener::from_std(listener)?,
                Signals::take()?,
            )
        };
        // The runtime owns both tasks: they end with it.
        runtime.spawn(accept(listener, app));
        runtime.spawn(signals.stop(control));
        Ok(Self { runtime, address })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, and answering after a moment.
    pub(crate) fn stop(self) {
        self.runtime.shutdown_timeout(STOP_TIMEOUT);
    }
}

fn app(shared: Shared, hosts: Hosts) -> Router {
    Router::new()
        .route("/", get(page::page))
        .route("/style.css", get(page::style))
        .route("/healthz", get(api::healthz))
        .route("/readyz", get(api::readyz))
        .route("/metrics", get(api::metrics))
        .route("/api/v1/snapshot", get(api::snapshot))
        .fallback(|| async { api::problem(StatusCode::NOT_FOUND, "there is no such page") })
        .with_state(shared)
        .layer(middleware::from_fn_with_state(hosts, guard::guard))
        .layer(middleware::from_fn(with_headers))
}

async fn with_headers(request: axum::extract::Request, next: Next) -> Response {
    let mut response = next.run(request).await.into_response();
    for (name, value) in HEADERS {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn accept(listener: tokio::net::TcpListener, app: Router) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        // Nobody closes the semaphore, so a permit always comes.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        connections.spawn(async move {
            let _permit = permit;
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .max_buf_size(HEAD_BYTES_MAX)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), service);
            // Whether a client went away or was too slow: there is nobody left to tell.
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, served).await;
        });
    }
}

/// The signals that ask a process to end.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Takes over the signals; from here on none of them ends the process by itself.
    fn take() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self {
            interrupt,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn stop(mut self, control: Arc<Control>) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        control.stop();
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn take() -> io::Result<Self> {
        Ok(Self)
    }

    async fn stop(self, control: Arc<Control>) {
        if tokio::signal::ctrl_c().await.is_ok() {
            control.stop();
        }
    }
}
