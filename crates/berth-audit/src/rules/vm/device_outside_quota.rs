//! Machines whose GPUs go by a name that no quota counts.

use std::collections::BTreeSet;

use crate::dump::kind::kubevirt::InstanceSpec;
use crate::dump::meta::Meta;
use crate::dump::text::Text;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV004",
    name: "vm-device-outside-quota",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachineInstance),
        Need::Every(Kind::ResourceQuota),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Machines with a GPU or vGPU whose resource name is in no quota of their namespace, while a quota there does limit another resource of the same vendor.

## Why it matters
Every passed-through model and every vGPU profile is a resource of its own. A team at its limit of `requests.nvidia.com/gpu` starts machines with `nvidia.com/GA102GL_A10` without end.

## How it is decided
Device names of the instance are looked up as `requests.NAME` in the namespace's quotas. Namespaces whose quotas name no resource of that vendor are left alone: there, nobody meant to limit GPUs.

## Fix
Add `requests.NAME` for every device that `permittedHostDevices` lists to each quota, with 0 where it is not meant to be used.

## False positives
Sites that limit machines by an admission webhook or by a quota of another project.

## References
Kubernetes documentation, resource quotas for extended resources; KubeVirt documentation, host devices.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for machine in &cx.dump.objects.vm_instances {
        judge(cx, out, machine.meta(), &machine.spec);
    }
}

fn judge(cx: &Cx<'_>, out: &mut Findings<'_>, machine: &Meta, spec: &InstanceSpec) {
    let quotas: Vec<_> = cx
        .dump
        .objects
        .resource_quotas
        .iter()
        .filter(|quota| quota.meta().namespace == machine.namespace)
        .collect();
    let keys: BTreeSet<&str> = quotas
        .iter()
        .flat_map(|quota| quota.spec.hard.iter())
        .filter_map(|(key, _)| key.strip_prefix("requests."))
        .collect();
    let names: BTreeSet<&str> = spec.device_names().map(Text::as_str).collect();
    for name in names {
        let vendor = name.split_once('/').map_or("", |(vendor, _)| vendor);
        let is_of_vendor = |key: &&&str| key.split_once('/').is_some_and(|(own, _)| own == vendor);
        let Some(counted) = keys.iter().find(is_of_vendor) else {
            continue;
        };
        if keys.contains(name) {
            continue;
        }
        let n = spec.device_names().filter(|device| *device == name).count();
        let message =
            format!("its {n} x {name} counts against no quota, though {counted} is limited here");
        let finding = out.report(machine, message);
        finding.saw(machine, "spec.domain.devices", format!("{n} x {name}"));
        for quota in &quotas {
            if let Some(hard) = quota.spec.hard.get(&format!("requests.{counted}")) {
                finding.saw(
                    quota.meta(),
                    &format!("spec.hard[requests.{counted}]"),
                    hard,
                );
            }
        }
        let fix = format!("add requests.{name} to the quotas of the namespace");
        finding.fix(Applicability::Safe, fix);
    }
}
