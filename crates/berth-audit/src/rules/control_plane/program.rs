//! Flags of the control plane's programs: argument files of hosts, or commands of static pods.
//!
//! Invariant: a host that is known to be a worker does not count, since MicroK8s gives every host the
//! argument files of all programs.

use std::fmt;

use berth_core::time::Span;

use crate::dump::host::Host;
use crate::dump::host::args::Args;
use crate::dump::kind::pod::{Container, Pod};
use crate::finding::Finding;
use crate::rule::prelude::*;

/// One running copy of a program.
pub(super) enum Program<'a> {
    /// Its arguments stand in a file of a host.
    OfHost(&'a Host, Args<'a>),
    /// Its arguments are the command of a pod.
    OfPod(&'a Pod, &'a Container),
}

/// Every copy of the program `name`, whose argument file is `file`.
pub(super) fn programs<'a>(cx: &Cx<'a>, file: HostFile, name: &str) -> Vec<Program<'a>> {
    let is_worker = |host: &Host| {
        let node = cx.dump.objects.nodes.get("", &host.name);
        node.is_some_and(|node| !node.is_control_plane())
    };
    let hosts = cx.dump.hosts.values().filter(|host| !is_worker(host));
    let of_hosts = hosts.filter_map(|host| host.args(file).map(|args| Program::OfHost(host, args)));
    let pods = cx.dump.objects.pods.iter();
    let pods = pods.filter(|pod| pod.meta().namespace == "kube-system" && !pod.is_finished());
    let of_pods = pods.filter_map(|pod| {
        let container = pod
            .spec
            .containers
            .iter()
            .find(|container| container.name == name)?;
        Some(Program::OfPod(pod, container))
    });
    of_hosts.chain(of_pods).collect()
}

impl<'a> Program<'a> {
    /// The value of a flag without its dashes.
    pub(super) fn flag(&self, flag: &str) -> Option<&'a str> {
        match self {
            Self::OfHost(_, args) => args.flag(flag).map(|flag| flag.value),
            Self::OfPod(_, container) => {
                let words = container.command.iter().chain(&container.args);
                words.rev().find_map(|word| {
                    let (name, value) = word.as_str().strip_prefix("--")?.split_once('=')?;
                    (name == flag).then_some(value)
                })
            }
        }
    }

    /// A flag as a duration, or what the program takes where it is not given.
    pub(super) fn duration(&self, flag: &str, default: Span) -> Span {
        self.flag(flag).and_then(duration).unwrap_or(default)
    }

    /// Adds a flag to the evidence.
    pub(super) fn saw(&self, finding: &mut Finding, flag: &str, value: impl fmt::Display) {
        let path = format!("--{flag}");
        match self {
            Self::OfHost(host, args) => {
                finding.saw_on(host, args.or_default(flag, "").place, &path, value);
            }
            Self::OfPod(pod, _) => {
                finding.saw(
                    pod.meta(),
                    &format!("spec.containers[].command {path}"),
                    value,
                );
            }
        }
    }
}

/// A duration as Go writes it: `1m30s`, `100ms`, `1.5h`.
pub(super) fn duration(text: &str) -> Option<Span> {
    let mut rest = text.trim();
    let mut total_ms = 0.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        rest = &rest[end..];
        let end = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        total_ms += number
            * match &rest[..end] {
                "h" => 3_600_000.0,
                "m" => 60_000.0,
                "s" => 1000.0,
                "ms" => 1.0,
                _ => return None,
            };
        rest = &rest[end..];
    }
    Some(Span::from_ms(total_ms as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_reads_them() {
        let ms = |text| duration(text).map(Span::as_ms);
        assert_eq!(ms("1m30s"), Some(90_000));
        assert_eq!(ms("100ms"), Some(100));
        assert_eq!(ms("1.5h"), Some(5_400_000));
        assert_eq!(ms("60"), None);
        assert_eq!(ms("soon"), None);
    }
}
