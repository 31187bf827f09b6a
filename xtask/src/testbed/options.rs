//! What a person asks for with `cargo xtask testbed up`.
//!
//! Invariant: options that came through [`Options::check`] describe a cluster that can exist.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::Usage;

/// Most fake nodes: twice what Kubernetes itself is tested with.
const FAKE_NODES_MAX: u32 = 10_000;
/// Longest name: it becomes a folder and part of node names.
const NAME_LENGTH_MAX: usize = 32;

/// Which testbed is meant.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Named {
    /// Name of the testbed; several with different names can run at once
    #[arg(long, default_value = "default")]
    pub name: String,
}

/// The cluster to start.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Members of the etcd cluster
    #[arg(long, value_name = "1|3", default_value = "1", value_parser = ["1", "3"])]
    pub etcd: String,
    /// API servers, each with a context of its own in the kubeconfig
    #[arg(long, value_name = "1|3", default_value = "1", value_parser = ["1", "3"])]
    pub apiservers: String,
    /// Leave kube-controller-manager out: no jobs, no claims from templates, no garbage collection
    #[arg(long)]
    pub without_controller_manager: bool,
    /// Run kube-scheduler too
    #[arg(long)]
    pub kube_scheduler: bool,
    /// Nodes without a machine behind them; their pods run and end by annotation
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub fake_nodes: u32,
    /// GPUs of each fake node, where no shapes are given
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub gpus: u32,
    /// Shapes of the fake nodes, such as testbed/shapes/openb.json
    #[arg(long, value_name = "FILE")]
    pub shape: Option<PathBuf>,
    /// Publish the fake nodes' GPUs as ResourceSlices instead of an extended resource
    #[arg(long)]
    pub dra: bool,
    /// Leave pods on fake nodes as they are bound: none runs, ends or reports anything
    #[arg(long)]
    pub still_pods: bool,
    /// Add a node with kubelet and containerd that runs real containers; needs root
    #[arg(long)]
    pub real_node: bool,
}

impl Options {
    /// The smallest control plane with alike nodes.
    pub(crate) fn fake_nodes(n: u32) -> Self {
        Self {
            etcd: "1".to_owned(),
            apiservers: "1".to_owned(),
            without_controller_manager: false,
            kube_scheduler: false,
            fake_nodes: n,
            gpus: 8,
            shape: None,
            dra: false,
            still_pods: false,
            real_node: false,
        }
    }

    /// The smallest control plane with a node that runs containers.
    pub(crate) fn real_node() -> Self {
        Self {
            real_node: true,
            ..Self::fake_nodes(0)
        }
    }

    pub(super) fn n_etcd(&self) -> usize {
        count(&self.etcd)
    }

    pub(super) fn n_apiservers(&self) -> usize {
        count(&self.apiservers)
    }

    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.fake_nodes > FAKE_NODES_MAX {
            let text = format!("--fake-nodes takes at most {FAKE_NODES_MAX}");
            return Err(Usage(text).into());
        }
        if self.fake_nodes == 0 && (self.shape.is_some() || self.dra || self.still_pods) {
            let text = "--shape, --dra and --still-pods describe fake nodes; say how many with --fake-nodes";
            return Err(Usage(text.to_owned()).into());
        }
        if self.real_node && self.without_controller_manager {
            let text = "--real-node needs the controller manager, which makes its node ready";
            return Err(Usage(text.to_owned()).into());
        }
        Ok(())
    }

    /// For comparing what runs with what is asked for.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "etcd": self.etcd,
            "apiservers": self.apiservers,
            "controller_manager": !self.without_controller_manager,
            "kube_scheduler": self.kube_scheduler,
            "fake_nodes": self.fake_nodes,
            "gpus": self.gpus,
            "shape": self.shape,
            "dra": self.dra,
            "still_pods": self.still_pods,
            "real_node": self.real_node,
        })
    }
}

/// Names become folders, so they are short and hold nothing that a path could trip over.
pub(super) fn check_name(name: &str) -> anyhow::Result<()> {
    let is_fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let fits = !name.is_empty() && name.len() <= NAME_LENGTH_MAX;
    if fits && name.chars().all(is_fine) && !name.starts_with('-') {
        return Ok(());
    }
    let text = format!(
        "{name:?} is no name for a testbed: use up to {NAME_LENGTH_MAX} of a-z, 0-9 and `-`"
    );
    Err(Usage(text).into())
}

/// The parser of the command line has let nothing else through.
fn count(text: &str) -> usize {
    if text == "3" { 3 } else { 1 }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn parse(words: &[&str]) -> Options {
        let line = std::iter::once("up").chain(words.iter().copied());
        Line::try_parse_from(line).unwrap().options
    }

    #[test]
    fn name_is_a_folder_and_nothing_more() {
        for (name, fine) in [
            ("default", true),
            ("a-2", true),
            ("", false),
            ("..", false),
            ("a/b", false),
            ("-rf", false),
            ("Upper", false),
        ] {
            assert_eq!(check_name(name).is_ok(), fine, "{name}");
        }
        assert!(check_name(&"a".repeat(NAME_LENGTH_MAX + 1)).is_err());
    }

    #[test]
    fn shapes_without_nodes_are_refused() {
        assert!(parse(&["--shape", "x.json"]).check().is_err());
        assert!(parse(&["--dra"]).check().is_err());
        assert!(parse(&["--still-pods"]).check().is_err());
        assert!(parse(&["--dra", "--fake-nodes", "1"]).check().is_ok());
        assert!(parse(&["--fake-nodes", "10001"]).check().is_err());
    }

    #[test]
    fn quorum_is_one_or_three() {
        assert_eq!(parse(&[]).n_etcd(), 1);
        assert_eq!(
            parse(&["--etcd", "3", "--apiservers", "3"]).n_apiservers(),
            3
        );
        assert!(Line::try_parse_from(["up", "--etcd", "2"]).is_err());
    }
}
