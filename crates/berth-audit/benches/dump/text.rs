//! Texts that dumps are full of: log lines, and objects as YAML.

use berth_core::stream::Stream;
use serde_json::Value;

/// A line of a container's log: a time, an identity that no compression shortens, and words.
pub(crate) fn log_line(draws: &mut Stream, number: usize, out: &mut String) {
    const SAYINGS: [&str; 5] = [
        "level=info msg=\"reconciled object\" controller=notebook duration=0.0231",
        "level=info msg=\"GET /api/kernels\" status=200 agent=\"culler/1.9\" bytes=482",
        "level=warning msg=\"object was modified, trying again\" controller=profile attempt=2",
        "level=info msg=\"leader lease renewed\" holder=controller-manager-7d9f",
        "level=debug msg=\"cache hit\" group=apps kind=Deployment version=v1",
    ];
    let words = SAYINGS[number % SAYINGS.len()];
    *out += &format!(
        "{} {words} request={:016x}\n",
        time(number),
        draws.next_u64()
    );
}

/// A line of a unit's journal.
pub(crate) fn journal_line(draws: &mut Stream, unit: &str, number: usize, out: &mut String) {
    const SAYINGS: [&str; 5] = [
        "operationExecutor.VerifyControllerAttachedVolume started for volume \"workspace\" pod",
        "\"SyncLoop (PLEG): event for pod\" pod=\"team-7/notebook-7-0\" event=ContainerStarted id",
        "Trace: \"Update\" url:/apis/coordination.k8s.io/v1/namespaces/kube-node-lease audit-id",
        "http: TLS handshake error from 10.200.0.9:39162: EOF request",
        "\"Observed pod startup duration\" pod=\"team-9/notebook-9-0\" podStartSLOduration=2.31 id",
    ];
    let (second, words) = (number / 3, SAYINGS[number % SAYINGS.len()]);
    *out += &format!(
        "Jan {:02} {:02}:{:02}:{:02} gpu-1 microk8s.daemon-{unit}[2214]: I0110 {words}={:016x}\n",
        second / 86_400 + 10,
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        draws.next_u64()
    );
}

/// An object that stands in a JSON list, as YAML that stands alone.
pub(crate) fn yaml_object(kind: &str, json: &str) -> String {
    let value: Value = serde_json::from_str(json).expect("the template is JSON");
    let mut text = format!("apiVersion: v1\nkind: {kind}\n");
    yaml(&value, 0, &mut text);
    text
}

/// JSON as YAML in the block style of Kubernetes' tools.
fn yaml(value: &Value, indent: usize, out: &mut String) {
    let blanks = " ".repeat(indent);
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                *out += &format!("{blanks}{key}:");
                nested(value, indent, out);
            }
        }
        Value::Array(elements) => {
            for element in elements {
                let mut inner = String::new();
                yaml(element, indent + 2, &mut inner);
                *out += &format!("{blanks}- {}", inner.trim_start());
            }
        }
        scalar => *out += &format!("{blanks}{scalar}\n"),
    }
}

fn nested(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(fields) if fields.is_empty() => *out += " {}\n",
        Value::Array(elements) if elements.is_empty() => *out += " []\n",
        Value::Object(_) => {
            out.push('\n');
            yaml(value, indent + 2, out);
        }
        Value::Array(_) => {
            out.push('\n');
            yaml(value, indent, out);
        }
        scalar => *out += &format!(" {scalar}\n"),
    }
}

fn time(number: usize) -> String {
    let second = number / 7;
    format!(
        "2026-01-{:02}T{:02}:{:02}:{:02}.{:09}Z",
        second / 86_400 % 28 + 1,
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        number % 7 * 139_000_001
    )
}
