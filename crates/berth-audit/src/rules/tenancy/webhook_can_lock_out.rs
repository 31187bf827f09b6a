//! Webhooks that stop the whole cluster when their own pods are down.

use crate::dump::kind::webhook::{Webhook, WebhookConfiguration};
use crate::rule::prelude::*;

pub(super) const RULE: Rule = Rule {
    code: "BX001",
    name: "webhook-can-lock-out",
    family: Family::Tenancy,
    severity: Severity::Error,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::ValidatingWebhookConfiguration)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
Admission webhooks that refuse pods when they can't be reached (`failurePolicy: Fail`), are served from inside the cluster, and do not leave out their own namespace.

## Why it matters
After a power cut no pod can start, the webhook's own pods included, until somebody deletes the configuration by hand.

## How it is decided
A webhook with `Fail` (the default) and a service, whose rules cover the creation of pods, and whose namespace and object selectors are both empty.

## Fix
Exclude the webhook's namespace and `kube-system` with a `namespaceSelector`, or use `failurePolicy: Ignore` for checks that may be late.

## False positives
Selectors that name other labels are believed to leave the own namespace out.

## References
Kubernetes documentation, good practices for admission webhooks.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let objects = &cx.dump.objects;
    for configuration in objects
        .validating_webhooks
        .iter()
        .chain(&objects.mutating_webhooks)
    {
        for (index, webhook) in configuration.webhooks.iter().enumerate() {
            if can_lock_out(webhook) {
                report(out, configuration, index, webhook);
            }
        }
    }
}

fn report(
    out: &mut Findings<'_>,
    configuration: &WebhookConfiguration,
    index: usize,
    webhook: &Webhook,
) {
    let service = webhook
        .client_config
        .service
        .as_ref()
        .map(|s| format!("{}/{}", s.namespace, s.name))
        .unwrap_or_default();
    let message = format!(
        "no pod can start while its webhook {} is down, the webhook's own included",
        webhook.name
    );
    let finding = out.report(configuration.meta(), message);
    let meta = configuration.meta();
    finding.saw(meta, &format!("webhooks[{index}].failurePolicy"), "Fail");
    finding.saw(
        meta,
        &format!("webhooks[{index}].clientConfig.service"),
        service,
    );
    finding.saw(meta, &format!("webhooks[{index}].namespaceSelector"), "{}");
    finding.fix(
        Applicability::Safe,
        "exclude kube-system and the webhook's own namespace with a namespaceSelector",
    );
}

fn can_lock_out(webhook: &Webhook) -> bool {
    let is_empty = |selector: &crate::dump::meta::Selector| {
        selector.match_labels.is_empty() && selector.match_expressions.is_empty()
    };
    let has = |list: &[crate::dump::text::Text], word: &str| {
        list.iter()
            .any(|text| text == word || text == "*" || text == "*/*")
    };
    let covers_pods = webhook.rules.iter().any(|rule| {
        (has(&rule.api_groups, "") || has(&rule.api_groups, "*"))
            && has(&rule.resources, "pods")
            && has(&rule.operations, "CREATE")
    });
    webhook.failure_policy != "Ignore"
        && webhook.client_config.service.is_some()
        && is_empty(&webhook.namespace_selector)
        && is_empty(&webhook.object_selector)
        && covers_pods
}
