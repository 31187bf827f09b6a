//! A runtime class whose handler containerd does not know.

use std::collections::BTreeMap;

use crate::dump::host::{Host, HostText, containerd};
use crate::dump::kind::pod::Pod;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BG001",
    name: "runtime-handler-missing",
    family: Family::Gpu,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::File(HostFile::ContainerdTemplate),
        Need::Some(Kind::Pod),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods that ask for a runtime class whose handler is not declared in containerd's settings on some host.

## Why it matters
The pods never start: containerd answers `no runtime for \"nvidia\" is configured`, the GPU operator stays in Init, and the node shows 0 GPUs.

## How it is decided
Handlers declared in `args/containerd-template.toml` are compared with the runtime classes that pods name, by the class's handler where RuntimeClasses are in the dump, else by its name.
The rendered `args/containerd.toml` is written anew from the template at every start, so a handler that stands only there is lost with the next one; that is said too.

## Fix
Declare the handler in the template (the operator's toolkit needs `CONTAINERD_CONFIG` set to the template's path) and restart containerd.

## False positives
Operators that drop files into an imported folder; a template that imports one is not judged.

## References
MicroK8s issues 448, 2575, 5229; GPU operator issues 7, 173.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut wanted: BTreeMap<&str, Vec<&Pod>> = BTreeMap::new();
    for pod in cx
        .dump
        .objects
        .pods
        .iter()
        .filter(|pod| !pod.spec.runtime_class_name.is_empty())
    {
        let class = pod.spec.runtime_class_name.as_str();
        let known = cx.dump.objects.runtime_classes.get("", class);
        let handler = known.map_or(class, |known| known.handler.as_str());
        wanted.entry(handler).or_default().push(pod);
    }
    for host in cx.dump.hosts.values() {
        let Some(template) = host.file(HostFile::ContainerdTemplate) else {
            continue;
        };
        if template
            .text
            .lines()
            .any(|line| line.trim_start().starts_with("imports"))
        {
            out.not_assessable(format!(
                "{} imports further settings that the dump lacks",
                host.name
            ));
            continue;
        }
        let declared = containerd::runtimes(template);
        for (handler, pods) in &wanted {
            if declared.iter().all(|runtime| runtime.handler != *handler) {
                report(out, host, template, handler, pods);
            }
        }
    }
}

fn report(out: &mut Findings<'_>, host: &Host, template: &HostText, handler: &str, pods: &[&Pod]) {
    let declared = containerd::runtimes(template);
    let names: Vec<&str> = declared.iter().map(|runtime| runtime.handler).collect();
    let names = names.join(", ");
    let rendered = host
        .file(HostFile::ContainerdConfig)
        .map(containerd::runtimes);
    let is_rendered =
        rendered.is_some_and(|all| all.iter().any(|runtime| runtime.handler == handler));
    let hint = if is_rendered {
        "; it stands in the rendered file only and is lost at the next start"
    } else {
        ""
    };
    let message = format!("runtime handler {handler} is not declared (declared: {names}){hint}");
    let finding = out.report(host, message);
    let place = declared
        .last()
        .map_or(template.place, |runtime| runtime.place);
    finding.saw_on(host, place, HostFile::ContainerdTemplate.path(), names);
    for pod in pods.iter().take(3) {
        finding.saw(
            pod.meta(),
            "spec.runtimeClassName",
            &pod.spec.runtime_class_name,
        );
    }
    let fix = format!(
        "declare the handler {handler} in containerd-template.toml, not in containerd.toml, and restart containerd"
    );
    finding.fix(Applicability::Disruptive, fix);
}
