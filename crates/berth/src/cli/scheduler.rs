//! `berth scheduler`: places the pods of a Kubernetes cluster.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use berth_core::sched::policy;
use berth_core::time::Span;
use berth_kube::connect::Target;
use tokio::sync::watch;

use crate::cli::exit::{Exit, Failure};
use crate::cli::{up, values};
use crate::console::http::Server;
use crate::console::{Console, Front, plain};
use crate::service::control::Control;
use crate::service::live::{Rights, Setup, Standby};
use crate::service::published::{Books, Published};
use crate::service::{Options, Service};

/// Schedule the pods of a Kubernetes cluster, beside kube-scheduler or instead of it
///
/// Pods that name it in spec.schedulerName are placed by all of kube-scheduler's rules, with queues,
/// gangs and shares of GPUs on top. Several may run at a time: one decides, the others stand by.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) cluster: Reach,
    /// Place the pods that name this scheduler; may be given more than once
    #[arg(long = "name", value_name = "NAME", default_value = "berth")]
    pub(crate) names: Vec<String>,
    /// The policy that places work; `berth policies` lists them
    #[arg(long, default_value = "berth", value_parser = crate::cli::policies::names())]
    pub(crate) policy: String,
    /// Where the console, /metrics, /healthz and /readyz are served
    #[arg(long, default_value = "127.0.0.1:10270")]
    pub(crate) listen: SocketAddr,
    /// Namespace of the Lease by which one scheduler at a time decides
    #[arg(long, default_value = "kube-system")]
    pub(crate) lease_namespace: String,
    /// Name of that Lease
    #[arg(long, default_value = "berth-scheduler")]
    pub(crate) lease_name: String,
    /// Where others listen for this one's end, so that they take over at once
    ///
    /// Has to be an address that they reach; port 0 takes any that is free.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    pub(crate) heartbeat: SocketAddr,
    /// How long work has to have run before it may lose its place to other work [example: 30s, 5m]
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = values::duration)]
    pub(crate) min_runtime: Duration,
    /// How long work waits before it claims back what others hold of its queue's own quota
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = values::duration)]
    pub(crate) patience: Duration,
    /// Stop after this much time [example: 60s, 5m]
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    pub(crate) for_: Option<Duration>,
}

/// Which API server.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Reach {
    /// How to reach the API server; else KUBECONFIG, ~/.kube/config or the pod's own account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; else the current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
}

impl Reach {
    pub(crate) fn target(&self) -> Target {
        Target {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }
}

impl Args {
    /// What one gets who says nothing but this.
    pub(crate) fn with_defaults(cluster: Reach, policy: &str, for_: Option<Duration>) -> Self {
        let command = <Self as clap::Args>::augment_args(clap::Command::new("scheduler"));
        let matches = command.get_matches_from(["scheduler"]);
        let args = <Self as clap::FromArgMatches>::from_arg_matches(&matches);
        Self {
            cluster,
            policy: policy.to_owned(),
            for_,
            ..args.expect("every argument has a default")
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  berth crd install && berth scheduler
  berth scheduler --kubeconfig admin.conf --name berth --name default-scheduler
  kubectl run job --image busybox --overrides '{\"spec\":{\"schedulerName\":\"berth\"}}'";

/// Runs until stopped, or until the right to write is lost.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    start_log();
    let listener = up::listen(args.listen)?;
    if let Some(running) = Running::begin(args, listener)? {
        plain::wait(&running.control);
        running.end()?;
    }
    Ok(Exit::Done)
}

/// A scheduler at work on a cluster.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) control: Arc<Control>,
    pub(crate) console: Arc<Console>,
    service: Service,
    server: Server,
    rights: Rights,
}

impl Running {
    /// Stands by until it has the right to write, then schedules; `None` if it is stopped before.
    pub(crate) fn begin(args: &Args, listener: TcpListener) -> Result<Option<Self>, Failure> {
        let control = Arc::new(Control::default());
        let (front, shown) = watch::channel(Front::Listing);
        let server = Server::start(listener, shown, Arc::clone(&control))?;
        eprintln!(
            "http://{} serves the page, /metrics, /healthz and /readyz",
            server.address()
        );
        let standby = Standby::begin(setup(args), &control).map_err(|error| {
            Failure::unreadable("unable to follow the cluster")
                .because(format!("{error:#}"))
                .next("check --kubeconfig and --context, and that the API server answers")
        })?;
        let Some(elected) = standby.wait(&control, &front) else {
            server.stop();
            return Ok(None);
        };
        let options = Options {
            profile: elected.profile,
            name: elected.name,
            seed: None,
            start: elected.start,
            head_start: Span::ZERO,
            speed: 1.0,
            for_: args.for_,
        };
        let service = Service::start(elected.scheduler, options, Arc::clone(&control))?;
        let console = Arc::new(Console::new(service.latest()));
        // The server holds the other end.
        let _ = front.send(Front::Scheduling(Arc::clone(&console)));
        Ok(Some(Self {
            control,
            console,
            service,
            server,
            rights: elected.rights,
        }))
    }

    /// Where the page is served.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Stops it, gives the right to write back, and returns the last publication.
    pub(crate) fn end(self) -> Result<Arc<Published>, Failure> {
        self.server.stop();
        let last = self.service.finish();
        let lost = self.rights.are_lost();
        self.rights.give_back();
        let last = last.ok_or_else(|| {
            Failure::new(Exit::Internal, "the scheduler has panicked")
                .because("its message stands above")
                .next("this is a defect of Berth: please report it")
        })?;
        if let Books::Broken(violations) = &last.books {
            return Err(Failure::new(Exit::Internal, "the books don't balance")
                .because(violations.join("; "))
                .next("nothing of that decision was carried out; this is a defect of Berth"));
        }
        if lost {
            return Err(Failure::new(Exit::Negative, "the Lease could not be kept")
                .because("another scheduler has it, or the API server was out of reach")
                .next("start this one again: it stands by until its turn comes"));
        }
        Ok(last)
    }
}

fn setup(args: &Args) -> Setup {
    Setup {
        target: args.cluster.target(),
        names: args.names.clone(),
        policy: policy::named(&args.policy).expect("the parser accepts names of the catalogue"),
        lease: (args.lease_namespace.clone(), args.lease_name.clone()),
        heartbeat: Some(args.heartbeat),
        min_runtime: span(args.min_runtime),
        patience: span(args.patience),
        seed: 42,
    }
}

fn span(duration: Duration) -> Span {
    Span(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
}

/// Notes of what happens go to standard error; `BERTH_LOG` says which.
pub(crate) fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("BERTH_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn,berth=info,berth_kube=info"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .try_init();
}
