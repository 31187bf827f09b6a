//! A Kubernetes behind the service: watches, the right to write, and standing by for it.
//!
//! Invariant: whoever stands by keeps the index as fresh as the one who decides, and decides nothing.
//! Once the right to write is lost this process never writes again; it ends. Not here: pacing, views.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use berth_core::filter::facts::Text;
use berth_core::model::draft::Draft;
use berth_core::sched::fragmentation::TargetWorkload;
use berth_core::sched::policy::Entry;
use berth_core::sched::profile::Profile;
use berth_core::sched::room::EvictionRules;
use berth_core::sched::scheduler::{Cluster as _, Scheduler};
use berth_core::stream::Stream;
use berth_core::time::{Span, Time};
use berth_kube::connect::{self, ConnectError, Target};
use berth_kube::live::act::{self, Fence};
use berth_kube::live::clock::Clock;
use berth_kube::live::cluster::Live;
use berth_kube::live::feed::{Feed as Index, Names};
use berth_kube::live::lease::{self, Candidate};
use berth_kube::live::watch as watches;
use kube::Client;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;

use super::control::{Control, Stop};
use super::{Feed, Totals};
use crate::console::Front;

/// How long whoever stands by works on news before it looks whether its turn has come.
const LOOK_EVERY: Span = Span(20);

/// After the right to write has come, so that what the last holder wrote is in the index.
const SETTLE: Duration = Duration::from_millis(50);

/// Between two cycles that may evict: soon enough for whoever has priority.
const EVICTION_PERIOD: Span = Span::from_secs(1);

/// Between two notes that something is still being waited for.
const NOTE_EVERY: Duration = Duration::from_secs(10);

/// What a live scheduler is told at its start.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) target: Target,
    /// Whose pods it places (`spec.schedulerName`).
    pub(crate) names: Vec<String>,
    pub(crate) policy: &'static Entry,
    /// Namespace and name of the Lease.
    pub(crate) lease: (String, String),
    /// Where others may listen for this process's end.
    pub(crate) heartbeat: Option<SocketAddr>,
    /// Work that has run for less keeps its place.
    pub(crate) min_runtime: Span,
    /// Who has waited for less claims no quota back.
    pub(crate) patience: Span,
    pub(crate) seed: u64,
}

/// A live cluster whose index is kept up to date.
#[derive(Debug)]
pub(crate) struct Standby {
    runtime: Runtime,
    live: Live,
    draft: Draft,
    clock: Clock,
    fence: Fence,
    /// The epoch of this process, once its turn has come.
    turn: oneshot::Receiver<i64>,
    candidate: Candidate,
    setup: Setup,
    name: String,
    _tasks: JoinSet<()>,
}

/// A scheduler that has the right to write.
#[derive(Debug)]
pub(crate) struct Elected {
    pub(crate) scheduler: Scheduler<Live>,
    pub(crate) profile: Profile,
    pub(crate) start: Time,
    pub(crate) name: String,
    pub(crate) rights: Rights,
}

/// The right to write, to be given back at the end.
#[derive(Debug)]
pub(crate) struct Rights {
    runtime: Runtime,
    candidate: Candidate,
    fence: Fence,
    _tasks: JoinSet<()>,
}

impl Standby {
    /// Begins to follow a cluster, and to wait for the right to write.
    ///
    /// # Errors
    /// If the cluster can't be reached.
    pub(crate) fn begin(setup: Setup, control: &Arc<Control>) -> Result<Self, anyhow::Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .thread_name("berth-kube")
            .build()?;
        let clock = Clock::start();
        let fence = Fence::default();
        let mut tasks = JoinSet::new();
        let (changes, told) = mpsc::channel(watches::CHANGES_MAX);
        let (orders, ordered) = act::channel();
        let (elected, turn) = oneshot::channel();
        let (client, name) = runtime.block_on(reach(&setup.target))?;
        let candidate = runtime.block_on(async {
            watches::follow_all(&client, &changes, &mut tasks).await?;
            tasks.spawn(act::carry_out(
                client.clone(),
                ordered,
                changes.clone(),
                fence.clone(),
                identity(),
            ));
            let (alarm, alarmed) = watch::channel(0);
            let candidate = candidate(&setup, client.clone(), alarm, &mut tasks).await?;
            let (keeper, closed) = (candidate.clone(), fence.clone());
            let control = Arc::clone(control);
            tasks.spawn(async move {
                let held = keeper.acquire().await;
                let _ = elected.send(i64::from(held.transitions));
                let why = keeper.keep(held, &closed, alarmed).await;
                tracing::error!(%why, "the right to write was lost; this process ends");
                control.stop();
            });
            Ok::<_, anyhow::Error>(candidate)
        })?;
        let names = setup.names.iter().map(|name| Text::from(name.as_str()));
        let index = Index::new(Names(names.collect()));
        let live = Live::new(index, told, orders, clock, runtime.handle().clone());
        Ok(Self {
            runtime,
            live,
            draft: Draft::new(),
            clock,
            fence,
            turn,
            candidate,
            setup,
            name,
            _tasks: tasks,
        })
    }

    /// Keeps the index until this process's turn has come; `None` if it is stopped before.
    /// `front` is told once it is ready.
    pub(crate) fn wait(
        mut self,
        control: &Control,
        front: &watch::Sender<Front>,
    ) -> Option<Elected> {
        let mut noted = Instant::now();
        let mut since: Option<Instant> = None;
        let mut epoch = 0;
        loop {
            if control.wish().stop == Stop::Now {
                return None;
            }
            let until = self.clock.now() + LOOK_EVERY;
            self.live.observe(&mut self.draft, until);
            if let Ok(elected) = self.turn.try_recv() {
                epoch = elected;
                since = Some(Instant::now());
            }
            let is_synced = self.live.feed().is_synced();
            if is_synced && matches!(*front.borrow(), Front::Listing) {
                front.send_replace(Front::StandingBy);
            }
            if is_synced && since.is_some_and(|since| since.elapsed() >= SETTLE) {
                self.live.begin(epoch);
                return Some(self.elect());
            }
            if noted.elapsed() >= NOTE_EVERY {
                noted = Instant::now();
                let missing: Vec<_> = self.live.feed().unsynced().collect();
                if missing.is_empty() {
                    tracing::info!("standing by; another scheduler holds the Lease");
                } else {
                    tracing::info!(?missing, "still listing");
                }
            }
        }
    }

    fn elect(self) -> Elected {
        let start = self.clock.now();
        let mix = Arc::new(TargetWorkload::default());
        let mut profile = Profile::new(self.setup.policy, mix);
        profile.evictions = Some(EvictionRules {
            min_runtime: self.setup.min_runtime,
            patience: self.setup.patience,
            period: EVICTION_PERIOD,
            ..EvictionRules::default()
        });
        let stream = Stream::from_seed(self.setup.seed).child("policy");
        let nodes = self.draft.nodes().len();
        let pods = self.live.feed().pods().len();
        tracing::info!(nodes, pods, "this process schedules now");
        Elected {
            scheduler: Scheduler::new(self.live, self.draft, &profile, stream),
            profile,
            start,
            name: self.name,
            rights: Rights {
                runtime: self.runtime,
                candidate: self.candidate,
                fence: self.fence,
                _tasks: self._tasks,
            },
        }
    }
}

impl Rights {
    /// Whether the right to write is still there.
    pub(crate) fn are_lost(&self) -> bool {
        self.fence.is_closed()
    }

    /// Writes no more, and lets another process take over at once.
    pub(crate) fn give_back(self) {
        if !self.fence.is_closed() {
            // What has been ordered is carried out first.
            thread::sleep(SETTLE);
            self.fence.close();
            self.runtime.block_on(self.candidate.release());
        }
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

async fn reach(target: &Target) -> Result<(Client, String), ConnectError> {
    connect::connect(target).await
}

async fn candidate(
    setup: &Setup,
    client: Client,
    alarm: watch::Sender<u64>,
    tasks: &mut JoinSet<()>,
) -> Result<Candidate, anyhow::Error> {
    let mut listens_at = None;
    if let Some(address) = setup.heartbeat {
        let listener = TcpListener::bind(address).await?;
        listens_at = Some(listener.local_addr()?);
        tasks.spawn(lease::be_listened_to(listener, alarm));
    }
    Ok(Candidate {
        client,
        namespace: setup.lease.0.clone(),
        lease: setup.lease.1.clone(),
        identity: identity(),
        listens_at,
    })
}

/// Who this process is, for the Lease and for events.
fn identity() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    format!("{host}-{}", std::process::id())
}

impl Feed for Live {
    fn totals(&self) -> Totals {
        Totals {
            submitted: self.feed().came,
            completed: self.feed().ended,
            evictions: std::iter::once(("evicted".to_owned(), self.evictions)).collect(),
            log_hash: String::new(),
        }
    }
}
