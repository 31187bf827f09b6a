//! Filters keep their counts in step: counting a pod afterwards is the same as its having been there.
//!
//! That the answers are kube-scheduler's is proved elsewhere, against kube-scheduler's own plugins.

use std::sync::Arc;

use berth_core::amount::MilliCpu;
use berth_core::filter::cluster::Cluster;
use berth_core::filter::facts::Text;
use berth_core::filter::facts::label::{Labels, Requirement, Selector};
use berth_core::filter::facts::node::NodeFacts;
use berth_core::filter::facts::pod::{
    AffinityTerm, Inclusion, PodFacts, PodTemplate, SpreadConstraint,
};
use berth_core::filter::facts::resources::Resources;
use berth_core::filter::{Answer, Reach, Start, start};
use proptest::prelude::*;

const ZONE: &str = "zone";

pub(crate) fn node_facts(index: usize, zone: usize) -> NodeFacts {
    let name = Text::from(format!("n{index}"));
    let labels = [
        (Text::from(ZONE), Text::from(format!("z{zone}"))),
        (Text::from("host"), name.clone()),
    ];
    NodeFacts {
        name,
        labels: Labels::new(labels),
        pod_slots: 100,
        allocatable: Resources {
            cpu: MilliCpu::from_cores(100),
            ..Resources::default()
        },
        ..NodeFacts::default()
    }
}

fn selector(app: u8) -> Selector {
    let value = Text::from(format!("a{app}"));
    Selector::All(Box::new([Requirement::equals(Text::from("app"), value)]))
}

fn term((app, is_zone): (u8, bool)) -> AffinityTerm {
    AffinityTerm {
        topology_key: Text::from(if is_zone { ZONE } else { "host" }),
        selector: selector(app),
        namespaces: Box::new([Text::from("team")]),
        namespace_selector: Selector::Nothing,
    }
}

fn constraint((app, is_zone): (u8, bool)) -> SpreadConstraint {
    SpreadConstraint {
        topology_key: Text::from(if is_zone { ZONE } else { "host" }),
        skew_max: 1,
        selector: selector(app),
        domains_min: 1,
        affinity_policy: Inclusion::Honor,
        taints_policy: Inclusion::Ignore,
    }
}

prop_compose! {
    /// A pod with rules about others; at least one, so that every filter listens.
    pub(crate) fn ruled_pod()(
        app in 0_u8..3,
        near in proptest::collection::vec((0_u8..3, any::<bool>()), 0..2),
        apart in proptest::collection::vec((0_u8..3, any::<bool>()), 1..3),
        spread in proptest::collection::vec((0_u8..3, any::<bool>()), 1..3),
    ) -> PodFacts {
        PodFacts {
            namespace: Text::from("team"),
            labels: Labels::new([(Text::from("app"), Text::from(format!("a{app}")))]),
            template: Arc::new(PodTemplate {
                affinity: near.into_iter().map(term).collect(),
                anti_affinity: apart.into_iter().map(term).collect(),
                spread: spread.into_iter().map(constraint).collect(),
                ..PodTemplate::default()
            }),
            ..PodFacts::default()
        }
    }
}

fn cluster(zones: &[usize], pods: &[(usize, PodFacts)]) -> Cluster {
    let mut cluster = Cluster::default();
    for (index, zone) in zones.iter().enumerate() {
        cluster.set_node(Arc::new(node_facts(index, *zone)));
    }
    for (index, (place, pod)) in pods.iter().enumerate() {
        let mut pod = pod.clone();
        pod.uid = Text::from(format!("u{index}"));
        cluster.add_pod(&format!("n{}", place % zones.len()), Arc::new(pod));
    }
    cluster
}

fn answers(cluster: &Cluster, pod: &PodFacts) -> Vec<Answer> {
    let Start::Open(check) = start(cluster, pod) else {
        panic!("nothing here refuses all nodes at once");
    };
    cluster.nodes().map(|node| check.ask(node)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn counting_a_pod_afterwards_is_the_same_as_its_having_been_there(
        zones in proptest::collection::vec(0_usize..3, 1..6),
        pods in proptest::collection::vec((0_usize..6, ruled_pod()), 0..6),
        late in (0_usize..6, ruled_pod()),
        wanted in ruled_pod(),
    ) {
        let before = cluster(&zones, &pods);
        let all: Vec<_> = pods.iter().cloned().chain([late.clone()]).collect();
        let after = cluster(&zones, &all);
        let Start::Open(mut check) = start(&before, &wanted) else {
            panic!("nothing here refuses all nodes at once");
        };
        let place = before.nodes().nth(late.0 % zones.len()).expect("in range").clone();
        check.add(&late.1, &place);
        let counted: Vec<Answer> = after.nodes().map(|node| check.ask(node)).collect();
        prop_assert_eq!(counted, answers(&after, &wanted));
        check.remove(&late.1, &place);
        let restored: Vec<Answer> = before.nodes().map(|node| check.ask(node)).collect();
        prop_assert_eq!(restored, answers(&before, &wanted));
    }

    #[test]
    fn a_cluster_that_loses_a_pod_is_as_if_it_had_never_had_it(
        zones in proptest::collection::vec(0_usize..3, 1..6),
        pods in proptest::collection::vec((0_usize..6, ruled_pod()), 1..6),
        wanted in ruled_pod(),
    ) {
        let mut shrunk = cluster(&zones, &pods);
        let last = pods.len() - 1;
        let place = format!("n{}", pods[last].0 % zones.len());
        shrunk.remove_pod(&place, &format!("u{last}"));
        let never = cluster(&zones, &pods[..last]);
        prop_assert_eq!(answers(&shrunk, &wanted), answers(&never, &wanted));
    }

    #[test]
    fn static_and_dynamic_filters_together_are_all_filters(
        zones in proptest::collection::vec(0_usize..3, 1..6),
        pods in proptest::collection::vec((0_usize..6, ruled_pod()), 0..6),
        wanted in ruled_pod(),
    ) {
        let cluster = cluster(&zones, &pods);
        let Start::Open(check) = start(&cluster, &wanted) else {
            panic!("nothing here refuses all nodes at once");
        };
        for node in cluster.nodes() {
            let parts = [Reach::Static, Reach::Dynamic].map(|reach| check.ask_those(reach, node));
            let all_fit = parts.iter().all(|part| *part == Answer::Fits);
            prop_assert_eq!(all_fit, check.ask(node) == Answer::Fits);
        }
    }
}
