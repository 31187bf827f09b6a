//! Watches: one task a kind, each of which lowers objects and sends what is left of them.
//!
//! Invariant: every object that has gone is told, also one that went while the watch was down: when a
//! list starts anew, what it no longer has is gone. Objects are lowered and dropped here, so that
//! nothing behind the channel holds whole ones. Not here: what a change means.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::hash::Hash;

use berth_api::{GpuGrant, Queue};
use berth_core::filter::facts::Text;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use k8s_openapi::api::{core::v1 as api, resource::v1 as resource, storage::v1 as storage};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use super::change::{Change, GangRecord, Kind, Object};
use crate::lower::{
    self, GroupObject, Interner, LowerError, NodeRecord, POD_GROUPS, PodRecord, QueueRecord,
};

/// Changes that wait for the index: enough for a burst, and little memory while the index is behind.
pub const CHANGES_MAX: usize = 8_192;

/// Follows every kind that the scheduler has to know, for as long as `tasks` is kept.
///
/// # Errors
/// If the API server can't be asked which kinds it serves.
pub async fn follow_all(
    client: &Client,
    changes: &Sender<Change>,
    tasks: &mut JoinSet<()>,
) -> Result<(), kube::Error> {
    let mut follow = Follow {
        client,
        changes,
        tasks,
    };
    follow.cluster::<api::Namespace>(Kind::Namespace, |one| {
        Ok(Object::Namespace(lower::namespace(one)))
    });
    follow.cluster::<api::Node>(Kind::Node, |one| {
        Ok(Object::Node(Box::new(NodeRecord::new(one)?)))
    });
    follow.cluster::<storage::CSINode>(Kind::CsiNode, |one| {
        Ok(Object::CsiNode(lower::node_drivers(one)))
    });
    follow.storage();
    follow.devices();
    follow.groups().await?;
    let mut interner = Interner::default();
    let pods = Api::all(client.clone());
    follow.kind::<api::Pod, _>(Kind::Pod, pods, &unfinished(), move |one| {
        let record = PodRecord::new(one)?.sharing(&mut interner);
        Ok(Object::Pod(Box::new(record)))
    });
    Ok(())
}

/// Ended pods hold nothing; the server leaves them out, and tells it when a pod ends.
fn unfinished() -> watcher::Config {
    watcher::Config::default().fields("status.phase!=Succeeded,status.phase!=Failed")
}

/// Whether the API server has a resource of this plural in an API group and version.
///
/// # Errors
/// If it can't be asked.
pub(super) async fn serves(
    client: &Client,
    group: &str,
    plural: &str,
) -> Result<bool, kube::Error> {
    match client.list_api_group_resources(group).await {
        Ok(list) => Ok(list.resources.iter().any(|one| one.name == plural)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

struct Follow<'a> {
    client: &'a Client,
    changes: &'a Sender<Change>,
    tasks: &'a mut JoinSet<()>,
}

type Lower<K> = fn(&K) -> Result<Object, LowerError>;

impl Follow<'_> {
    fn storage(&mut self) {
        self.cluster::<api::PersistentVolumeClaim>(Kind::PersistentVolumeClaim, |one| {
            Ok(Object::PersistentVolumeClaim(Box::new(lower::claim(one)?)))
        });
        self.cluster::<api::PersistentVolume>(Kind::PersistentVolume, |one| {
            Ok(Object::PersistentVolume(Box::new(lower::volume(one)?)))
        });
        self.cluster::<storage::StorageClass>(Kind::StorageClass, |one| {
            Ok(Object::StorageClass(Box::new(lower::storage_class(one)?)))
        });
        self.cluster::<storage::CSIDriver>(Kind::CsiDriver, |one| {
            Ok(Object::CsiDriver(lower::driver(one)?))
        });
        self.cluster::<storage::CSIStorageCapacity>(Kind::CsiStorageCapacity, |one| {
            Ok(Object::CsiStorageCapacity(Box::new(lower::room(one)?)))
        });
        self.cluster::<storage::VolumeAttachment>(Kind::VolumeAttachment, |one| {
            Ok(Object::VolumeAttachment(lower::attachment(one)))
        });
    }

    fn devices(&mut self) {
        self.cluster::<resource::ResourceClaim>(Kind::ResourceClaim, |one| {
            Ok(Object::ResourceClaim(Box::new(lower::device_claim(one)?)))
        });
        self.cluster::<resource::ResourceSlice>(Kind::ResourceSlice, |one| {
            Ok(Object::ResourceSlice(Box::new(without_fields(one))))
        });
        self.cluster::<resource::DeviceClass>(Kind::DeviceClass, |one| {
            Ok(Object::DeviceClass(Box::new(without_fields(one))))
        });
        self.cluster::<resource::DeviceTaintRule>(Kind::DeviceTaintRule, |one| {
            Ok(Object::DeviceTaintRule(Box::new(without_fields(one))))
        });
    }

    /// Queues and gangs, as far as the cluster knows such kinds.
    async fn groups(&mut self) -> Result<(), kube::Error> {
        if serves(self.client, "berth.dev/v1alpha1", "queues").await? {
            self.cluster::<Queue>(Kind::Queue, |one| Ok(Object::Queue(QueueRecord::new(one)?)));
        } else {
            tracing::warn!("this cluster has no Queue resource; run `berth crd install`");
            self.nothing(Kind::Queue);
        }
        if serves(self.client, "berth.dev/v1alpha1", "gpugrants").await? {
            self.cluster::<GpuGrant>(Kind::GpuGrant, |one| {
                Ok(Object::GpuGrant(one.spec.grants.clone()))
            });
        } else {
            self.nothing(Kind::GpuGrant);
        }
        for group in lower::group_objects() {
            let (name, version) = group.api;
            if serves(self.client, &format!("{name}/{version}"), POD_GROUPS).await? {
                self.pod_groups(group);
            } else {
                self.nothing(Kind::PodGroup(group.dialect));
            }
        }
        Ok(())
    }

    fn pod_groups(&mut self, group: GroupObject) {
        let (name, version) = group.api;
        let named = GroupVersionKind::gvk(name, version, "PodGroup");
        let resource = ApiResource::from_gvk_with_plural(&named, POD_GROUPS);
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let lower = move |one: &DynamicObject| {
            let members_min = group.members_min(one)?;
            Ok(Object::PodGroup(GangRecord { members_min }))
        };
        let config = watcher::Config::default();
        let kind = Kind::PodGroup(group.dialect);
        self.keyed(kind, api, &config, move |one| group.gang(one), lower);
    }

    /// Tells, beside everything else, that there is nothing of a kind: whoever calls may be the one who
    /// takes changes in afterwards.
    fn nothing(&mut self, kind: Kind) {
        let changes = self.changes.clone();
        self.tasks.spawn(async move {
            let _ = changes.send(Change::Synced(kind)).await;
        });
    }

    fn cluster<K>(&mut self, kind: Kind, lower: Lower<K>)
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        K::DynamicType: Default + Eq + Hash + Clone,
    {
        let api = Api::all(self.client.clone());
        self.kind(kind, api, &watcher::Config::default(), lower);
    }

    fn kind<K, L>(&mut self, kind: Kind, api: Api<K>, config: &watcher::Config, lower: L)
    where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        K::DynamicType: Eq + Hash + Clone,
        L: FnMut(&K) -> Result<Object, LowerError> + Send + 'static,
    {
        self.keyed(kind, api, config, name_of, lower);
    }

    fn keyed<K, N, L>(
        &mut self,
        kind: Kind,
        api: Api<K>,
        config: &watcher::Config,
        key: N,
        lower: L,
    ) where
        K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
        K::DynamicType: Eq + Hash + Clone,
        N: Fn(&K) -> Text + Send + 'static,
        L: FnMut(&K) -> Result<Object, LowerError> + Send + 'static,
    {
        let config = config.clone().streaming_lists();
        let stream = watcher::watcher(api, config).default_backoff().boxed();
        self.tasks
            .spawn(follow(kind, stream, key, lower, self.changes.clone()));
    }
}

/// Sends what a watch says, until nobody listens any more.
async fn follow<K, N, L>(
    kind: Kind,
    mut stream: BoxStream<'static, watcher::Result<Event<K>>>,
    key: N,
    mut lower: L,
    changes: Sender<Change>,
) where
    K: Resource,
    N: Fn(&K) -> Text,
    L: FnMut(&K) -> Result<Object, LowerError>,
{
    let mut known: BTreeSet<Text> = BTreeSet::new();
    let mut listed: BTreeSet<Text> = BTreeSet::new();
    while let Some(event) = stream.next().await {
        let mut sent = Vec::new();
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(one)) => {
                let key = key(&one);
                listed.insert(key.clone());
                sent.push(set(kind, key, lower(&one)));
            }
            Ok(Event::InitDone) => {
                let gone = known.difference(&listed).cloned();
                sent.extend(gone.map(|key| Change::Gone(kind, key)));
                known = std::mem::take(&mut listed);
                sent.push(Change::Synced(kind));
            }
            Ok(Event::Apply(one)) => {
                let key = key(&one);
                known.insert(key.clone());
                sent.push(set(kind, key, lower(&one)));
            }
            Ok(Event::Delete(one)) => {
                let key = key(&one);
                known.remove(&key);
                sent.push(Change::Gone(kind, key));
            }
            Err(error) => {
                tracing::warn!(?kind, %error, "watch interrupted; it is taken up again");
            }
        }
        for change in sent {
            if changes.send(change).await.is_err() {
                return;
            }
        }
    }
}

fn set(kind: Kind, key: Text, lowered: Result<Object, LowerError>) -> Change {
    match lowered {
        Ok(object) => Change::Set(key, object),
        Err(why) => Change::Unreadable(kind, key, why.to_string()),
    }
}

/// `namespace/name`, or `name`.
fn name_of<K: Resource>(one: &K) -> Text {
    let meta = one.meta();
    let name = meta.name.as_deref().unwrap_or_default();
    match &meta.namespace {
        Some(namespace) => Text::from(format!("{namespace}/{name}")),
        None => Text::from(name),
    }
}

/// A copy without the fields that only the server needs.
fn without_fields<K: Resource + Clone>(one: &K) -> K {
    let mut copy = one.clone();
    copy.meta_mut().managed_fields = None;
    copy
}
