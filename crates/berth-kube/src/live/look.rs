//! A look at a cluster: the index as a scheduler would have it, without the right to write.
//!
//! The same watches and the same feed as the scheduler's, until every kind has been told once; then
//! the watches end. Invariant: nothing is written, and an index that lacks a kind is never handed
//! out. Not here: cycles and words.

use std::time::Duration;

use berth_core::model::draft::Draft;
use berth_core::time::Time;
use futures_util::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::change::Kind;
use super::clock::Clock;
use super::feed::{Feed, Names};
use super::watch;
use crate::lower::{GroupDialect, POD_GROUPS};

/// A cluster as it was when everything had been told.
#[derive(Debug)]
pub struct Looked {
    /// What the index was made of.
    pub feed: Feed,
    /// The index.
    pub draft: Draft,
    /// When that was.
    pub now: Time,
}

/// Why there is nothing to see.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error("unable to ask the API server: {0}")]
    Api(#[from] kube::Error),
    #[error("this account may not watch {}", words(.0))]
    Forbidden(Vec<Kind>),
    #[error("within {within:?} the API server has not told of {}", words(.missing))]
    Late {
        within: Duration,
        missing: Vec<Kind>,
    },
}

/// Takes in the whole cluster, as a scheduler of `names` would.
///
/// # Errors
/// If this account may not watch everything that a scheduler has to know, or it has not been told
/// within `patience`.
pub async fn look(client: &Client, names: Names, patience: Duration) -> Result<Looked, LookError> {
    let mut feed = Feed::new(names);
    let mut draft = Draft::new();
    let clock = Clock::start();
    let Ok(looked) = timeout(patience, take_in(client, &mut feed, &mut draft, clock)).await else {
        let missing = feed.unsynced().collect();
        let within = patience;
        return Err(LookError::Late { within, missing });
    };
    looked?;
    let now = clock.now();
    draft.facts_mut().now = now;
    Ok(Looked { feed, draft, now })
}

async fn take_in(
    client: &Client,
    feed: &mut Feed,
    draft: &mut Draft,
    clock: Clock,
) -> Result<(), LookError> {
    let forbidden = forbidden(client).await?;
    if !forbidden.is_empty() {
        return Err(LookError::Forbidden(forbidden));
    }
    let (sender, mut changes) = mpsc::channel(watch::CHANGES_MAX);
    // The watches end with this function.
    let mut tasks = JoinSet::new();
    let follow = async {
        watch::follow_all(client, &sender, &mut tasks).await?;
        Ok(())
    };
    let listen = async {
        while !feed.is_synced()
            && let Some(change) = changes.recv().await
        {
            feed.apply(draft, change, clock.now());
        }
        Ok(())
    };
    tokio::try_join!(follow, listen).map(|((), ())| ())
}

/// The kinds that this account may not watch everywhere.
async fn forbidden(client: &Client) -> Result<Vec<Kind>, kube::Error> {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let questions = Kind::ALL.into_iter().map(|kind| {
        let api = &api;
        async move {
            let (group, resource) = resource(kind);
            let review = SelfSubjectAccessReview {
                spec: SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(ResourceAttributes {
                        group: Some(group.to_owned()),
                        resource: Some(resource.to_owned()),
                        verb: Some("watch".to_owned()),
                        ..ResourceAttributes::default()
                    }),
                    ..SelfSubjectAccessReviewSpec::default()
                },
                ..SelfSubjectAccessReview::default()
            };
            let answer = api.create(&PostParams::default(), &review).await?;
            let is_allowed = answer.status.is_some_and(|status| status.allowed);
            Ok::<_, kube::Error>((!is_allowed).then_some(kind))
        }
    });
    let answers = try_join_all(questions).await?;
    Ok(answers.into_iter().flatten().collect())
}

/// The API group and the plural of a kind, as roles name them.
#[must_use]
pub const fn resource(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Namespace => ("", "namespaces"),
        Kind::Node => ("", "nodes"),
        Kind::CsiNode => ("storage.k8s.io", "csinodes"),
        Kind::PersistentVolumeClaim => ("", "persistentvolumeclaims"),
        Kind::PersistentVolume => ("", "persistentvolumes"),
        Kind::StorageClass => ("storage.k8s.io", "storageclasses"),
        Kind::CsiDriver => ("storage.k8s.io", "csidrivers"),
        Kind::CsiStorageCapacity => ("storage.k8s.io", "csistoragecapacities"),
        Kind::VolumeAttachment => ("storage.k8s.io", "volumeattachments"),
        Kind::ResourceClaim => ("resource.k8s.io", "resourceclaims"),
        Kind::ResourceSlice => ("resource.k8s.io", "resourceslices"),
        Kind::DeviceClass => ("resource.k8s.io", "deviceclasses"),
        Kind::DeviceTaintRule => ("resource.k8s.io", "devicetaintrules"),
        Kind::Queue => ("berth.dev", "queues"),
        Kind::GpuGrant => ("berth.dev", "gpugrants"),
        Kind::PodGroup(GroupDialect::Core) => ("scheduling.k8s.io", POD_GROUPS),
        Kind::PodGroup(GroupDialect::Plugins) => ("scheduling.x-k8s.io", POD_GROUPS),
        Kind::PodGroup(GroupDialect::Volcano) => ("scheduling.volcano.sh", POD_GROUPS),
        Kind::PodGroup(GroupDialect::Kai) => ("scheduling.run.ai", POD_GROUPS),
        Kind::Pod => ("", "pods"),
    }
}

/// Kinds named in a message; of more, it says how many.
const NAMED_MAX: usize = 4;

fn words(kinds: &[Kind]) -> String {
    let names = kinds.iter().map(|&kind| resource(kind).1);
    let mut named: Vec<String> = names.take(NAMED_MAX).map(str::to_owned).collect();
    if kinds.len() > NAMED_MAX {
        named.push(format!("{} other kinds", kinds.len() - NAMED_MAX));
    }
    named.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_viewers_has_every_kind_that_is_watched() {
        let role = include_str!("../../../../deploy/rbac/viewer.yaml");
        for kind in Kind::ALL {
            let (group, plural) = resource(kind);
            let group = if group.is_empty() { "\"\"" } else { group };
            let rule = role.split("- apiGroups: ").find_map(|rule| {
                let (groups, resources) = rule.split_once("\n  resources: ")?;
                (groups == format!("[{group}]")).then_some(resources)
            });
            let resources = rule.and_then(|rule| rule.lines().next());
            let mut named = resources
                .unwrap_or_default()
                .trim_matches(['[', ']'])
                .split(", ");
            assert!(named.any(|one| one == plural), "{group}/{plural}");
        }
    }

    #[test]
    fn of_many_kinds_a_message_names_some_and_counts_the_rest() {
        assert_eq!(words(&[Kind::Node, Kind::Pod]), "nodes, pods");
        assert!(words(&Kind::ALL).ends_with("persistentvolumeclaims, 16 other kinds"));
    }
}
