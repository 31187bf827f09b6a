//! Notebooks that hold GPUs and have not been used for long.

use crate::dump::lenient::Stamp;
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BX007",
    name: "idle-notebook-holds-gpu",
    family: Family::Tenancy,
    severity: Severity::Warning,
    confidence: Confidence::Medium,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Notebook)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Running notebooks with GPUs whose kernels have not worked for longer than `idle-max`.

## Why it matters
The GPUs are taken, and everybody else waits for them.

## How it is decided
The annotation `notebooks.kubeflow.org/last-activity` is older than `idle-max`, a replica is ready, and the notebook is not marked as stopped. Notebooks without the annotation are not judged.

## Fix
Ask the owner, or stop the notebook; its volume stays.

## False positives
Only kernels count as activity: work in a terminal, in VS Code or in RStudio is not seen.

## References
Kubeflow issues 7186, 6920; the notebook controller's culler.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for notebook in &cx.dump.objects.notebooks {
        let meta = notebook.meta();
        let n = gpus::held(&notebook.spec.template.spec);
        let is_running = notebook.status.ready_replicas.0 > 0
            && meta.annotation("kubeflow-resource-stopped").is_none();
        let Some(written) = meta.annotation("notebooks.kubeflow.org/last-activity") else {
            continue;
        };
        let Some(last) = Stamp::parse(written).filter(|_| n > 0 && is_running) else {
            continue;
        };
        let idle = cx.now.since(last.0);
        if idle <= cx.settings.idle_max {
            continue;
        }
        let finding = out.report(
            meta,
            format!("it holds {n} GPU(s) and has been idle for {idle}"),
        );
        let path = "metadata.annotations[notebooks.kubeflow.org/last-activity]";
        finding.saw(meta, path, written);
        finding.caused_by_any("BX006");
        finding.fix(
            Applicability::Disruptive,
            "ask the owner, or stop the notebook",
        );
    }
}
