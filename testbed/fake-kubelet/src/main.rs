//! `fake-kubelet`: thousands of Kubernetes nodes in one process, with nothing behind them.
//!
//! It registers the nodes, renews their leases, and plays the kubelet's part in the life of every
//! pod that is bound to one of them: it runs, ends after the time that an annotation names, and goes
//! when it is deleted.
//! Deliberately absent: containers, images, networks, logs and exec.

mod ledger;
mod life;
mod object;
mod pod;
mod register;
mod shape;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Parser;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::ledger::Ledger;
use crate::object::Offer;
use crate::shape::FakeNode;

/// Thousands of Kubernetes nodes in one process, for tests.
#[derive(Debug, Parser)]
struct Args {
    /// How to reach the API server
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Number of nodes
    #[arg(long, value_name = "N")]
    nodes: usize,
    /// GPUs of each node, where no shapes are given
    #[arg(long, value_name = "N", default_value_t = 8)]
    gpus: u32,
    /// Shapes of the nodes, with counts whose proportions are kept
    #[arg(long, value_name = "FILE")]
    shape: Option<PathBuf>,
    /// Offer GPUs as ResourceSlices instead of an extended resource
    #[arg(long)]
    dra: bool,
    /// Leave pods as they are bound: none runs, ends or reports anything
    #[arg(long)]
    still_pods: bool,
    /// File to make once all nodes are registered
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let shapes = match &args.shape {
        Some(path) => shape::load(path)?,
        None => shape::uniform(args.gpus),
    };
    let nodes = shape::nodes(&shapes, args.nodes)?;
    let offer = if args.dra {
        Offer::ResourceSlices
    } else {
        Offer::ExtendedResource
    };
    let client = connect(&args.kubeconfig).await?;
    let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        result = serve(&client, &nodes, offer, &args) => result,
        _ = end.recv() => Ok(()),
    }
}

async fn serve(
    client: &Client,
    nodes: &[FakeNode<'_>],
    offer: Offer,
    args: &Args,
) -> anyhow::Result<()> {
    register::register(client, nodes, offer).await?;
    println!("registered {} nodes", nodes.len());
    if let Some(path) = &args.ready_file {
        std::fs::write(path, "").with_context(|| format!("unable to make {}", path.display()))?;
    }
    let mut ledger = Ledger::default();
    for node in nodes {
        ledger.add_node(&node.name, u64::from(node.shape.gpus));
    }
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let leases = register::keep_leases(client, &names);
    if args.still_pods {
        leases.await;
        return Ok(());
    }
    tokio::select! {
        result = life::live(client, ledger) => result,
        () = leases => Ok(()),
    }
}

async fn connect(kubeconfig: &Path) -> anyhow::Result<Client> {
    let file = Kubeconfig::read_from(kubeconfig)
        .with_context(|| format!("unable to read {}", kubeconfig.display()))?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
