//! `berth up`: scheduler, console and an embedded cluster in one process, or a Kubernetes instead.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use berth_core::sched::policy;
use berth_core::time::Span;
use berth_sim::faults::FaultPlan;
use berth_sim::site::Site;
use berth_sim::workload::Workload;
use tokio::sync::watch;

use crate::cli::exit::{Exit, Failure};
use crate::cli::scheduler::{self, Reach, Running};
use crate::cli::values;
use crate::console::http::Server;
use crate::console::summary::Summary;
use crate::console::tui::look::Look;
use crate::console::tui::{self, Around};
use crate::console::view::View;
use crate::console::{Console, Front, plain};
use crate::ext::data::Data;
use crate::ext::trace::{self, Trace};
use crate::output::{self, Format};
use crate::service::control::Control;
use crate::service::embedded::Embedded;
use crate::service::published::Published;
use crate::service::{Options, Service};

/// Run an embedded cluster with scheduler and console; needs no GPU, no Kubernetes, no root
///
/// With --cluster kube it schedules the Kubernetes of the kubeconfig instead, as `berth scheduler`
/// with its defaults, and shows that.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which cluster
    #[arg(long, value_enum, default_value_t = Cluster::Embedded)]
    #[arg(conflicts_with_all = ["preset", "trace", "seed", "speed", "faults"])]
    pub(crate) cluster: Cluster,
    #[command(flatten)]
    pub(crate) reach: Reach,
    /// The cluster and its users
    #[arg(long, value_enum, default_value_t = Preset::Site1000)]
    pub(crate) preset: Preset,
    /// A trace to play instead of the preset's work
    ///
    /// openb:NAME is a pod list of the published experiment, played by its own times; native:PATH
    /// is a file or a folder of tables in Berth's own formats; any other name is made up from the
    /// seed. The trace brings its own cluster.
    #[arg(long, value_parser = trace::parse, conflicts_with = "preset")]
    pub(crate) trace: Option<Trace>,
    /// The policy that places work; `berth policies` lists them
    #[arg(long, default_value = "berth", value_parser = crate::cli::policies::names())]
    pub(crate) policy: String,
    /// What all chance in the cluster derives from
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// How many simulated seconds pass in a real one
    #[arg(long, default_value_t = 600.0, value_parser = values::positive)]
    pub(crate) speed: f64,
    /// Stop after this much real time [example: 60s, 5m]
    #[arg(long = "for", value_name = "DURATION", value_parser = values::duration)]
    pub(crate) for_: Option<Duration>,
    /// How much goes wrong
    #[arg(long, value_enum, default_value_t = Faults::None)]
    pub(crate) faults: Faults,
    /// Where the console and the metrics are served
    #[arg(long, default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// Print lines instead of the full-screen view
    #[arg(long)]
    pub(crate) plain: bool,
    /// Write the last frame to a file: a picture if it ends in .svg, else text
    #[arg(long, value_name = "FILE", hide = true, requires = "for_")]
    pub(crate) capture: Option<PathBuf>,
    /// Size of that frame
    #[arg(
        long,
        value_name = "WIDTHxHEIGHT",
        hide = true,
        default_value = "160x45"
    )]
    #[arg(value_parser = size)]
    pub(crate) capture_size: (u16, u16),
    /// Form of the final summary
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

/// Which cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Cluster {
    /// One in this process, with made-up users
    Embedded,
    /// The Kubernetes that the kubeconfig leads to
    Kube,
}

/// A cluster and its users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Preset {
    /// A few nodes and some dozens of users
    Small,
    /// A thousand users and far fewer GPUs
    #[value(name = "site-1000")]
    Site1000,
}

/// How much goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Faults {
    /// Nothing
    None,
    /// A GPU or node now and then
    Light,
    /// Something all the time
    Heavy,
}

const EXAMPLES: &str = "\
Examples:
  berth up
  berth up --speed 3600 --faults light
  berth up --preset small --speed 60
  berth up --cluster kube --context lab
  berth up --plain --for 60s --output json";

/// How long people go on submitting at a site: at the default speed over half an hour.
const SITE_LENGTH: Span = Span::from_days(14);

/// When the clock takes over at a site, which founds itself at midnight.
const MORNING: Span = Span::from_hours(8);

/// The smallest and the largest frame that a capture can have.
const CAPTURE_SIZES: std::ops::RangeInclusive<u16> = 50..=400;

/// Runs until stopped.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    // Before anything else: a port that is taken is the most likely mistake.
    let listener = listen(args.listen)?;
    match args.cluster {
        Cluster::Embedded => embedded(args, listener),
        Cluster::Kube => kube(args, listener),
    }
}

/// Schedules a Kubernetes.
fn kube(args: &Args, listener: TcpListener) -> Result<Exit, Failure> {
    // Notes of what happens would be drawn over the view.
    if !is_full_screen(args) {
        scheduler::start_log();
    }
    let defaults = scheduler::Args::with_defaults(args.reach.clone(), &args.policy, args.for_);
    let Some(running) = Running::begin(&defaults, listener)? else {
        return Ok(Exit::Done);
    };
    let around = Around { url: running.url() };
    let shown = show(args, &running.console, &running.control, &around);
    running.control.stop();
    let last = running.end()?;
    shown?;
    conclude(args, &last, &around)
}

/// Plays an embedded cluster.
fn embedded(args: &Args, listener: TcpListener) -> Result<Exit, Failure> {
    let workload = workload(args)?;
    let policy = policy::named(&args.policy).expect("the parser accepts names of the catalogue");
    let embedded =
        Embedded::found(&workload, policy, args.seed, args.faults.into()).map_err(|error| {
            Failure::unreadable(format!("unable to play {}", workload.name)).because(error)
        })?;
    let options = Options {
        profile: embedded.profile,
        name: workload.name.clone(),
        seed: Some(args.seed),
        start: embedded.start,
        head_start: head_start(args),
        speed: args.speed,
        for_: args.for_,
    };
    drop(workload);
    let control = Arc::new(Control::default());
    let service = Service::start(embedded.scheduler, options, Arc::clone(&control))?;
    let console = Arc::new(Console::new(service.latest()));
    let (_, front) = watch::channel(Front::Scheduling(Arc::clone(&console)));
    let server = Server::start(listener, front, Arc::clone(&control))?;
    let around = Around {
        url: format!("http://{}", server.address()),
    };
    let shown = show(args, &console, &control, &around);
    server.stop();
    let last = service.finish().ok_or_else(|| {
        Failure::new(Exit::Internal, "the scheduler has panicked")
            .because("its message stands above")
            .next("this is a defect of Berth: please report it with the seed")
    })?;
    shown?;
    conclude(args, &last, &around)
}

/// The last frame where one is asked for, and the summary.
fn conclude(args: &Args, last: &Published, around: &Around) -> Result<Exit, Failure> {
    if let Some(path) = &args.capture {
        capture(path, args.capture_size, last, around)?;
    }
    let summary = Summary::of(last);
    output::print(&summary, args.output)?;
    Ok(if summary.invariant_violations > 0 {
        Exit::Internal
    } else {
        Exit::Done
    })
}

/// People come to a site in the morning of its first day; a trace is played from its beginning.
fn head_start(args: &Args) -> Span {
    match args.trace {
        None => MORNING,
        Some(_) => Span::ZERO,
    }
}

fn is_full_screen(args: &Args) -> bool {
    let is_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    is_terminal && !args.plain && args.capture.is_none()
}

/// Shows the view that fits where the output goes, until the end.
fn show(args: &Args, console: &Console, control: &Control, around: &Around) -> Result<(), Failure> {
    if !is_full_screen(args) {
        eprintln!(
            "{} serves the page, /metrics and /api/v1/snapshot; Ctrl-C ends",
            around.url
        );
        plain::show(console, control);
        return Ok(());
    }
    tui::show(console, control, around).map_err(|error| {
        Failure::new(Exit::Internal, "unable to use the terminal")
            .because(error)
            .next("try --plain")
    })
}

/// Takes the address, or says who might have it.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    if !address.ip().is_loopback() {
        eprintln!(
            "note: {address} can be reached from other machines, and the console has no login"
        );
    }
    TcpListener::bind(address).map_err(|error| {
        let port = address.port();
        let failure = Failure::usage(format!("unable to listen on {address}"));
        if error.kind() == io::ErrorKind::AddrInUse {
            let other = if port == u16::MAX { 8420 } else { port + 1 };
            failure
                .because(format!(
                    "port {port} is in use, perhaps by another `berth up`"
                ))
                .next(format!(
                    "stop that one, or take another port: --listen {}:{other}",
                    address.ip()
                ))
        } else {
            failure
                .because(error)
                .next("name an address of this machine: --listen 127.0.0.1:8420")
        }
    })
}

/// What the cluster is made of and what is asked of it.
fn workload(args: &Args) -> Result<Workload, Failure> {
    let site = match (&args.trace, args.preset) {
        (Some(trace), _) => return trace.workload(args.seed, None, &Data::locate()),
        (None, Preset::Small) => Site::small(),
        (None, Preset::Site1000) => Site::thousand(),
    };
    let length = SITE_LENGTH;
    Ok(Site { length, ..site }.workload(args.seed))
}

/// Writes the last frame as a picture or as text, by the name of the file.
fn capture(
    path: &Path,
    size: (u16, u16),
    last: &Published,
    around: &Around,
) -> Result<(), Failure> {
    let frame = tui::capture::frame(&View::of(last), around, Look::FULL, size);
    let is_svg = path.extension().is_some_and(|extension| extension == "svg");
    let text = if is_svg {
        tui::capture::svg(
            &frame,
            "Berth's terminal view: GPUs, who waits and why, queues, events",
        )
    } else {
        tui::capture::text(&frame)
    };
    fs::write(path, text).map_err(|error| {
        Failure::usage(format!("unable to write {}", path.display()))
            .because(error)
            .next("check the folder and its permissions")
    })
}

/// `WIDTHxHEIGHT`.
fn size(text: &str) -> Result<(u16, u16), String> {
    let wrong = || {
        format!(
            "give WIDTHxHEIGHT, each from {} to {}",
            CAPTURE_SIZES.start(),
            CAPTURE_SIZES.end()
        )
    };
    let (width, height) = text.split_once('x').ok_or_else(wrong)?;
    match (width.parse(), height.parse()) {
        (Ok(width), Ok(height))
            if CAPTURE_SIZES.contains(&width) && height <= *CAPTURE_SIZES.end() =>
        {
            Ok((width, height))
        }
        _ => Err(wrong()),
    }
}

impl From<Faults> for FaultPlan {
    fn from(faults: Faults) -> Self {
        match faults {
            Faults::None => Self::None,
            Faults::Light => Self::Light,
            Faults::Heavy => Self::Heavy,
        }
    }
}
