//! A range of service addresses that ends before the users do.

use std::net::IpAddr;

use super::program::{Program, programs};
use crate::dump::coverage::Extent;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM005",
    name: "service-range-too-small",
    family: Family::ControlPlane,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Ranges of service addresses that are nearly full, or that cannot give one address to every user.

## Why it matters
Each notebook, each endpoint and each inference service takes one. When the range is used up, creating a Service fails for everybody, and a range cannot be exchanged while Services live in it.

## How it is decided
`--service-cluster-ip-range` of `kube-apiserver` gives the number of addresses; two are not for Services. Services in the dump with an address in it are counted. It is reported when `pool-full-percent` of them are in use, and when there are fewer addresses in all than `users`.

## Fix
New clusters: at least a /20 for 1,000 users. Running ones: add a second range with a ServiceCIDR object (Kubernetes 1.33 or newer), or plan the change with the migration.

## False positives
Sites whose users have no notebooks or Services of their own; set `users` to the number that have.

## References
MicroK8s default arguments (10.152.183.0/24); Kubernetes, ServiceCIDR (KEP-1880).
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let servers = programs(cx, HostFile::ApiServerArgs, "kube-apiserver");
    let ranges = servers
        .iter()
        .filter_map(|server| Some((server, server.flag(RANGE)?)));
    let mut seen = Vec::new();
    let mut n_unread = 0;
    for (server, flag) in ranges {
        for text in flag.split(',') {
            let Some(range) = Range::parse(text.trim()) else {
                n_unread += 1;
                continue;
            };
            if !seen.contains(&range) {
                judge(cx, out, server, &range);
                seen.push(range);
            }
        }
    }
    if seen.is_empty() {
        let why = if n_unread > 0 { "no readable" } else { "no" };
        out.not_assessable(format!(
            "{why} --service-cluster-ip-range of kube-apiserver"
        ));
    }
}

const RANGE: &str = "service-cluster-ip-range";

fn judge(cx: &Cx<'_>, out: &mut Findings<'_>, server: &Program<'_>, range: &Range) {
    let services = cx.dump.objects.services.iter();
    let n_used = services.filter(|service| {
        let spec = &service.spec;
        spec.cluster_ips
            .iter()
            .chain([&spec.cluster_ip])
            .any(|address| range.holds(address))
    });
    let n_used = i64::try_from(n_used.count()).unwrap_or(i64::MAX);
    let capacity = range.capacity();
    let users = cx.settings.users;
    let percent = n_used.saturating_mul(100) / capacity.max(1);
    let is_full = percent >= cx.settings.pool_full_percent;
    if !is_full && capacity >= users {
        return;
    }
    let mut message = if cx.dump.coverage.extent(Kind::Service) == Extent::Absent {
        format!("there are {capacity} service addresses")
    } else {
        format!("{n_used} of {capacity} service addresses are in use ({percent} %)")
    };
    if capacity < users {
        message += &format!(", and {users} users are to have one each");
    }
    let finding = out.report(Subject::cluster(), message);
    if n_used >= capacity {
        finding.severity(Severity::Error);
    }
    server.saw(finding, RANGE, &range.text);
    finding.fix(
        Applicability::Manual,
        "add a range with a ServiceCIDR object (Kubernetes 1.33 or newer), or plan a larger one with the migration",
    );
}

/// A range of addresses.
#[derive(PartialEq, Eq)]
struct Range {
    text: String,
    base: IpAddr,
    prefix: u32,
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let (base, prefix) = text.split_once('/')?;
        let base: IpAddr = base.parse().ok()?;
        let prefix = prefix.parse().ok()?;
        let bits = if base.is_ipv4() { 32 } else { 128 };
        (prefix <= bits).then(|| Self {
            text: text.to_owned(),
            base,
            prefix,
        })
    }

    /// Addresses for Services; the first is of the range itself, and IPv4 has a last one.
    fn capacity(&self) -> i64 {
        let bits = if self.base.is_ipv4() { 32 } else { 128 } - self.prefix;
        let all = 1_i64.checked_shl(bits).filter(|_| bits < 62);
        all.map_or(i64::MAX, |all| (all - 2).max(0))
    }

    fn holds(&self, address: &str) -> bool {
        match (self.base, address.parse()) {
            (IpAddr::V4(base), Ok(IpAddr::V4(address))) => {
                let mask = u32::MAX.checked_shl(32 - self.prefix).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            (IpAddr::V6(base), Ok(IpAddr::V6(address))) => {
                let mask = u128::MAX.checked_shl(128 - self.prefix).unwrap_or(0);
                base.to_bits() & mask == address.to_bits() & mask
            }
            _ => false,
        }
    }
}
