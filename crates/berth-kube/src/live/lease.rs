//! Who may decide: one holder of a Lease, and others that stand by.
//!
//! The Lease is the truth: whoever writes it with the right resource version holds it. It is renewed
//! often and runs out slowly, so a holder that is cut off stops by itself before anybody else may
//! begin. Since a Lease counts in whole seconds, those who stand by also keep a connection to the
//! holder open: a process that is killed closes it at once, and then the Lease is taken over without
//! waiting. That is safe because a holder that loses all its listeners while it lives proves that it
//! still holds the Lease before it writes on. Invariant: nobody writes whose [`Fence`] is closed, and
//! it closes at the latest when the Lease runs out. Not here: what the holder does.

use std::fmt::{self, Debug, Formatter};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use k8s_openapi::jiff::Timestamp;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::act::Fence;

/// How long a Lease lasts without being renewed.
const DURATION: Duration = Duration::from_secs(5);

/// Between two renewals.
const RENEW_EVERY: Duration = Duration::from_millis(1_500);

/// A holder stops this long before its Lease runs out: whatever is on its way by then arrives.
const MARGIN: Duration = Duration::from_millis(1_000);

/// Between two looks at a Lease that somebody else holds.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// The longest that one request may take.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(2);

/// Between two looks at the Lease of a holder that has gone without a word: one that lives renews it
/// in that time, and what one that doesn't sent last has arrived.
const SETTLE: Duration = Duration::from_millis(100);

/// Renewals in quick succession by which a holder shows that it lives, and the time between them.
const PROOFS: u32 = 10;
const PROOF_EVERY: Duration = Duration::from_millis(20);

/// Pairs of looks before a holder that may live is left to its Lease.
const PAIRS_MAX: u32 = 3;

/// Label-like note in the Lease: where the holder listens.
const LISTENS_AT: &str = "berth.dev/listens-at";

/// Who wants to hold which Lease.
#[derive(Clone)]
pub struct Candidate {
    pub client: Client,
    pub namespace: String,
    pub lease: String,
    /// Unique among candidates.
    pub identity: String,
    /// Where others may listen for this one's end.
    pub listens_at: Option<SocketAddr>,
}

impl Debug for Candidate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (lease, identity) = (&self.lease, &self.identity);
        write!(f, "Candidate({identity} for {}/{lease})", self.namespace)
    }
}

/// A Lease that is held.
#[derive(Debug)]
pub struct Held {
    lease: Lease,
    until: Instant,
    /// How often the Lease has passed from one holder to another.
    pub transitions: i32,
}

/// Why a Lease can't be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    #[error("unable to reach the Lease: {0}")]
    Api(#[from] kube::Error),
    #[error("the API server did not answer within {REQUEST_TIME_MAX:?}")]
    Slow,
    #[error("{0} holds the Lease now")]
    Lost(String),
}

impl Candidate {
    /// Waits until the Lease is free, and takes it.
    pub async fn acquire(&self) -> Held {
        loop {
            match self.try_acquire().await {
                Ok(Some(held)) => return held,
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "the Lease is out of reach; trying again"),
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Takes the Lease if it is free, or waits for its holder's end for a while.
    async fn try_acquire(&self) -> Result<Option<Held>, LeaseError> {
        let Some(found) = self.look().await? else {
            return self.create().await;
        };
        let spec = found.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.clone().unwrap_or_default();
        if holder.is_empty() || holder == self.identity || has_run_out(&spec) {
            return self.take(found).await;
        }
        let listens_at = found.metadata.annotations.as_ref();
        let listens_at = listens_at.and_then(|all| all.get(LISTENS_AT));
        let Some(address) = listens_at.and_then(|at| at.parse::<SocketAddr>().ok()) else {
            return Ok(None);
        };
        if outlive(address, &holder).await == Listened::NothingLearned {
            return Ok(None);
        }
        let version = |lease: &Option<Lease>| lease.as_ref()?.metadata.resource_version.clone();
        let mut first = self.look().await?;
        for _ in 0..PAIRS_MAX {
            sleep(SETTLE).await;
            let second = self.look().await?;
            match second {
                Some(found) if version(&first) == found.metadata.resource_version => {
                    tracing::info!(%holder, "the holder has ended; its Lease is taken over");
                    return self.take(found).await;
                }
                // What the holder sent last has just arrived, or it lives.
                other => first = other,
            }
        }
        Ok(None)
    }

    /// Renews the Lease until it is lost, closes the fence, and says why.
    pub async fn keep(
        &self,
        mut held: Held,
        fence: &Fence,
        mut alarm: watch::Receiver<u64>,
    ) -> LeaseError {
        let mut proofs = 0;
        loop {
            let left = held.until.saturating_duration_since(Instant::now());
            let Some(left) = left.checked_sub(MARGIN) else {
                fence.close();
                return LeaseError::Slow;
            };
            match timeout(left, self.take(held.lease.clone())).await {
                Ok(Ok(Some(renewed))) => held = renewed,
                Ok(Ok(None)) => {
                    fence.close();
                    return LeaseError::Lost(self.holder().await);
                }
                Ok(Err(error)) => {
                    tracing::warn!(%error, "the Lease could not be renewed");
                    sleep(RENEW_EVERY / 10).await;
                    continue;
                }
                Err(_) => continue,
            }
            // Somebody who listened has gone, and may believe that this process has ended: show at
            // once, and more than once, that it lives.
            if proofs > 0 {
                proofs -= 1;
                sleep(PROOF_EVERY).await;
            } else if let Ok(Ok(())) = timeout(RENEW_EVERY, alarm.changed()).await {
                proofs = PROOFS;
            }
        }
    }

    /// Gives the Lease back, so that the next one needs not wait.
    pub async fn release(&self) {
        let Ok(Some(mut lease)) = self.look().await else {
            return;
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() == Some(&*self.identity) {
            spec.holder_identity = None;
            let _ = timeout(REQUEST_TIME_MAX, self.replace(&lease)).await;
        }
    }

    async fn holder(&self) -> String {
        let lease = self.look().await.ok().flatten();
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        holder.unwrap_or_else(|| "somebody else".to_owned())
    }

    fn api(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn look(&self) -> Result<Option<Lease>, LeaseError> {
        let (api, name) = (self.api(), self.lease.as_str());
        let look = timeout(REQUEST_TIME_MAX, api.get_opt(name)).await;
        Ok(look.map_err(|_| LeaseError::Slow)??)
    }

    async fn create(&self) -> Result<Option<Held>, LeaseError> {
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some(self.lease.clone()),
                namespace: Some(self.namespace.clone()),
                ..ObjectMeta::default()
            },
            spec: None,
        };
        let (lease, transitions) = self.signed(lease);
        let began = Instant::now();
        let parameters = PostParams::default();
        let api = self.api();
        let write = timeout(REQUEST_TIME_MAX, api.create(&parameters, &lease)).await;
        written(write.map_err(|_| LeaseError::Slow)?, began, transitions)
    }

    /// Writes the Lease as this candidate's; `None` if somebody else was quicker.
    async fn take(&self, found: Lease) -> Result<Option<Held>, LeaseError> {
        let (lease, transitions) = self.signed(found);
        let began = Instant::now();
        let write = timeout(REQUEST_TIME_MAX, self.replace(&lease)).await;
        written(write.map_err(|_| LeaseError::Slow)?, began, transitions)
    }

    async fn replace(&self, lease: &Lease) -> Result<Lease, kube::Error> {
        let parameters = PostParams::default();
        self.api().replace(&self.lease, &parameters, lease).await
    }

    /// The Lease with this candidate as its holder, and how often it has changed hands.
    fn signed(&self, mut lease: Lease) -> (Lease, i32) {
        let now = Some(MicroTime(Timestamp::now()));
        let annotations = lease.metadata.annotations.get_or_insert_default();
        match self.listens_at {
            Some(at) => annotations.insert(LISTENS_AT.to_owned(), at.to_string()),
            None => annotations.remove(LISTENS_AT),
        };
        let before = lease.spec.take().unwrap_or_default();
        let is_same = before.holder_identity.as_deref() == Some(&*self.identity);
        let transitions = before.lease_transitions.unwrap_or(0) + i32::from(!is_same);
        lease.spec = Some(LeaseSpec {
            acquire_time: if is_same {
                before.acquire_time
            } else {
                now.clone()
            },
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            lease_transitions: Some(transitions),
            renew_time: now,
            ..LeaseSpec::default()
        });
        (lease, transitions)
    }
}

fn written(
    write: Result<Lease, kube::Error>,
    began: Instant,
    transitions: i32,
) -> Result<Option<Held>, LeaseError> {
    match write {
        Ok(lease) => Ok(Some(Held {
            lease,
            until: began + DURATION,
            transitions,
        })),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn has_run_out(spec: &LeaseSpec) -> bool {
    let Some(renewed) = &spec.renew_time else {
        return true;
    };
    let lasts = i64::from(spec.lease_duration_seconds.unwrap_or(0));
    let passed = Timestamp::now().as_second() - renewed.0.as_second();
    passed > lasts
}

/// What listening to a holder came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listened {
    /// It has ended: its end of the connection was closed.
    HolderEnded,
    /// It says nothing, or can't be reached; the Lease has to run out.
    NothingLearned,
}

/// Listens until the holder's process ends.
async fn outlive(address: SocketAddr, holder: &str) -> Listened {
    let connect = timeout(REQUEST_TIME_MAX, TcpStream::connect(address)).await;
    let mut stream = match connect {
        Ok(Ok(stream)) => stream,
        // The machine is there and nobody listens any more; a holder listens before it holds.
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            return Listened::HolderEnded;
        }
        Ok(Err(_)) | Err(_) => return Listened::NothingLearned,
    };
    let mut byte = [0; 1];
    // A holder greets, so that a stranger behind the address is not taken for one that has ended.
    let greeting = timeout(REQUEST_TIME_MAX, stream.read_exact(&mut byte)).await;
    if !matches!(greeting, Ok(Ok(_))) {
        return Listened::NothingLearned;
    }
    tracing::info!("standing by for the end of {holder}");
    loop {
        match stream.read(&mut byte).await {
            Ok(0) => return Listened::HolderEnded,
            Ok(_) => {}
            Err(error) => {
                use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
                let ended = matches!(error.kind(), ConnectionReset | BrokenPipe);
                return if ended {
                    Listened::HolderEnded
                } else {
                    Listened::NothingLearned
                };
            }
        }
    }
}

/// Lets others listen for this process's end, and counts those who have gone.
pub async fn be_listened_to(listener: TcpListener, alarm: watch::Sender<u64>) {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            sleep(LOOK_EVERY).await;
            continue;
        };
        let alarm = alarm.clone();
        tokio::spawn(async move {
            use tokio::io::AsyncWriteExt as _;
            if stream.write_all(b"b").await.is_ok() {
                let mut byte = [0; 1];
                let _ = stream.read(&mut byte).await;
                alarm.send_modify(|gone| *gone += 1);
            }
        });
    }
}
