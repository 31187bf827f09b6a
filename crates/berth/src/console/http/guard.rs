//! Who is answered: requests without a body that call this machine by a name of its own.
//!
//! A page of another site can make a browser ask this server by a name that it controls (DNS
//! rebinding); the browser then sends that name as the host. Invariant: no name but `localhost` is
//! ever accepted; addresses are, since nobody can rebind those.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use super::api;

/// Hosts that are answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hosts {
    listen: IpAddr,
}

impl Hosts {
    /// The hosts of a server that listens on `address`.
    pub(super) fn of(address: SocketAddr) -> Self {
        Self {
            listen: address.ip(),
        }
    }

    /// Whether a request for `host` is answered. The port may be any: tunnels change it.
    fn accept(self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((inside, after)) if after.is_empty() || after.starts_with(':') => inside,
                _ => return false,
            },
            None => host.split_once(':').map_or(host, |(name, _)| name),
        };
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        // On all addresses at once, any of them may be how this machine is reached.
        name.parse::<IpAddr>()
            .is_ok_and(|ip| ip.is_loopback() || ip == self.listen || self.listen.is_unspecified())
    }
}

/// Lets a request through, or says why not.
pub(super) async fn guard(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().and_then(|host| host.to_str().ok());
    // A target in absolute form has precedence over the header, so it must pass too.
    let authority = request
        .uri()
        .authority()
        .map(axum::http::uri::Authority::as_str);
    let is_ours = host.is_some_and(|host| hosts.accept(host))
        && named.next().is_none()
        && authority.is_none_or(|authority| hosts.accept(authority));
    if !is_ours {
        return api::problem(
            StatusCode::MISDIRECTED_REQUEST,
            "this server answers to localhost and to its own address only",
        );
    }
    if has_body(headers) {
        return api::problem(StatusCode::PAYLOAD_TOO_LARGE, "requests carry no body here");
    }
    next.run(request).await
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers
        .get(header::CONTENT_LENGTH)
        .map(|value| value.as_bytes() != b"0");
    length.unwrap_or(false) || headers.contains_key(header::TRANSFER_ENCODING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_answered_for() {
        let local = Hosts::of("127.0.0.1:8420".parse().unwrap());
        for host in [
            "localhost",
            "LOCALHOST:1",
            "127.0.0.1",
            "127.0.0.1:8420",
            "[::1]:8420",
            "[::1]",
        ] {
            assert!(local.accept(host), "{host}");
        }
        for host in [
            "",
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "localhost@example.org",
            "10.0.0.7:8420",
            "[::1",
            "[::1]x",
            "[localhost]x",
        ] {
            assert!(!local.accept(host), "{host}");
        }
    }

    #[test]
    fn a_server_on_all_addresses_answers_to_any_address_but_to_no_name() {
        let open = Hosts::of("0.0.0.0:8420".parse().unwrap());
        assert!(open.accept("10.0.0.7:8420"));
        assert!(!open.accept("gpu.example.org"));
        let one = Hosts::of("10.0.0.7:8420".parse().unwrap());
        assert!(one.accept("10.0.0.7"));
        assert!(!one.accept("10.0.0.8"));
    }
}
