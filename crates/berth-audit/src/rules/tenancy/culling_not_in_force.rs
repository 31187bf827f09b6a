//! A notebook controller that does not stop idle notebooks as its settings seem to say.

use berth_core::time::Span;

use crate::dump::kind::kubeflow::Notebook;
use crate::dump::kind::pod::Container;
use crate::dump::kind::workload::Deployment;
use crate::dump::lenient::Stamp;
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BX006",
    name: "culling-not-in-force",
    family: Family::Tenancy,
    severity: Severity::Warning,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Deployment)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Notebook controllers of Kubeflow that cull no idle notebooks, later than `idle-max`, or under names of settings that they no longer read.

## Why it matters
A notebook holds its GPUs from start to stop. Old names are ignored without a word: people set 5 minutes and get 24 hours.

## How it is decided
The environment of the controller's container: `ENABLE_CULLING` (default false), `CULL_IDLE_TIME` in minutes (default 1440). `IDLE_TIME`, `CULLING_CHECK_PERIOD` and `DEFAULT_IDLE_TIME` are the names of old releases. Values that come from ConfigMaps are looked up in maps of the namespace with `notebook-controller` in their name. Notebooks with GPUs that have been idle for longer than the old names ask for, or than `idle-max`, are named.

## Fix
Set `ENABLE_CULLING` to true and `CULL_IDLE_TIME` to the minutes that are meant.

## False positives
Sites that stop idle notebooks by another program; releases before the names were changed read the old ones.

## References
Kubeflow issues 7053, 5635; the notebook controller's culler.
";

const OLD_NAMES: [&str; 3] = ["IDLE_TIME", "CULLING_CHECK_PERIOD", "DEFAULT_IDLE_TIME"];
const LAST_ACTIVITY: &str = "notebooks.kubeflow.org/last-activity";
/// What the culler takes where nothing is said.
const DEFAULT_MINUTES: i64 = 1440;

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    for deployment in &cx.dump.objects.deployments {
        let containers = deployment.spec.template.spec.containers.iter();
        let mut controllers =
            containers.filter(|container| container.image.contains("notebook-controller"));
        if let Some(container) = controllers.next() {
            judge(cx, out, deployment, container);
        }
    }
}

/// A setting of the controller.
enum Value<'a> {
    Unset,
    Given(&'a str),
    /// It comes from an object that the dump lacks.
    Elsewhere,
}

fn value<'a>(
    cx: &'a Cx<'_>,
    deployment: &Deployment,
    container: &'a Container,
    name: &str,
) -> Value<'a> {
    let own = container.env(name);
    if let Some(value) = own.filter(|value| !value.is_empty()) {
        return Value::Given(value);
    }
    let mut maps = cx.dump.objects.config_maps.iter().filter(|map| {
        map.meta().namespace == deployment.meta().namespace
            && map.meta().name.contains("notebook-controller")
    });
    match (maps.find_map(|map| map.data.get(name)), own) {
        (Some(value), _) => Value::Given(value),
        (None, Some(_)) => Value::Elsewhere,
        (None, None) => Value::Unset,
    }
}

fn judge(cx: &Cx<'_>, out: &mut Findings<'_>, deployment: &Deployment, container: &Container) {
    let enabled = value(cx, deployment, container, "ENABLE_CULLING");
    let minutes = value(cx, deployment, container, "CULL_IDLE_TIME");
    let (is_on, written) = match enabled {
        Value::Given(text) => (text.eq_ignore_ascii_case("true"), text),
        Value::Unset => (false, "(none)"),
        Value::Elsewhere => {
            let name = deployment.meta().full_name();
            out.not_assessable(format!(
                "ENABLE_CULLING of {name} comes from an object that the dump lacks"
            ));
            return;
        }
    };
    let (effective, written_minutes) = match minutes {
        Value::Given(text) => (text.parse().unwrap_or(DEFAULT_MINUTES), text),
        Value::Unset => (DEFAULT_MINUTES, "(none)"),
        Value::Elsewhere => {
            let name = deployment.meta().full_name();
            out.not_assessable(format!(
                "CULL_IDLE_TIME of {name} comes from an object that the dump lacks"
            ));
            return;
        }
    };
    let old: Vec<&str> = OLD_NAMES
        .into_iter()
        .filter(|name| container.env(name).is_some())
        .collect();
    let is_late = Span::from_mins(effective) > cx.settings.idle_max;
    let message = match (is_on, old.is_empty()) {
        (false, _) => "idle notebooks are never stopped: culling is off".to_owned(),
        (true, false) => format!(
            "{} mean nothing to it; idle notebooks stop after {effective} min",
            old.join(", ")
        ),
        (true, true) if is_late => format!(
            "idle notebooks stop after {effective} min, later than the {} that the site allows",
            cx.settings.idle_max
        ),
        (true, true) => return,
    };
    let finding = out.report(deployment.meta(), message);
    let env = |name: &str| {
        format!(
            "spec.template.spec.containers[{}].env[{name}]",
            container.name
        )
    };
    finding.saw(deployment.meta(), &env("ENABLE_CULLING"), written);
    finding.saw(deployment.meta(), &env("CULL_IDLE_TIME"), written_minutes);
    for name in old {
        finding.saw(
            deployment.meta(),
            &env(name),
            container.env(name).unwrap_or_default(),
        );
    }
    if written == "(none)" {
        // The variables may come from a whole ConfigMap, which the record does not show.
        finding.confidence(Confidence::Medium);
    }
    for notebook in idle(cx, container) {
        finding.also(notebook.meta());
    }
    finding.fix(
        Applicability::Disruptive,
        "set ENABLE_CULLING to true and CULL_IDLE_TIME to the minutes that are meant",
    );
}

/// Notebooks that hold GPUs and have been idle for longer than was meant.
fn idle<'a>(cx: &Cx<'a>, container: &Container) -> impl Iterator<Item = &'a Notebook> {
    let intended = OLD_NAMES.iter().find_map(|name| {
        let minutes = container
            .env(name)
            .filter(|_| name.ends_with("IDLE_TIME"))?;
        minutes.parse().ok().map(Span::from_mins)
    });
    let intended = intended.unwrap_or(cx.settings.idle_max);
    let now = cx.now;
    cx.dump.objects.notebooks.iter().filter(move |notebook| {
        let last = notebook
            .meta()
            .annotation(LAST_ACTIVITY)
            .and_then(Stamp::parse);
        let is_idle = last.is_some_and(|last| now.since(last.0) > intended);
        is_idle && gpus::held(&notebook.spec.template.spec) > 0
    })
}
