//! Users of a testbed: a client certificate each, and a kubeconfig that uses it.
//!
//! A kubeconfig is written as JSON, which is YAML too.
//! Deliberately absent: rights beyond those of the groups; `kubectl create rolebinding` gives them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::process;

/// Where the testbed's users live, under its folder.
const FOLDER: &str = "users";

/// A person or a program that may speak to the API servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct User<'a> {
    /// Name of its files.
    pub file: &'a str,
    /// What the API server calls it.
    pub name: &'a str,
    pub groups: &'a [&'a str],
}

/// Can do everything; the testbed's own kubeconfig is this user's.
pub(super) const ADMIN: User<'static> = User {
    file: "admin",
    name: "kubernetes-admin",
    groups: &["system:masters"],
};

/// The users that the testbed's own programs run as.
/// The fake kubelet is in a group that the API server never throttles, because it stands for
/// thousands of clients.
pub(super) const PROGRAMS: &[User<'static>] = &[
    User {
        file: "kube-controller-manager",
        name: "system:kube-controller-manager",
        groups: &[],
    },
    User {
        file: "kube-scheduler",
        name: "system:kube-scheduler",
        groups: &[],
    },
    User {
        file: "fake-kubelet",
        name: "testbed:fake-kubelet",
        groups: &["system:masters"],
    },
];

/// Makes the testbed's authority, its serving certificate and the key of service accounts.
pub(super) fn make_authority(pki: &Path, folder: &Path) -> anyhow::Result<()> {
    process::require(Command::new(pki).arg("init").arg(folder.join("pki")))?;
    fs::create_dir_all(folder.join(FOLDER))?;
    Ok(())
}

/// Makes a certificate for a user and returns the path of its kubeconfig.
pub(super) fn make(
    pki: &Path,
    folder: &Path,
    user: &User<'_>,
    servers: &[String],
) -> anyhow::Result<PathBuf> {
    let mut command = Command::new(pki);
    command
        .arg("client")
        .arg(folder.join("pki"))
        .args([user.file, user.name])
        .args(user.groups);
    process::require(&mut command)?;
    let path = folder
        .join(FOLDER)
        .join(format!("{}.kubeconfig", user.file));
    let text = serde_json::to_string_pretty(&kubeconfig(folder, user, servers))?;
    fs::write(&path, text)?;
    Ok(path)
}

/// One context a server; the first is the current one.
fn kubeconfig(folder: &Path, user: &User<'_>, servers: &[String]) -> Value {
    let pki = folder.join("pki");
    let cluster = |(index, server): (usize, &String)| {
        json!({
            "name": format!("apiserver-{index}"),
            "cluster": {"server": server, "certificate-authority": pki.join("ca.crt")},
        })
    };
    let context = |(index, _): (usize, &String)| {
        let name = format!("apiserver-{index}");
        json!({"name": name, "context": {"cluster": name, "user": user.name}})
    };
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": servers.iter().enumerate().map(cluster).collect::<Vec<_>>(),
        "contexts": servers.iter().enumerate().map(context).collect::<Vec<_>>(),
        "current-context": "apiserver-0",
        "users": [{
            "name": user.name,
            "user": {
                "client-certificate": pki.join(format!("{}.crt", user.file)),
                "client-key": pki.join(format!("{}.key", user.file)),
            },
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_server_is_a_context_and_the_first_is_current() {
        let servers = [
            "https://127.0.0.1:1".to_owned(),
            "https://127.0.0.1:2".to_owned(),
        ];
        let config = kubeconfig(Path::new("/t"), &ADMIN, &servers);
        assert_eq!(config["contexts"].as_array().unwrap().len(), 2);
        assert_eq!(config["current-context"], config["contexts"][0]["name"]);
        assert_eq!(config["clusters"][1]["cluster"]["server"], servers[1]);
        let key = &config["users"][0]["user"]["client-key"];
        assert_eq!(key, "/t/pki/admin.key");
    }
}
