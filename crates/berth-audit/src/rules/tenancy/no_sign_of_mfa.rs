//! API servers that know no login which could carry a second factor.

use crate::dump::host::args::Args;
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BX008",
    name: "no-sign-of-mfa",
    family: Family::Tenancy,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::File(HostFile::ApiServerArgs), Need::Some(Kind::Node)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Clusters with GPUs whose API servers know no way to log in that could carry proof of a second factor.

## Why it matters
Certificates and static tokens are one factor, are copied with a file, and a certificate can't be revoked. A cluster of GPUs is what stolen ones are used for first.

## How it is decided
No API server in the dump has `--authentication-config`, `--oidc-issuer-url` or `--authentication-token-webhook-config-file`, and at least one node offers GPUs. That such a way exists proves nothing yet: whether the provider asks for a second factor stands in its tokens.

## Fix
Log people in through an identity provider with `--authentication-config`, and require `amr` or `acr` in its rules.

## False positives
A proxy in front that logs people in and impersonates them, or one that hands out certificates for minutes.

## References
Kubernetes documentation, authenticating; RFC 8176, RFC 9470.
";

const WAYS: [&str; 3] = [
    "authentication-config",
    "oidc-issuer-url",
    "authentication-token-webhook-config-file",
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut offered = cx
        .dump
        .objects
        .nodes
        .iter()
        .flat_map(|node| node.status.allocatable.iter());
    let has_gpus = offered.any(|(name, amount)| gpus::is_gpu(name) && amount.units() > 0);
    let servers: Vec<_> = cx
        .dump
        .hosts
        .values()
        .filter_map(|host| {
            let file = host.file(HostFile::ApiServerArgs)?;
            // Workers of MicroK8s have the file with nothing in it.
            let is_server = file
                .text
                .lines()
                .any(|line| line.trim_start().starts_with("--"));
            is_server.then(|| (host, Args::parse(&file.text, file.place)))
        })
        .collect();
    let has_way = servers
        .iter()
        .any(|(_, args)| WAYS.iter().any(|way| args.flag(way).is_some()));
    if servers.is_empty() || !has_gpus || has_way {
        return;
    }
    let finding = out.report(
        Subject::cluster(),
        "people log in with certificates or static tokens only, which carry no second factor",
    );
    for (host, args) in &servers {
        let missing = args.or_default(WAYS[0], "(none)");
        finding.saw_on(
            host,
            missing.place,
            "--authentication-config",
            missing.value,
        );
        if let Some(tokens) = args.flag("token-auth-file") {
            finding.saw_on(host, tokens.place, "--token-auth-file", tokens.value);
        }
    }
    finding.fix(
        Applicability::Manual,
        "log people in through an identity provider (--authentication-config) that asks for a second factor",
    );
}
