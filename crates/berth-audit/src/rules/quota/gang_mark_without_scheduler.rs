//! Pods marked as members of a gang and given to a scheduler that knows no gangs.

use std::collections::BTreeMap;

use crate::dump::kind::pod::Pod;
use crate::dump::text::Text;
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BQ003",
    name: "gang-mark-without-scheduler",
    family: Family::Quota,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Pods with a mark of Volcano or KAI whose `schedulerName` is the default scheduler.

## Why it matters
The mark does nothing: members start one by one, and half a job holds its GPUs while it waits for the other half.

## How it is decided
The annotation `scheduling.k8s.io/group-name`, or the labels `kai.scheduler/queue` and `runai/queue`, with `schedulerName` empty or `default-scheduler`. One finding a group.

## Fix
Set `schedulerName` to `volcano` or `kai-scheduler` in the job's template.

## False positives
A default scheduler that was built with a gang plugin, or that another program stands in for.

## References
Volcano documentation, PodGroup; KAI-Scheduler documentation, quick start.
";

/// Marks, which stand as labels or annotations, and the scheduler that reads each.
const MARKS: [(&str, &str); 3] = [
    ("scheduling.k8s.io/group-name", "volcano"),
    ("kai.scheduler/queue", "kai-scheduler"),
    ("runai/queue", "kai-scheduler"),
];

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut groups: BTreeMap<(Subject, &str, &str), Vec<&Pod>> = BTreeMap::new();
    let pods = cx.dump.objects.pods.iter();
    for pod in pods.filter(|pod| !pod.is_finished()) {
        let scheduler = pod.spec.scheduler_name.as_str();
        if !scheduler.is_empty() && scheduler != "default-scheduler" {
            continue;
        }
        let found = MARKS.iter().find_map(|(mark, wanted)| {
            let value = pod
                .meta()
                .annotation(mark)
                .or_else(|| pod.meta().labels.get(mark).map(Text::as_str));
            value.map(|value| (*mark, *wanted, value))
        });
        if let Some((mark, wanted, value)) = found {
            let subject = if wanted == "volcano" {
                Subject::new("PodGroup", &pod.meta().namespace, value)
            } else {
                crate::rules::gpu::stack::owner(pod)
            };
            groups.entry((subject, mark, wanted)).or_default().push(pod);
        }
    }
    for ((subject, mark, wanted), pods) in groups {
        let message = format!(
            "{} pods carry {mark} and go to the default scheduler, which does not read it",
            pods.len()
        );
        let finding = out.report(subject, message);
        for pod in pods {
            finding.saw(pod.meta(), "spec.schedulerName", &pod.spec.scheduler_name);
        }
        finding.fix(
            Applicability::Manual,
            format!("set schedulerName: {wanted} in the template of the job"),
        );
    }
}
