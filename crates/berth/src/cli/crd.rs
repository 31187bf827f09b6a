//! `berth crd`: what Berth adds to the Kubernetes API.

use berth_kube::connect;
use berth_kube::install::{self, Installed};

use crate::cli::exit::{Exit, Failure};
use crate::cli::scheduler::Reach;

/// Show or install the custom resources that Berth adds to a cluster
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What to do with the definitions.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Print the definitions as YAML, for a repository of manifests
    Print,
    /// Install them in a cluster, or bring them up to date; needs the right to change definitions
    Install(Reach),
}

const EXAMPLES: &str = "\
Examples:
  berth crd print > berth-crds.yaml
  berth crd install --context production";

/// Prints or installs.
pub(crate) fn run(args: &Args) -> Result<Exit, Failure> {
    match &args.command {
        Command::Print => print!("{}", definitions()?),
        Command::Install(reach) => {
            for Installed { name } in install(reach)? {
                println!("{name} installed");
            }
        }
    }
    Ok(Exit::Done)
}

/// Every definition as a YAML document.
pub(crate) fn definitions() -> Result<String, Failure> {
    let mut text = String::new();
    for definition in berth_api::definitions() {
        let document = serde_saphyr::to_string(&definition).map_err(|error| {
            Failure::new(Exit::Internal, "unable to write a definition").because(error)
        })?;
        text.push_str("---\n");
        text.push_str(&document);
    }
    Ok(text)
}

fn install(reach: &Reach) -> Result<Vec<Installed>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Failure::unreadable(what)
            .because(error)
            .next("check --kubeconfig and --context, and your rights on this cluster")
    };
    runtime.block_on(async {
        let connected = connect::connect(&reach.target()).await;
        let (client, _) =
            connected.map_err(|error| failed("unable to reach the cluster", &error))?;
        let installed = install::definitions(&client).await;
        installed.map_err(|error| failed("unable to install the definitions", &error))
    })
}
