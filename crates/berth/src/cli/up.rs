//! `berth up`: scheduler, console and a simulated cluster in one process.

use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use berth_core::sched::policy;
use berth_sim::faults::FaultPlan;
use berth_sim::workload::Workload;

use crate::cli::exit::{Exit, Failure};
use crate::cli::values;
use crate::console::http::Server;
use crate::console::summary::Summary;
use crate::console::tui::look::Look;
use crate::console::tui::{self, Around};
use crate::console::view::View;
use crate::console::{Console, plain};
use crate::output::{self, Format};
use crate::service::control::Control;
use crate::service::embedded::Embedded;
use crate::service::published::Published;
use crate::service::{Options, Service};

/// Run an embedded cluster with scheduler and console; needs no GPU, no Kubernetes, no root
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The cluster and its users
    #[arg(long, default_value = "small", value_parser = ["small", "site-1000"])]
    pub(crate) preset: String,
    /// A trace to play instead of the preset's work
    #[arg(long)]
    pub(crate) trace: Option<String>,
    /// The policy that places work; `berth policies` lists them
    #[arg(long, default_value = "fgd", value_parser = crate::cli::policies::names())]
    pub(crate) policy: String,
    /// What all chance in the cluster derives from
    #[arg(long, default_value_t = 42)]
    pub(crate) seed: u64,
    /// How many simulated seconds pass in a real one
    #[arg(long, default_value_t = 60.0, value_parser = values::positive)]
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
    #[arg(long, value_name = "WIDTHxHEIGHT", hide = true, default_value = "160x45")]
    #[arg(value_parser = size)]
    pub(crate) capture_size: (u16, u16),
    /// Form of the final summary
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
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
  berth up --preset site-1000 --speed 600 --faults light
  berth up --plain --for 60s --output json";

/// The smallest and the largest frame that a capture can have.
const CAPTURE_SIZES: std::ops::RangeInclusive<u16> = 50..=400;

/// Runs until stopped.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    // Before anything else: a port that is taken is the most likely mistake.
    let listener = listen(args.listen)?;
    let workload = workload(args)?;
    let policy = policy::named(&args.policy).expect("the parser accepts names of the catalogue");
    let embedded = Embedded::found(&workload, policy, args.seed, args.faults.into())
        .map_err(|error| Failure::unreadable(format!("unable to play {}", workload.name)).because(error))?;
    let options = Options {
        profile: embedded.profile,
        name: workload.name.clone(),
        seed: args.seed,
        start: embedded.start,
        speed: args.speed,
        for_: args.for_,
    };
    drop(workload);
    let control = Arc::new(Control::default());
    let service = Service::start(embedded.scheduler, options, Arc::clone(&control))?;
    let console = Arc::new(Console::new(service.latest()));
    let server = Server::start(listener, Arc::clone(&console), Arc::clone(&control))?;
    let around = Around { url: format!("http://{}", server.address()) };
    let shown = show(args, &console, &control, &around);
    server.stop();
    let last = service.finish().ok_or_else(|| {
        Failure::new(Exit::Internal, "the scheduler has panicked")
            .because("its message stands above")
            .next("this is a defect of Berth: please report it with the seed")
    })?;
    shown?;
    if let Some(path) = &args.capture {
        capture(path, args.capture_size, &last, &around)?;
    }
    let summary = Summary::of(&last);
    output::print(&summary, args.output)?;
    Ok(if summary.invariant_violations > 0 { Exit::Internal } else { Exit::Done })
}

/// Shows the view that fits where the output goes, until the end.
fn show(args: &Args, console: &Console, control: &Control, around: &Around) -> Result<(), Failure> {
    let is_terminal = io::stdout().is_terminal() && io::stdin().is_terminal();
    if args.plain || args.capture.is_some() || !is_terminal {
        eprintln!("{} serves the page, /metrics and /api/v1/snapshot; Ctrl-C ends", around.url);
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
fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    if !address.ip().is_loopback() {
        eprintln!("note: {address} can be reached from other machines, and the console has no login");
    }
    TcpListener::bind(address).map_err(|error| {
        let port = address.port();
        let failure = Failure::usage(format!("unable to listen on {address}"));
        if error.kind() == io::ErrorKind::AddrInUse {
            let other = if port == u16::MAX { 8420 } else { port + 1 };
            failure
                .because(format!("port {port} is in use, perhaps by another `berth up`"))
                .next(format!("stop that one, or take another port: --listen {}:{other}", address.ip()))
        } else {
            failure.because(error).next("name an address of this machine: --listen 127.0.0.1:8420")
        }
    })
}

/// What the cluster is made of and what is asked of it.
fn workload(args: &Args) -> Result<Workload, Failure> {
    Ok(demo(args))
}

/// Writes the last frame as a picture or as text, by the name of the file.
fn capture(path: &Path, size: (u16, u16), last: &Published, around: &Around) -> Result<(), Failure> {
    let frame = tui::capture::frame(&View::of(last), around, Look::FULL, size);
    let is_svg = path.extension().is_some_and(|extension| extension == "svg");
    let text = if is_svg {
        tui::capture::svg(&frame, "Berth's terminal view: GPUs, who waits and why, queues, events")
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
    let wrong = || format!("give WIDTHxHEIGHT, each from {} to {}", CAPTURE_SIZES.start(), CAPTURE_SIZES.end());
    let (width, height) = text.split_once('x').ok_or_else(wrong)?;
    match (width.parse(), height.parse()) {
        (Ok(width), Ok(height)) if CAPTURE_SIZES.contains(&width) && height <= *CAPTURE_SIZES.end() => {
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

// TEMP
fn demo(args: &Args) -> Workload {
    use berth_core::amount::*; use berth_core::model::gpu::GpuMode; use berth_core::time::*; use berth_sim::workload::*;
    let mut r = berth_core::stream::Stream::from_seed(args.seed);
    let mut nodes = Vec::new();
    let big = args.preset != "small";
    let mut add = |n: usize, name: &str, gpus: u8, model: &str, gib, mode| for i in 0..n {
        nodes.push(NodeTemplate { name: format!("{name}-{i:02}"), cpu: MilliCpu::from_cores(96), memory: Bytes::from_gib(768), pod_slots: 110, gpus, gpu_model: model.into(), gpu_memory: Bytes::from_gib(gib), gpu_mode: mode });
    };
    let k = if big { 4 } else { 1 };
    add(3*k, "h100", 8, "H100", 80, GpuMode::Exclusive);
    add(4*k, "a100", 8, "A100", 80, GpuMode::TimeSlice);
    add(1*k, "a100-mig", 4, "A100", 80, GpuMode::Mig);
    add(5*k, "l40s", 4, "L40S", 48, GpuMode::TimeSlice);
    add(8*k, "t4", 2, "T4", 16, GpuMode::TimeSlice);
    add(2, "cpu", 0, "", 0, GpuMode::Exclusive);
    let mut queues = vec![QueueTemplate { name: "site".into(), parent: None, limit: None }];
    for t in ["vision", "speech", "physics", "biology", "robotics"] { queues.push(QueueTemplate { name: t.into(), parent: Some("site".into()), limit: Some(GpuUnits::ONE_GPU * 24 * k as i64) }); 
      for u in 0..(if big {200} else {8}) { queues.push(QueueTemplate{name: format!("{t}/u{u:03}"), parent: Some(t.into()), limit: Some(GpuUnits::ONE_GPU*16)}); } }
    let teams: Vec<String> = queues.iter().filter(|q| q.name.contains('/')).map(|q| q.name.clone()).collect();
    let mut jobs = Vec::new();
    let mut at = 0i64;
    for i in 0..200_000u64 {
        at += 1 + (r.below(if big { 60_000 } else { 300_000 })) as i64;
        let queue = teams[r.below(teams.len() as u64) as usize].clone();
        let (kind, gpu, models, pods, cpu) = match r.below(100) {
            0..=29 => (JobKind::Interactive, GpuAsk::Share { compute: GpuUnits(1000 * (1 + r.below(5) as i64)), memory: Bytes::ZERO }, vec![], 1, 4),
            30..=69 => (JobKind::Batch, GpuAsk::Whole(1), vec![], 1, 8),
            70..=79 => (JobKind::Batch, GpuAsk::Whole(1), vec!["H100".into()], 1, 8),
            80..=87 => (JobKind::Batch, GpuAsk::Whole(4), vec!["A100".into(), "H100".into()], 1, 16),
            88..=92 => (JobKind::Batch, GpuAsk::Mig("1g.10gb".into()), vec![], 1, 2),
            93..=95 => (JobKind::Gang, GpuAsk::Whole(8), vec!["H100".into()], 2, 32),
            _ => (JobKind::Batch, GpuAsk::None, vec![], 1, 8),
        };
        let (pods_min, user) = (if kind == JobKind::Gang { pods } else { 1 }, queue.clone());
        jobs.push(Job { name: format!("{}-{i}", queue), user, queue, kind, priority: 0, arrival: Time(at), run: Some(Span::from_mins(10 + r.below(600) as i64)), pods, pods_min, ask: Ask { cpu: MilliCpu::from_cores(cpu), memory: Bytes::from_gib(16), gpu, models }, busy_permille: 500 });
    }
    Workload { name: format!("site:{}", args.preset), nodes, queues, vgpu_profiles: vec![], jobs }
}
