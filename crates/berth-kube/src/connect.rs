//! How an API server is reached: from inside the cluster, or as a kubeconfig says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

/// The longest that a connection may take to come about.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(5);

/// Which API server.
#[derive(Debug, Clone, Default)]
pub struct Target {
    /// A kubeconfig; without one `KUBECONFIG`, `~/.kube/config` or the pod's own account count.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it; without one the current context counts.
    pub context: Option<String>,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("unable to read the kubeconfig {path}: {why}")]
    Kubeconfig {
        path: String,
        why: kube::config::KubeconfigError,
    },
    #[error("neither a kubeconfig nor a pod's account leads to an API server: {0}")]
    Nowhere(kube::config::InferConfigError),
    #[error("unable to make a client: {0}")]
    Client(kube::Error),
}

/// A client for `target`, and what the cluster is called.
///
/// # Errors
/// If nothing says where the API server is, or its certificates can't be read.
pub async fn connect(target: &Target) -> Result<(Client, String), ConnectError> {
    let options = KubeConfigOptions {
        context: target.context.clone(),
        ..KubeConfigOptions::default()
    };
    let unreadable = |path: &Path| {
        let path = path.display().to_string();
        move |why| ConnectError::Kubeconfig { path, why }
    };
    let mut config = if let Some(path) = &target.kubeconfig {
        let file = Kubeconfig::read_from(path).map_err(unreadable(path))?;
        let read = Config::from_custom_kubeconfig(file, &options).await;
        read.map_err(unreadable(path))?
    } else if target.context.is_some() {
        let read = Config::from_kubeconfig(&options).await;
        read.map_err(unreadable(Path::new("~/.kube/config")))?
    } else {
        Config::infer().await.map_err(ConnectError::Nowhere)?
    };
    config.connect_timeout = Some(CONNECT_TIME_MAX);
    let name = config.cluster_url.host().unwrap_or("kubernetes").to_owned();
    let client = Client::try_from(config).map_err(ConnectError::Client)?;
    Ok((client, target.context.clone().unwrap_or(name)))
}
