//! A host whose components meet an expired certificate.

use crate::dump::host::journal::Needle;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BM014",
    name: "certificate-expired",
    family: Family::ControlPlane,
    severity: Severity::Error,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Hosts whose journals say `certificate has expired`.

## Why it matters
Whoever presents the certificate is shut out: a kubelet that no longer reports, webhooks that block every change, or an API that nobody can reach. MicroK8s issues certificates for a year or for ten, depending on the version that made them, and refreshes none by itself.

## How it is decided
The text in journals of the services, which name the peer. Dumps hold no certificates, so the day of expiry cannot be told in advance.

## Fix
`microk8s refresh-certs --check` shows the days that are left; `microk8s refresh-certs -e server.crt` (or `front-proxy-client.crt`, `ca.crt`) makes new ones. kubeadm: `kubeadm certs renew all`. A new CA needs every node to join again.

## False positives
The certificate may be of a registry or another service outside the cluster, or the clock of this host may be wrong; the line shows which.

## References
MicroK8s `refresh-certs`; kubeadm certificate management.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut n_read = 0;
    for host in cx.dump.hosts.values() {
        n_read += host.journal.n_read;
        let lines: Vec<_> = host.journal.of(Needle::CertificateExpired).collect();
        let Some(last) = lines.last() else {
            continue;
        };
        let finding = out.report(
            host,
            format!(
                "its components meet an expired certificate (lines in its journals: {})",
                lines.len()
            ),
        );
        finding.saw_on(host, last.place, "journal", &last.text);
        finding.caused_by("BH009", Subject::new("Node", "", &host.name));
        finding.fix(
            Applicability::Disruptive,
            "see which certificate the line means; those of the cluster are made anew with `microk8s refresh-certs` or `kubeadm certs renew`",
        );
    }
    if n_read == 0 {
        out.not_assessable("a journal of a host");
    }
}
