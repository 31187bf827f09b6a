//! Places that disagree about the range of pod addresses.

use ipnet::IpNet;

use crate::dump::host::Host;
use crate::dump::meta::Meta;
use crate::dump::place::Place;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BN017",
    name: "pod-range-drift",
    family: Family::Network,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Places that disagree about the range of pod addresses: the snap's `cni-env`, kube-proxy's and the controller manager's `--cluster-cidr`, Calico's pools, and `CALICO_IPV4POOL_CIDR` of calico-node.

## Why it matters
kube-proxy treats pods outside its range as strangers and translates their addresses; after the next re-creation of a pool, new pods get addresses that nothing else knows.

## How it is decided
Every place that the dump has is read. A pool agrees with a flag that contains it. Existing pools rule; `CALICO_IPV4POOL_CIDR` is read only where no pool exists, so a wrong value there waits for that day.

## Fix
Set the other places to the range of the existing pool, and restart kube-proxy.

## False positives
Clusters with several pools on purpose: a place that names one of them agrees.

## References
MicroK8s issue 3876 (an upgrade reset `CALICO_IPV4POOL_CIDR`).
";

/// One place that names the range.
struct Named<'a> {
    net: IpNet,
    what: &'static str,
    source: Source<'a>,
    path: &'static str,
}

enum Source<'a> {
    Host(&'a Host, Place),
    Object(&'a Meta),
}

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut named = of_hosts(cx);
    named.extend(of_calico(cx));
    let pools: Vec<IpNet> = cx
        .ipam()
        .pools
        .iter()
        .map(|pool| pool.net)
        .filter(|net| net.addr().is_ipv4())
        .collect();
    if named.is_empty() || (pools.is_empty() && named.len() < 2) {
        out.not_assessable("two places that name the range of pod addresses");
        return;
    }
    let rulers: Vec<IpNet> = if pools.is_empty() {
        vec![named[0].net]
    } else {
        pools.clone()
    };
    let agrees = |place: &Named<'_>| {
        rulers
            .iter()
            .any(|ruler| *ruler == place.net || (place.what == FLAG && place.net.contains(ruler)))
    };
    let n_wrong = named.iter().filter(|place| !agrees(place)).count();
    if n_wrong == 0 {
        return;
    }
    let ruler: Vec<String> = rulers.iter().map(ToString::to_string).collect();
    let ruler = ruler.join(", ");
    let why = if pools.is_empty() {
        "is named first"
    } else {
        "is in force, as the pool has it"
    };
    let message = format!(
        "{n_wrong} of {} places disagree with {ruler}, which {why}",
        named.len()
    );
    let finding = out.report(Subject::cluster(), message);
    for pool in cx
        .ipam()
        .pools
        .iter()
        .filter(|pool| pool.net.addr().is_ipv4())
    {
        finding.saw(pool.object.meta(), "spec.cidr", pool.net);
    }
    for place in &named {
        let value = format!(
            "{}{}",
            place.net,
            if agrees(place) { "" } else { " (disagrees)" }
        );
        match place.source {
            Source::Host(host, at) => finding.saw_on(host, at, place.path, value),
            Source::Object(meta) => finding.saw(meta, place.path, value),
        };
    }
    finding.fix(
        Applicability::Disruptive,
        format!("set every place to {ruler} and restart kube-proxy"),
    );
}

/// A flag may name a range that contains the pool.
const FLAG: &str = "flag";

fn of_hosts<'a>(cx: &Cx<'a>) -> Vec<Named<'a>> {
    let mut named = Vec::new();
    for host in cx.dump.hosts.values() {
        if let Some(file) = host.file(HostFile::CniEnv) {
            let values = file.lines().filter_map(|(line, text)| {
                let (key, value) = text.trim().trim_start_matches("export ").split_once('=')?;
                let is_pods =
                    key.contains("CLUSTER_CIDR") && !key.contains("v6") && !key.contains("V6");
                let net = value.trim_matches(['"', '\'']).parse::<IpNet>().ok()?;
                is_pods.then_some((line, net))
            });
            for (line, net) in values {
                named.push(Named {
                    net,
                    what: "file",
                    source: Source::Host(host, file.at(line)),
                    path: HostFile::CniEnv.path(),
                });
            }
        }
        for file in [HostFile::ProxyArgs, HostFile::ControllerManagerArgs] {
            let flag = host.args(file).and_then(|args| args.flag("cluster-cidr"));
            let parts = flag.iter().flat_map(|flag| flag.value.split(','));
            for net in parts
                .filter_map(|part| part.trim().parse::<IpNet>().ok())
                .filter(|net| net.addr().is_ipv4())
            {
                let place = flag.map(|flag| flag.place).unwrap_or_default();
                named.push(Named {
                    net,
                    what: FLAG,
                    source: Source::Host(host, place),
                    path: file.path(),
                });
            }
        }
    }
    named
}

fn of_calico<'a>(cx: &Cx<'a>) -> Option<Named<'a>> {
    let sets = &cx.dump.objects.daemon_sets;
    let set = sets.iter().find(|set| set.meta().name == "calico-node")?;
    let containers = set.spec.template.spec.all_containers();
    let value = containers
        .filter_map(|container| container.env("CALICO_IPV4POOL_CIDR"))
        .next()?;
    let net = value.parse().ok()?;
    Some(Named {
        net,
        what: "env",
        source: Source::Object(set.meta()),
        path: "env CALICO_IPV4POOL_CIDR",
    })
}
