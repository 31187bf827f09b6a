//! The feed: from objects as the API server has them to an index.

use std::collections::BTreeMap;

use arcstr::ArcStr as Text;
use berth_api::Queue;
use berth_core::id::NodeId;
use berth_core::invariant;
use berth_core::model::draft::Draft;
use berth_core::model::gpu::GpuGrant;
use berth_core::model::gpu::GpuSet;
use berth_core::model::node::Readiness;
use berth_core::sched::decisions::{Bind, Decisions};
use berth_core::time::Time;
use berth_kube::live::change::{Change, Kind, Object, Outcome, Refuser};
use berth_kube::live::feed::{Apart, Feed, Names, QueueStanding, Standing};
use berth_kube::lower::{NodeRecord, PodRecord, QueueRecord};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A feed and the index that it keeps.
struct World {
    feed: Feed,
    draft: Draft,
    now: Time,
}

impl World {
    /// One to which every kind has been told, each without objects.
    fn new() -> Self {
        let mut world = Self {
            feed: Feed::new(Names([Text::from("berth")].into())),
            draft: Draft::new(),
            now: Time::from_secs(1_000),
        };
        for kind in Kind::ALL {
            world.apply(Change::Synced(kind));
        }
        world
    }

    fn of(changes: impl IntoIterator<Item = Change>) -> Self {
        let mut world = Self::new();
        for change in changes {
            world.apply(change);
        }
        world
    }

    fn apply(&mut self, change: Change) {
        self.feed.apply(&mut self.draft, change, self.now);
    }

    fn standing(&self, pod: &str) -> &Standing {
        let pod = self.feed.pod_named(&format!("team/{pod}"));
        &pod.expect("it is there").standing
    }

    fn node(&self, name: &str) -> NodeId {
        let mut nodes = self.draft.nodes().iter();
        NodeId::at(
            nodes
                .position(|node| &*node.name == name)
                .expect("it is there"),
        )
    }

    /// Everything that decisions depend on, by name.
    fn summary(&self) -> Summary {
        assert_eq!(invariant::check(&self.draft), []);
        let held = |node: &berth_core::model::node::Node| {
            let free = node.state.gpus.iter().map(|gpu| gpu.free_compute.0);
            (
                node.state.readiness,
                node.state.free_cpu.0,
                free.sum(),
                node.state.gpus.len(),
            )
        };
        let nodes = self.draft.nodes().iter();
        // A queue that holds nothing and has no rules is the same as none.
        let queues = self.draft.queues().map(|(_, queue)| {
            let account = queue.account(0);
            (
                queue.name.to_string(),
                (account.used, account.quota.limit, queue.weight),
            )
        });
        let pods = self.feed.pods();
        Summary {
            nodes: nodes
                .map(|node| (node.name.to_string(), held(node)))
                .collect(),
            queues: queues.filter(|(name, _)| name != "(none)").collect(),
            pods: pods
                .map(|(key, pod)| (key.to_string(), self.words(&pod.standing)))
                .collect(),
        }
    }

    fn words(&self, standing: &Standing) -> String {
        match standing {
            Standing::In(id) | Standing::Assumed(id, _) => {
                let pod = self.draft.pod(*id).expect("it is in the index");
                let queue = &self.draft.queue(pod.spec.queue).name;
                let node = pod.node().map(|node| &self.draft.node(node).name);
                format!("in {queue} at {node:?}")
            }
            other => format!("{other:?}"),
        }
    }
}

#[derive(Debug, PartialEq)]
struct Summary {
    nodes: BTreeMap<String, (Readiness, i64, i64, usize)>,
    queues: BTreeMap<String, (i128, Option<i64>, u32)>,
    pods: BTreeMap<String, String>,
}

fn read<T: serde::de::DeserializeOwned>(from: Value) -> T {
    serde_json::from_value(from).expect("an object of the API")
}

fn node_with(name: &str, gpus: u32, offered: u32) -> Change {
    let amounts = |gpus: u32| json!({"cpu": "64", "memory": "256Gi", "pods": "110", "nvidia.com/gpu": gpus.to_string()});
    let node = json!({
        "metadata": {"name": name, "labels": {"nvidia.com/gpu.product": "H100"}},
        "status": {"capacity": amounts(gpus), "allocatable": amounts(offered)},
    });
    let record = NodeRecord::new(&read(node)).expect("it can be read");
    Change::Set(name.into(), Object::Node(Box::new(record)))
}

fn node(name: &str) -> Change {
    node_with(name, 8, 8)
}

fn queue(name: &str, parent: Option<&str>) -> Change {
    let queue = json!({
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"parent": parent, "quotas": [{"resource": "gpu", "limit": "16"}]},
    });
    let record = QueueRecord::new(&read::<Queue>(queue)).expect("it can be read");
    Change::Set(name.into(), Object::Queue(record))
}

/// A pod as JSON; `change` may do with it what it likes.
fn pod_json(name: &str, gpus: u32, change: impl FnOnce(&mut Value)) -> Value {
    let amounts = json!({"cpu": "1", "nvidia.com/gpu": gpus.to_string()});
    let mut pod = json!({
        "metadata": {
            "name": name, "namespace": "team", "uid": name, "resourceVersion": "1",
            "creationTimestamp": "2026-01-01T00:00:00Z", "labels": {}, "annotations": {},
        },
        "spec": {
            "schedulerName": "berth",
            "containers": [{"name": "c", "resources": {"requests": amounts, "limits": amounts}}],
        },
        "status": {"phase": "Pending"},
    });
    change(&mut pod);
    pod
}

fn pod_with(name: &str, gpus: u32, change: impl FnOnce(&mut Value)) -> Change {
    let record = PodRecord::new(&read(pod_json(name, gpus, change))).expect("it can be read");
    Change::Set(format!("team/{name}").into(), Object::Pod(Box::new(record)))
}

fn pod(name: &str) -> Change {
    pod_with(name, 1, |_| {})
}

fn in_queue(queue: &str) -> impl FnOnce(&mut Value) {
    let queue = queue.to_owned();
    move |pod| pod["metadata"]["labels"]["berth.dev/queue"] = json!(queue)
}

fn gone(kind: Kind, key: &str) -> Change {
    Change::Gone(kind, key.into())
}

/// What a site might have, each object once.
fn site() -> Vec<Change> {
    let runs = |node: &'static str, queue: Option<&'static str>| {
        move |pod: &mut Value| {
            pod["spec"]["nodeName"] = json!(node);
            if let Some(queue) = queue {
                pod["metadata"]["labels"]["berth.dev/queue"] = json!(queue);
            }
        }
    };
    let gang = |pod: &mut Value| {
        pod["metadata"]["labels"]["berth.dev/gang"] = json!("pretrain");
        pod["metadata"]["annotations"]["berth.dev/gang-members-min"] = json!("2");
    };
    vec![
        node("n1"),
        node_with("n2", 8, 6),
        queue("org", None),
        queue("vision", Some("org")),
        queue("vision/ada", Some("vision")),
        queue("lost", Some("nowhere")),
        queue("ring-a", Some("ring-b")),
        queue("ring-b", Some("ring-a")),
        pod("plain"),
        pod_with("queued", 2, in_queue("vision/ada")),
        pod_with("orphan", 1, in_queue("missing")),
        pod_with("in-ring", 1, in_queue("ring-a")),
        pod_with("below-lost", 1, in_queue("lost")),
        pod_with("runs", 2, runs("n1", None)),
        pod_with("runs-queued", 3, runs("n2", Some("vision"))),
        pod_with("runs-nowhere", 1, runs("n9", None)),
        pod_with("g1", 1, gang),
        pod_with("g2", 1, gang),
        pod_with("foreign", 1, |pod| {
            pod["spec"]["schedulerName"] = json!("other");
        }),
        pod_with("gated", 1, |pod| {
            pod["spec"]["schedulingGates"] = json!([{"name": "x.io/y"}]);
        }),
    ]
}

proptest! {
    #[test]
    fn the_order_of_arrival_changes_nothing(
        order in Just((0..site().len()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut all: Vec<Option<Change>> = site().into_iter().map(Some).collect();
        let shuffled = order.iter().map(|&at| all[at].take().expect("each once"));
        prop_assert_eq!(World::of(shuffled).summary(), World::of(site()).summary());
    }
}

#[test]
fn pods_that_come_before_everything_else_is_told_wait_for_it() {
    let mut world = World::new();
    world.feed = Feed::new(Names([Text::from("berth")].into()));
    world.apply(pod_with("early", 1, in_queue("org")));
    world.apply(Change::Synced(Kind::Pod));
    assert_eq!(world.feed.pods().len(), 0);
    world.apply(queue("org", None));
    for kind in Kind::ALL {
        world.apply(Change::Synced(kind));
    }
    assert!(matches!(world.standing("early"), Standing::In(_)));
}

#[test]
fn a_pod_made_anew_under_the_same_name_is_another_one() {
    let mut world = World::of([
        node("n1"),
        pod_with("p", 2, |pod| {
            pod["spec"]["nodeName"] = json!("n1");
        }),
    ]);
    let before = world.standing("p").clone();
    world.apply(pod_with("p", 2, |pod| {
        pod["metadata"]["uid"] = json!("other");
    }));
    assert_ne!(*world.standing("p"), before);
    assert_eq!(world.feed.take_gone(), ["team/p"]);
    assert_eq!(world.summary().nodes["n1"].2, 80_000, "its place is free");
}

#[test]
fn queues_in_a_circle_or_below_nothing_never_enter() {
    let mut world = World::of(site());
    let standing = |world: &World, name: &str| world.feed.queue_standing(&name.into());
    let ring = QueueStanding::Cycle(vec!["ring-a".into(), "ring-b".into()]);
    assert_eq!(standing(&world, "ring-a"), Some(ring));
    let lost = QueueStanding::ParentMissing("nowhere".into());
    assert_eq!(standing(&world, "lost"), Some(lost));
    assert_eq!(standing(&world, "unheard-of"), None);
    let missing = |name: &str| Standing::Apart(Apart::QueueMissing(name.into()));
    assert_eq!(*world.standing("in-ring"), missing("ring-a"));
    world.apply(queue("nowhere", None));
    assert!(matches!(
        standing(&world, "lost"),
        Some(QueueStanding::In(_))
    ));
    assert!(matches!(world.standing("below-lost"), Standing::In(_)));
}

#[test]
fn a_queue_that_is_deleted_takes_nothing_new_and_one_of_its_name_takes_it_again() {
    let mut world = World::of([queue("org", None), pod_with("p", 1, in_queue("org"))]);
    world.apply(gone(Kind::Queue, "org"));
    let missing = Standing::Apart(Apart::QueueMissing("org".into()));
    assert_eq!(*world.standing("p"), missing);
    world.apply(queue("org", None));
    assert!(matches!(world.standing("p"), Standing::In(_)));
}

#[test]
fn a_node_that_comes_back_with_other_gpus_keeps_its_books() {
    let runs = |pod: &mut Value| pod["spec"]["nodeName"] = json!("n1");
    let mut world = World::of([node("n1"), pod_with("p", 2, runs)]);
    world.apply(gone(Kind::Node, "n1"));
    assert_eq!(world.summary().nodes["n1"].0, Readiness::Lost);
    world.apply(node_with("n1", 4, 4));
    let (readiness, _, free, gpus) = world.summary().nodes["n1"];
    assert_eq!((readiness, free, gpus), (Readiness::Ready, 20_000, 4));
    // A GPU that the kubelet no longer offers takes nothing new.
    world.apply(node_with("n1", 4, 3));
    let healthy = |world: &World| {
        let gpus = &world.draft.node(world.node("n1")).state.gpus;
        gpus.iter()
            .filter(|gpu| gpu.health == berth_core::model::gpu::GpuHealth::Healthy)
            .count()
    };
    assert_eq!(healthy(&world), 3);
    world.apply(node_with("n1", 4, 4));
    assert_eq!(healthy(&world), 4);
}

#[test]
fn forty_gpus_are_asked_for_and_fit_nowhere() {
    let world = World::of([node("n1"), pod_with("huge", 40, |_| {})]);
    let Standing::In(id) = *world.standing("huge") else {
        panic!("{:?}", world.standing("huge"));
    };
    let spec = &world.draft.pod(id).expect("it waits").spec;
    let request = world.draft.catalog().task(spec.task);
    assert_eq!(request.whole_gpus(), 40);
    world.summary();
}

#[test]
fn what_is_out_of_range_is_refused_with_the_path_of_its_field() {
    let check = |annotation: &str, value: &str, path: &str| {
        let pod = pod_json("p", 0, |pod| {
            pod["metadata"]["annotations"][annotation] = json!(value);
        });
        let refused = PodRecord::new(&read(pod)).expect_err(value).to_string();
        assert!(refused.contains(path), "{annotation}={value}: {refused}");
    };
    check("gpu.berth.dev/share", "1500m", "GPU share");
    check("gpu.berth.dev/share", "0", "GPU share");
    check("gpu.berth.dev/share", "-1", "GPU share");
    check(
        "gpu.berth.dev/share",
        "half",
        "metadata.annotations[gpu.berth.dev/share]",
    );
    check("gpu-memory", "99999999999999", "GPU share");
    check(
        "gpu.berth.dev/memory",
        "2x",
        "metadata.annotations[gpu.berth.dev/memory]",
    );
    let gang = pod_json("p", 0, |pod| {
        pod["metadata"]["labels"]["berth.dev/gang"] = json!("g");
        pod["metadata"]["annotations"]["berth.dev/gang-members-min"] = json!("0");
    });
    let refused = PodRecord::new(&read(gang)).expect_err("a gang of none");
    assert!(refused.to_string().contains("size of gang"), "{refused}");
}

#[test]
fn gates_of_others_keep_a_pod_out_and_those_of_quota_do_not() {
    let gated = |gates: Value| pod_with("p", 1, move |pod| pod["spec"]["schedulingGates"] = gates);
    let mut world = World::of([gated(
        json!([{"name": "x.io/y"}, {"name": "berth.dev/quota"}]),
    )]);
    assert_eq!(*world.standing("p"), Standing::Apart(Apart::Gated));
    world.apply(gated(json!([{"name": "berth.dev/quota"}])));
    assert!(matches!(world.standing("p"), Standing::In(_)));
}

#[test]
fn who_is_being_deleted_starts_no_more_and_holds_until_it_has_gone() {
    let deleted = |node: Option<&'static str>| {
        move |pod: &mut Value| {
            pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:01:00Z");
            pod["spec"]["nodeName"] = json!(node);
        }
    };
    let mut world = World::of([
        node("n1"),
        pod("waits"),
        pod_with("runs", 2, |pod| {
            pod["spec"]["nodeName"] = json!("n1");
        }),
    ]);
    world.apply(pod_with("waits", 1, deleted(None)));
    world.apply(pod_with("runs", 2, deleted(Some("n1"))));
    assert_eq!(
        *world.standing("waits"),
        Standing::Apart(Apart::Terminating)
    );
    assert_eq!(world.summary().nodes["n1"].2, 60_000);
    world.apply(gone(Kind::Pod, "team/runs"));
    assert_eq!(world.summary().nodes["n1"].2, 80_000);
}

#[test]
fn a_refused_bind_rests_twice_as_long_each_time_and_comes_back() {
    let mut world = World::of([node("n1"), pod("p")]);
    let mut rests = Vec::new();
    for _ in 0..9 {
        let Standing::In(id) = *world.standing("p") else {
            panic!("{:?}", world.standing("p"));
        };
        let grant = GpuGrant::Whole {
            gpus: GpuSet::one(0),
        };
        let node = world.node("n1");
        let binds = vec![Bind {
            pod: id,
            node,
            grant,
        }];
        let decisions = Decisions {
            binds,
            ..Decisions::default()
        };
        decisions.apply(&mut world.draft, world.now);
        world.feed.note(&decisions);
        let (why, by) = ("a webhook says no".to_owned(), Refuser::Admission);
        world.apply(Change::Bind {
            key: "team/p".into(),
            uid: "p".into(),
            outcome: Outcome::Refused { why, by },
        });
        assert_eq!(
            world.summary().nodes["n1"].2,
            80_000,
            "what it held is free"
        );
        let until = world.feed.next_rest().expect("it rests");
        rests.push(until.since(world.now).0);
        assert!(!world.feed.wake(&mut world.draft, Time(until.0 - 1)));
        assert!(world.feed.wake(&mut world.draft, until));
        world.now = until;
    }
    let doubled = [1, 2, 4, 8, 16, 32, 60, 60, 60].map(|seconds| seconds * 1_000);
    assert_eq!(rests, doubled);
}

#[test]
fn an_answer_about_a_pod_that_has_been_replaced_changes_nothing() {
    let mut world = World::of([node("n1"), pod("p")]);
    let before = world.standing("p").clone();
    let (why, by) = (String::new(), Refuser::Trouble);
    let outcome = Outcome::Refused { why, by };
    let (key, uid) = ("team/p".into(), "another".into());
    world.apply(Change::Bind { key, uid, outcome });
    assert_eq!(*world.standing("p"), before);
}

#[test]
fn of_gang_markers_that_disagree_the_first_counts_and_the_mark_says_so() {
    let marked = |pod: &mut Value| {
        pod["metadata"]["labels"]["berth.dev/gang"] = json!("mine");
        pod["metadata"]["annotations"]["berth.dev/gang-members-min"] = json!("1");
        pod["metadata"]["annotations"]["pod-group-name"] = json!("theirs");
    };
    let world = World::of([pod_with("p", 1, marked)]);
    let mark = world
        .feed
        .pod_named("team/p")
        .expect("it is there")
        .record
        .gang
        .clone();
    let mark = mark.expect("it is in a gang");
    assert_eq!(
        (&*mark.key, mark.conflict),
        ("team/berth/mine", Some("kai"))
    );
    let members: Vec<_> = world.feed.gang_members(&mark.key).collect();
    assert_eq!(members.len(), 1);
}
