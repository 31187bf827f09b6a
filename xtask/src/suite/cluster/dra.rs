//! Device claims.

use serde_json::json;

use super::case::{Case, Cx};
use super::object::{pod, with};

pub(super) const CASES: &[Case] = &[Case {
    name: "a claim that no device meets says so and disturbs nobody",
    run: no_device,
}];

fn no_device(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let class = json!({
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": cx.unique("none.example.com")},
        "spec": {},
    });
    let name = cx.unique("none.example.com");
    cx.make_global("/apis/resource.k8s.io/v1/deviceclasses", &class)?;
    let claim = json!({
        "metadata": {"name": "device"},
        "spec": {"devices": {"requests": [
            {"name": "one", "exactly": {"deviceClassName": name}},
        ]}},
    });
    cx.make("resource.k8s.io/v1:resourceclaims", &claim)?;
    let claims = json!({"spec": {"resourceClaims": [
        {"name": "device", "resourceClaimName": "device"},
    ]}});
    cx.pod(&with(pod("user", 0), &claims))?;
    cx.until("the pod told to wait", |seen| {
        seen.n_waiting("user", "Unschedulable") == 1
    })?;
    cx.settle()
}
