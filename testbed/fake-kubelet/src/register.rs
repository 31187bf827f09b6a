//! Makes the nodes, their leases and slices, and keeps the leases fresh.
//!
//! Invariant: an object that is there already is brought to what it should be, so that a process may
//! be restarted on the same cluster.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceSlice};
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use crate::object::{self, Offer};
use crate::shape::FakeNode;

/// Nodes that are registered at the same time: enough to keep an API server busy, few enough
/// connections for any limit.
const NODES_IN_FLIGHT: usize = 64;
/// Leases that are renewed at the same time.
const LEASES_IN_FLIGHT: usize = 16;
/// What a kubelet writes into its lease.
const LEASE_SECONDS: u64 = 40;
/// A kubelet renews every ten seconds.
const RENEW_EVERY_MIN: usize = 10;
/// The node controller gives up on a node after 50 seconds.
const RENEW_EVERY_MAX: usize = 30;
/// Beyond this many renewals a second the interval grows, so that leases do not become the load.
const RENEWALS_PER_SECOND: usize = 100;
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Registers every node; they are ready when this returns.
pub(crate) async fn register(
    client: &Client,
    nodes: &[FakeNode<'_>],
    offer: Offer,
) -> anyhow::Result<()> {
    if offer == Offer::ResourceSlices {
        let classes = Api::<DeviceClass>::all(client.clone());
        ensure(&classes, object::GPU_DRIVER, object::device_class()).await?;
    }
    stream::iter(nodes)
        .map(|node| register_one(client, node, offer))
        .buffer_unordered(NODES_IN_FLIGHT)
        .try_collect()
        .await
}

async fn register_one(client: &Client, node: &FakeNode<'_>, offer: Offer) -> anyhow::Result<()> {
    let now = Timestamp::now();
    let nodes = Api::<Node>::all(client.clone());
    let leases = Api::<Lease>::namespaced(client.clone(), LEASE_NAMESPACE);
    let lease = object::lease(&node.name, LEASE_SECONDS, now);
    ensure(&leases, &node.name, lease).await?;
    let wanted = object::node(node, offer, now);
    let is_new = ensure(&nodes, &node.name, wanted.clone()).await?;
    if !is_new {
        let status = json!({"status": wanted["status"]});
        let patch = Patch::Strategic(status);
        nodes
            .patch_status(&node.name, &PatchParams::default(), &patch)
            .await
            .with_context(|| format!("unable to refresh the status of node {}", node.name))?;
    }
    // Admission gives new nodes a taint that the node controller takes away when they are ready;
    // it may not be there, and these nodes are ready at once.
    let untaint = Patch::Merge(json!({"spec": {"taints": null}}));
    nodes
        .patch(&node.name, &PatchParams::default(), &untaint)
        .await
        .with_context(|| format!("unable to take the taint off node {}", node.name))?;
    if offer == Offer::ResourceSlices && node.shape.gpus > 0 {
        let slices = Api::<ResourceSlice>::all(client.clone());
        let slice = object::slice(node);
        let name = slice["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        ensure(&slices, &name, slice).await?;
    }
    Ok(())
}

/// Makes an object; false where one of the name was there already.
async fn ensure<K>(api: &Api<K>, name: &str, wanted: Value) -> anyhow::Result<bool>
where
    K: Resource + Clone + std::fmt::Debug + DeserializeOwned + Serialize,
{
    let object: K = serde_json::from_value(wanted).context("an object of our own making")?;
    match api.create(&PostParams::default(), &object).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error).with_context(|| format!("unable to make {name}")),
    }
}

/// Renews the leases of all nodes for ever, a slice of them every second.
pub(crate) async fn keep_leases(client: &Client, names: &[String]) {
    let leases = Api::<Lease>::namespaced(client.clone(), LEASE_NAMESPACE);
    let every = renew_every(names.len());
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let per_second = names.len().div_ceil(every).max(1);
    loop {
        for batch in names.chunks(per_second) {
            tick.tick().await;
            stream::iter(batch)
                .map(|name| renew(&leases, name))
                .buffer_unordered(LEASES_IN_FLIGHT)
                .collect::<()>()
                .await;
        }
        if names.is_empty() {
            tick.tick().await;
        }
    }
}

async fn renew(leases: &Api<Lease>, name: &str) {
    let patch = Patch::Merge(object::renewal(Timestamp::now()));
    if let Err(error) = leases.patch(name, &PatchParams::default(), &patch).await {
        // The next round tries again; a node that stays away is the API server's to notice.
        eprintln!("unable to renew the lease of node {name}: {error}");
    }
}

/// Seconds between two renewals of one lease.
fn renew_every(n_nodes: usize) -> usize {
    let seconds = n_nodes.div_ceil(RENEWALS_PER_SECOND);
    seconds.clamp(RENEW_EVERY_MIN, RENEW_EVERY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_of_many_nodes_are_renewed_less_often_but_in_time() {
        assert_eq!(renew_every(1), 10);
        assert_eq!(renew_every(1_000), 10);
        assert_eq!(renew_every(2_000), 20);
        assert_eq!(renew_every(10_000), 30);
    }
}
