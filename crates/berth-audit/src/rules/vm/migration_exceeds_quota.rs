//! Quotas without room for the second pod that a migration needs.

use crate::dump::kind::kubevirt::VirtualMachineInstance;
use crate::dump::kind::pod::Pod;
use crate::dump::kind::quota::ResourceQuota;
use crate::dump::quantity::Quantity;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BV006",
    name: "migration-exceeds-quota",
    family: Family::Vm,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[
        Need::Some(Kind::VirtualMachineInstance),
        Need::Some(Kind::Pod),
        Need::Some(Kind::ResourceQuota),
    ],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Quotas whose room is smaller than what the pod of a migratable machine asks for.

## Why it matters
While a machine moves it has two pods, and both are charged. A refused target makes no pod at all, so none of KubeVirt's time limits apply: the migration stays Pending for ever, and so does the drain behind it.

## How it is decided
For each running machine that can be migrated, the requests and limits of its launcher pod are compared with `status.hard - status.used` of the quotas in its namespace. Machines that are moving now, and quotas with scopes, are left out. Init containers are not counted in limits.

## Fix
Keep room for the largest machine in each quota, or count machines with a quota that knows migrations.

## False positives
Installations that raise the quota while a machine moves, as Harvester does.

## References
KubeVirt issues 9238, 14957; Harvester issue 3124; Kubernetes documentation, resource quotas.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for quota in &cx.dump.objects.resource_quotas {
        if !quota.spec.scopes.is_empty() {
            continue;
        }
        let stuck: Vec<Stuck<'_>> = cx
            .dump
            .objects
            .vm_instances
            .iter()
            .filter(|machine| machine.meta().namespace == quota.meta().namespace)
            .filter(|machine| machine.is_running() && machine.is_migratable())
            .filter_map(|machine| stuck(quota, machine, launcher(cx, machine)?))
            .collect();
        if let Some(worst) = stuck.first() {
            report(out, quota, &stuck, worst);
        }
    }
}

/// A machine that can't get its second pod.
struct Stuck<'a> {
    machine: &'a VirtualMachineInstance,
    key: &'a str,
    need: Quantity,
    used: Quantity,
    hard: Quantity,
}

/// The machine's only pod; `None` where it has none or moves now.
fn launcher<'a>(cx: &Cx<'a>, machine: &VirtualMachineInstance) -> Option<&'a Pod> {
    let is_own = |pod: &&&Pod| {
        pod.meta().namespace == machine.meta().namespace
            && pod.meta().owners.iter().any(|owner| {
                owner.kind == "VirtualMachineInstance" && owner.name == machine.meta().name
            })
    };
    let mut own = cx.pods_on(&machine.status.node_name).iter().filter(is_own);
    let first = own.next()?;
    own.next().is_none().then_some(*first)
}

fn stuck<'a>(
    quota: &'a ResourceQuota,
    machine: &'a VirtualMachineInstance,
    pod: &Pod,
) -> Option<Stuck<'a>> {
    quota.status.hard.iter().find_map(|(key, hard)| {
        let hard = Quantity::parse(hard)?;
        let used = Quantity::parse(quota.status.used.get(key)?)?;
        let need = need(pod, key)?;
        let room = hard.milli().saturating_sub(used.milli());
        let key = key.as_str();
        (need.milli() > room.max(0)).then_some(Stuck {
            machine,
            key,
            need,
            used,
            hard,
        })
    })
}

/// What a pod is charged under a key; `None` for keys that pods are not charged under.
fn need(pod: &Pod, key: &str) -> Option<Quantity> {
    if let Some(resource) = key.strip_prefix("limits.") {
        let limits = pod.spec.containers.iter().filter_map(|container| {
            container
                .resources
                .limits
                .get(resource)
                .map(|limit| limit.milli())
        });
        return Some(Quantity::from_milli(limits.fold(0, i64::saturating_add)));
    }
    match key {
        "pods" | "count/pods" => Some(Quantity::from_units(1)),
        "cpu" | "memory" => Some(pod.spec.request(key)),
        key => Some(pod.spec.request(key.strip_prefix("requests.")?)),
    }
}

fn report(out: &mut Findings<'_>, quota: &ResourceQuota, stuck: &[Stuck<'_>], worst: &Stuck<'_>) {
    let Stuck {
        machine,
        key,
        need,
        used,
        hard,
    } = worst;
    let short = need
        .milli()
        .saturating_add(used.milli())
        .saturating_sub(hard.milli());
    let message = format!(
        "{} machine(s) can't be migrated: {} needs {need} of {key} a second time, {} too much",
        stuck.len(),
        machine.meta().name,
        Quantity::from_milli(short)
    );
    let finding = out.report(quota.meta(), message);
    finding.saw(quota.meta(), &format!("status.hard[{key}]"), hard);
    finding.saw(quota.meta(), &format!("status.used[{key}]"), used);
    for stuck in stuck {
        finding.also(stuck.machine.meta());
    }
    let fix = format!("keep {need} of {key} free for migrations");
    finding.fix(Applicability::Safe, fix);
}
