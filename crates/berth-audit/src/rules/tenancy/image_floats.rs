//! GPU pods whose image is whatever a name points to today.

use std::collections::BTreeMap;

use crate::dump::kind::pod::{Container, Pod};
use crate::rule::prelude::*;
use crate::rules::workload::gpus;

pub(super) const RULE: Rule = Rule {
    code: "BX009",
    name: "gpu-image-floats",
    family: Family::Tenancy,
    severity: Severity::Info,
    confidence: Confidence::High,
    since: "0.1.0",
    status: Status::Preview,
    needs: &[Need::Some(Kind::Pod)],
    manual: MANUAL,
    check,
};

const MANUAL: &str = "\
## What it finds
GPU pods with an image `:latest` or without a tag, one finding a namespace.

## Why it matters
What a scanner judged is not what runs: the name may point elsewhere by the next pull. A training that is evicted goes on with another version, on another node even beside the old one.

## How it is decided
The image of a container with GPUs has no digest and the tag `latest` or none. Other tags are left alone, although they can be moved too. Pods of the system are left out.

## Fix
Name a digest, or a tag that is never moved.

## False positives
None known.

## References
Kubernetes documentation, images and configuration good practices.
";

fn check(cx: &Cx<'_>, out: &mut Findings<'_>) {
    let mut found: BTreeMap<&str, Vec<(&Pod, &Container)>> = BTreeMap::new();
    for pod in cx.dump.objects.pods.iter().filter(|pod| !pod.is_finished()) {
        if gpus::held(&pod.spec) == 0 || gpus::is_of_system(pod.meta()) {
            continue;
        }
        let mut containers = pod.spec.containers.iter();
        if let Some(container) = containers.find(|container| floats(&container.image)) {
            found
                .entry(&pod.meta().namespace)
                .or_default()
                .push((pod, container));
        }
    }
    for (namespace, pods) in found {
        let n = pods.len();
        let message = format!("{n} pod(s) with GPUs run whatever their image points to today");
        let finding = out.report(Subject::new("Namespace", "", namespace), message);
        for (pod, container) in pods {
            let path = format!("spec.containers[{}].image", container.name);
            finding.saw(pod.meta(), &path, &container.image);
        }
        finding.fix(
            Applicability::Disruptive,
            "name a digest, or a tag that is never moved",
        );
    }
}

/// True for `name`, `name:latest` and `host:5000/name`.
fn floats(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    let tag = last.split_once(':').map(|(_, tag)| tag);
    !image.is_empty() && !image.contains('@') && matches!(tag, None | Some("latest" | ""))
}
