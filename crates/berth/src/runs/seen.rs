//! A live cluster as a scheduler would see it, with one cycle run on it.
//!
//! Invariant: nothing is written; reasons and turns are those of the same index, cycle and
//! explanation as the scheduler's. What a scheduler knows and no object tells is missing: what queues
//! have held in the past, and how long a refused pod rests. Not here: words and layout.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use berth_core::filter::facts::Text;
use berth_core::id::{NodeId, PodId};
use berth_core::model::draft::Draft;
use berth_core::model::snapshot::{GroupKey, Snapshot};
use berth_core::sched::explain::{Explanation, Hindrance, explain};
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::sched::next::WaysOut;
use berth_core::sched::profile::{Effort, Profile};
use berth_core::sched::{cycle, policy, turns};
use berth_core::stream::Stream;
use berth_core::time::Time;
use berth_kube::connect::{self, Target};
use berth_kube::live::feed::{Feed, Names};
use berth_kube::live::look::{self, LookError, Looked};
use berth_kube::live::told::{self, ToldPod};
use kube::Client;
use tokio::runtime::Runtime;

use crate::cli::exit::Failure;

/// The longest that listing a cluster may take: ten times what one of 5,000 nodes and 150,000 pods
/// needs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A way to an API server.
pub(crate) struct Reached {
    runtime: Runtime,
    client: Client,
}

/// A cluster, after one cycle.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) feed: Feed,
    /// The index with the cycle's decisions in it.
    pub(crate) index: Draft,
    /// Who waits, in the order of turns, and what stops each.
    pub(crate) waiting: Vec<(GroupKey, Hindrance)>,
    /// Who would start now, and where.
    pub(crate) starts: BTreeMap<PodId, NodeId>,
    pub(crate) now: Time,
    profile: Profile,
    stream: Stream,
}

impl Reached {
    /// Connects.
    ///
    /// # Errors
    /// If nothing says where the API server is.
    pub(crate) fn to(target: &Target) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let connected = runtime.block_on(connect::connect(target));
        let (client, _) = connected.map_err(|error| unreachable(&error))?;
        Ok(Self { runtime, client })
    }

    /// The namespace of the kubeconfig's context.
    pub(crate) fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// The pod of this name; `None` if there is none.
    ///
    /// # Errors
    /// If the API server doesn't say.
    pub(crate) fn pod(&self, namespace: &str, name: &str) -> Result<Option<ToldPod>, Failure> {
        let pod = self
            .runtime
            .block_on(told::pod(&self.client, namespace, name));
        pod.map_err(|error| unreachable(&error))
    }

    /// The names of the pods of a namespace, as far as this account may list them.
    pub(crate) fn pod_names(&self, namespace: &str) -> Vec<String> {
        let names = told::pod_names(&self.client, namespace);
        self.runtime.block_on(names).unwrap_or_default()
    }

    /// Looks at the whole cluster as a scheduler of `names` would.
    ///
    /// # Errors
    /// If this account may not, or the API server doesn't answer.
    pub(crate) fn look(&self, names: &[String]) -> Result<Seen, LookError> {
        let names = names.iter().map(|name| Text::from(name.as_str()));
        let names = Names(names.collect());
        let looked = look::look(&self.client, names, PATIENCE);
        Ok(Seen::after_a_cycle(self.runtime.block_on(looked)?))
    }
}

/// The failure of somebody who may not look, or finds nobody to ask.
pub(crate) fn not_seen(error: &LookError) -> Failure {
    let failure = Failure::unreadable("unable to look at the cluster").because(error);
    match error {
        LookError::Forbidden(_) => failure.next(
            "ask for the cluster role berth-viewer of deploy/rbac; `berth why pod/NAME` needs no \
             more than the right to get that pod",
        ),
        LookError::Api(_) | LookError::Late { .. } => {
            failure.next("check --kubeconfig and --context, and that the API server answers")
        }
    }
}

fn unreachable(error: &dyn std::fmt::Display) -> Failure {
    Failure::unreadable("unable to reach the cluster")
        .because(error)
        .next("check --kubeconfig and --context, and your rights on this cluster")
}

impl Seen {
    /// Runs the cycle that a scheduler would run next.
    pub(crate) fn after_a_cycle(looked: Looked) -> Self {
        let Looked {
            feed,
            mut draft,
            now,
        } = looked;
        let policy = policy::named("berth").expect("it is in the catalogue");
        let profile = Profile::new(policy, Arc::new(TargetWorkload::default()));
        let mut stream = Stream::from_seed(0);
        let decisions = cycle::run(&draft, &profile, Effort::Place, now, &mut stream);
        decisions.apply(&mut draft, now);
        let starts = decisions.binds.iter().map(|bind| (bind.pod, bind.node));
        Self {
            starts: starts.collect(),
            waiting: turns::in_order(profile.order, &draft, now, &decisions.waiting),
            feed,
            index: draft,
            now,
            profile,
            stream,
        }
    }

    /// The index.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.index
    }

    /// The turn of a group from 1, and why it waits; `None` if it doesn't.
    pub(crate) fn why(&self, key: &GroupKey) -> Option<(usize, Explanation)> {
        let at = self
            .waiting
            .iter()
            .position(|(waiting, _)| waiting == key)?;
        let explanation = explain(&self.index, key, self.waiting[at].1);
        Some((at + 1, explanation))
    }

    /// The cheapest changes that would start a group that waits, in words.
    pub(crate) fn ways_out(&self, key: &GroupKey, hindrance: Hindrance) -> Vec<String> {
        let mut ways = WaysOut::of(&self.index, &self.profile, self.now, &self.stream);
        let changes = ways.for_group(key, hindrance).into_iter();
        changes.map(|change| change.words(&self.index)).collect()
    }

    /// The group that a waiting pod belongs to, and its place in it from 1.
    pub(crate) fn group_of(&self, pod: PodId) -> Option<(GroupKey, usize)> {
        self.waiting.iter().find_map(|(key, _)| {
            let group = self.index.pending().get(key)?;
            let place = group.values().position(|&member| member == pod)?;
            Some((*key, place + 1))
        })
    }
}
