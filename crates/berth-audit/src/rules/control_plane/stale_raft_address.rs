//! A dqlite member whose address is not one of its host.

use std::net::IpAddr;

use crate::dump::host::journal::Needle;
use crate::dump::host::{Host, tables};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM003",
    name: "stale-raft-address",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::DqliteInfo)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts whose own dqlite member has an address, or a name, that the host does not have.

## Why it matters
After a change of address or name, the store still announces the old one. Its peers cannot reach it, and the host logs `no available dqlite leader server found` without end; nothing else points at the cause.

## How it is decided
`Address` in `dqlite/info.yaml` is compared with the addresses in `network/ip-addr` (or `ifconfig`). A name is compared with the host's name and with names and addresses of nodes. The loopback address of a single host is no fault.

## Fix
Stop MicroK8s on the host, write the present address into `info.yaml` and, on every member, into `cluster.yaml`, then start it again; or give the host its old address back.

## False positives
Addresses that only a load balancer or address translation in front of the host has.

## References
MicroK8s issue 5524.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for host in cx.dump.hosts.values() {
        let Some(own) = host.dqlite().own else {
            continue;
        };
        let Some(shown) = host
            .file(HostFile::IpAddr)
            .or_else(|| host.file(HostFile::Ifconfig))
        else {
            out.not_assessable(format!("addresses of {}", host.name));
            continue;
        };
        let addresses = tables::addresses(shown);
        if addresses.is_empty() {
            out.not_assessable(format!("no readable address of {}", host.name));
            continue;
        }
        let wanted = own.host();
        let by_address = wanted.parse::<IpAddr>().ok();
        let is_there = match by_address {
            Some(address) => address.is_loopback() || addresses.contains(&address),
            None => is_known_name(cx, host, wanted),
        };
        if is_there {
            continue;
        }
        let own_addresses = addresses.iter().filter(|address| !address.is_loopback());
        let own_addresses: Vec<String> = own_addresses.map(ToString::to_string).collect();
        let finding = out.report(
            host,
            format!("its store announces {wanted}, which is not of this host"),
        );
        if by_address.is_none() {
            finding.confidence(Confidence::Medium);
        }
        finding.saw_on(host, own.place, "Address", own.address);
        finding.saw_on(host, shown.place, "inet", own_addresses.join(", "));
        for line in host.journal.of(Needle::NoDqliteLeader).take(1) {
            finding.saw_on(host, line.place, "journal", &line.text);
        }
        finding.fix(Applicability::Disruptive, FIX);
    }
}

const FIX: &str = "stop MicroK8s on the host, write its present address into info.yaml and into cluster.yaml \
    of every member, and start it again; or give it the old address back";

/// A name is right where it is the host's or where the cluster knows a node by it.
fn is_known_name(cx: &Cx<'_>, host: &Host, wanted: &str) -> bool {
    let first = |name: &str| {
        name.split('.')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
    };
    let is_node = cx.dump.objects.nodes.iter().any(|node| {
        node.meta().name == wanted
            || node
                .status
                .addresses
                .iter()
                .any(|address| address.address == wanted)
    });
    is_node || wanted == "localhost" || first(wanted) == first(&host.name)
}
