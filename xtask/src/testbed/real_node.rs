//! A real node: containerd and kubelet of this testbed's own, in its own folder.
//!
//! Containers come from the one image that the testbed makes itself; nothing is pulled.
//! Invariant: containers are ended before containerd is, and what is mounted below the folder is
//! unmounted before the folder is removed.
//! Deliberately absent: reading logs and `exec` through the API server, because the kubelet listens
//! on loopback alone and the API server would look for it at the machine's address.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use serde_json::json;

use super::daemon::Spec;
use super::users::User;
use crate::process;

/// Name of the node.
pub(super) const NODE: &str = "real-0";
/// The kubelet's user: the node authorizer lets it do what a kubelet does.
pub(super) const USER: User<'static> = User {
    file: "kubelet",
    name: "system:node:real-0",
    groups: &["system:nodes"],
};
/// What pods call the image; the maker of the archive writes the same.
const IMAGE: &str = "testbed.berth.dev/image:1";
/// Where Debian puts the network plugins.
const CNI_FOLDER: &str = "/usr/lib/cni";
/// Debian packages that a node needs besides what is built.
const PACKAGES: [&str; 2] = ["runc", "containernetworking-plugins"];
/// containerd's name for the kubelet's part of its world.
const NAMESPACE: &str = "k8s.io";

/// What a real node is made from.
#[derive(Clone, Debug)]
pub(super) struct RealNode {
    /// The testbed's folder.
    pub testbed: PathBuf,
    /// Folder with containerd, its shim and ctr.
    pub containerd: PathBuf,
    /// The program that makes the image, and is in it.
    pub image: PathBuf,
    pub kubelet: PathBuf,
    pub port: u16,
}

/// Why there can be no real node here, if so.
pub(crate) fn is_impossible() -> Option<String> {
    if !Uid::effective().is_root() {
        return Some("a real node needs root".to_owned());
    }
    let socket = Path::new(DEVICE_PLUGINS).join("kubelet.sock");
    UnixStream::connect(socket)
        .is_ok()
        .then(|| "another kubelet runs on this machine".to_owned())
}

/// Settings of the machine that the kubelet and the network plugin change; `clean` puts them back.
const SETTINGS: [&str; 6] = [
    "/proc/sys/kernel/keys/root_maxbytes",
    "/proc/sys/kernel/keys/root_maxkeys",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/vm/overcommit_memory",
];
/// Where a kubelet's device plugins register, whatever its own folder is.
const DEVICE_PLUGINS: &str = "/var/lib/kubelet/device-plugins";
/// Where a kubelet links the logs of containers, likewise.
const LOG_LINKS: &str = "/var/log/containers";
/// Folders outside our own that these programs insist on; they go when they are empty.
const FOREIGN_FOLDERS: [&str; 9] = [
    LOG_LINKS,
    "/var/lib/cni/results",
    "/var/lib/cni",
    DEVICE_PLUGINS,
    "/var/lib/kubelet",
    "/run/containerd/s",
    "/run/containerd/runc/k8s.io",
    "/run/containerd/runc",
    "/run/containerd",
];
/// Where control groups are; each controller has the group of the containers.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Installs what Debian has and the machine lacks.
pub(super) fn require_packages() -> anyhow::Result<()> {
    if let Some(why) = is_impossible() {
        bail!("{why}; leave --real-node out, or try another user or machine");
    }
    let has_runc = Command::new("runc").arg("--version").output().is_ok();
    if has_runc && Path::new(CNI_FOLDER).join("ptp").exists() {
        return Ok(());
    }
    println!("installing {}", PACKAGES.join(" and "));
    let mut install = Command::new("apt-get");
    install
        .env("DEBIAN_FRONTEND", "noninteractive")
        .args(["install", "-y", "-q", "--no-install-recommends"])
        .args(PACKAGES);
    process::require(&mut install).with_context(|| {
        format!(
            "a real node needs the Debian packages {}; install them and try again",
            PACKAGES.join(" and ")
        )
    })
}

impl RealNode {
    /// Writes the configuration and makes the image.
    pub(super) fn prepare(&self) -> anyhow::Result<()> {
        for folder in ["cni", "cdi", "pod-logs", "kubelet"] {
            fs::create_dir_all(self.folder().join(folder))?;
        }
        let settings = SETTINGS.map(|path| {
            let value = fs::read_to_string(path).unwrap_or_default();
            format!("{path} {}\n", value.trim())
        });
        fs::write(self.path("settings"), settings.concat())?;
        fs::write(
            self.path("containerd.toml"),
            self.containerd_configuration(),
        )?;
        fs::write(
            self.path("cni/10-testbed.conflist"),
            network(&self.path("addresses")).to_string(),
        )?;
        let kubelet = serde_json::to_string_pretty(&self.kubelet_configuration())?;
        fs::write(self.path("kubelet.json"), kubelet)?;
        let mut archive = Command::new(&self.image);
        process::require(archive.arg("archive").arg(self.path("image.tar")))
    }

    pub(super) fn containerd(&self) -> Spec {
        Spec {
            name: "containerd".to_owned(),
            program: self.containerd.join("containerd"),
            arguments: vec![format!("--config={}", self.path("containerd.toml"))],
            search_path: vec![self.containerd.clone()], // the shim is looked up there
        }
    }

    pub(super) fn kubelet(&self) -> Spec {
        let user = self.testbed.join("users/kubelet.kubeconfig");
        Spec {
            name: "kubelet".to_owned(),
            program: self.kubelet.clone(),
            arguments: vec![
                format!("--config={}", self.path("kubelet.json")),
                format!("--kubeconfig={}", user.display()),
                format!("--root-dir={}", self.path("kubelet")),
                format!("--cert-dir={}", self.path("kubelet/pki")),
                format!("--hostname-override={NODE}"),
            ],
            search_path: Vec::new(),
        }
    }

    /// True once containerd has the image.
    pub(super) fn import_image(&self) -> bool {
        let mut ctr = ctr(&self.testbed);
        ctr.args(["images", "import", "--local"])
            .arg(self.path("image.tar"));
        ctr.output().is_ok_and(|output| output.status.success())
    }

    fn containerd_configuration(&self) -> String {
        let folder = self.folder();
        let folder = folder.display();
        format!(
            r#"version = 3
root = "{folder}/containerd-root"
state = "{folder}/containerd-state"
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
address = "{folder}/containerd.sock"

[ttrpc]
address = "{folder}/containerd.sock.ttrpc"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "{IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
netns_mounts_under_state_dir = true
cdi_spec_dirs = ["{folder}/cdi"]

[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["{CNI_FOLDER}"]
conf_dir = "{folder}/cni"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = false
Root = "{folder}/runc"
"#
        )
    }

    fn kubelet_configuration(&self) -> serde_json::Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": self.port,
            "readOnlyPort": 0,
            "healthzPort": 0,
            "containerRuntimeEndpoint": format!("unix://{}", self.path("containerd.sock")),
            "podLogsDir": self.path("pod-logs"),
            "cgroupDriver": "cgroupfs",
            // Machines for tests are often on the first version of control groups, and may not
            // make groups of their own for quality of service.
            "failCgroupV1": false,
            "cgroupsPerQOS": false,
            "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": false,
            "evictionHard": {"memory.available": "50Mi"},
            "failSwapOn": false,
            "makeIPTablesUtilChains": false, // they would outlive the testbed
            "resolvConf": "",
            "authentication": {
                "anonymous": {"enabled": false},
                "webhook": {"enabled": true},
                "x509": {"clientCAFile": self.testbed.join("pki/ca.crt")},
            },
            "authorization": {"mode": "Webhook"},
        })
    }

    fn folder(&self) -> PathBuf {
        folder(&self.testbed)
    }

    fn path(&self, relative: &str) -> String {
        self.folder().join(relative).display().to_string()
    }
}

/// Ends the pods on the node while its kubelet still runs, so that networks and mounts go in order.
pub(super) fn drain(testbed: &Path) {
    if !folder(testbed).exists() {
        return;
    }
    let mut kubectl = Command::new(testbed.join("bin/kubectl"));
    kubectl
        .arg("--kubeconfig")
        .arg(testbed.join("kubeconfig"))
        .args(["delete", "pods", "--all-namespaces", "--grace-period=1"])
        .arg(format!("--field-selector=spec.nodeName={NODE}"))
        .arg("--timeout=30s");
    // A node that can't be drained is cleaned by hand below.
    let _ = kubectl.output();
}

/// Ends every container that is left; containerd still runs, and the kubelet no longer does.
pub(super) fn end_containers(testbed: &Path) {
    if !folder(testbed).exists() {
        return;
    }
    let Ok(listed) = ctr(testbed).args(["tasks", "list", "--quiet"]).output() else {
        return;
    };
    for task in String::from_utf8_lossy(&listed.stdout).split_whitespace() {
        let _ = ctr(testbed)
            .args(["tasks", "delete", "--force", task])
            .output();
    }
}

/// Ends shims whose containerd is gone, unmounts what is mounted below the folder, and takes back
/// what was done to the machine outside it.
pub(super) fn clean(testbed: &Path) {
    let folder = folder(testbed);
    if !folder.exists() {
        return;
    }
    for pid in shims(&folder) {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let below = mounts.lines().filter_map(|line| line.split(' ').nth(1));
    let mut points: Vec<&str> = below
        .filter(|p| Path::new(p).starts_with(&folder))
        .collect();
    points.reverse(); // the innermost was mounted last
    for point in points {
        let _ = Command::new("umount").args(["--lazy", point]).output();
    }
    restore_settings(&folder);
    remove_foreign(&folder);
}

fn restore_settings(folder: &Path) {
    let saved = fs::read_to_string(folder.join("settings")).unwrap_or_default();
    for (path, value) in saved.lines().filter_map(|line| line.split_once(' ')) {
        let present = fs::read_to_string(path).unwrap_or_default();
        if SETTINGS.contains(&path) && present.trim() != value {
            let _ = fs::write(path, value);
        }
    }
}

/// Removes links into our folder, and folders that are empty then; whatever else is there stays.
fn remove_foreign(folder: &Path) {
    for entry in fs::read_dir(LOG_LINKS).into_iter().flatten().flatten() {
        if fs::read_link(entry.path()).is_ok_and(|target| target.starts_with(folder)) {
            let _ = fs::remove_file(entry.path());
        }
    }
    for name in ["kubelet.sock", "kubelet_internal_checkpoint"] {
        let _ = fs::remove_file(Path::new(DEVICE_PLUGINS).join(name));
    }
    for foreign in FOREIGN_FOLDERS {
        let _ = fs::remove_dir(foreign);
    }
    let controllers = fs::read_dir(CONTROL_GROUPS).into_iter().flatten().flatten();
    let roots = controllers
        .map(|entry| entry.path())
        .chain([CONTROL_GROUPS.into()]);
    for root in roots {
        let _ = fs::remove_dir(root.join(NAMESPACE));
    }
}

/// Processes that run a shim for this testbed's containerd, which their arguments name.
fn shims(folder: &Path) -> Vec<i32> {
    let socket = folder.join("containerd.sock").display().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
    pids.filter(|pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let mut words = line.split('\0');
        let is_shim = words
            .next()
            .is_some_and(|word| word.ends_with("containerd-shim-runc-v2"));
        is_shim && words.any(|word| word.starts_with(&socket))
    })
    .collect()
}

fn ctr(testbed: &Path) -> Command {
    let mut ctr = Command::new(testbed.join("bin/ctr"));
    let socket = folder(testbed).join("containerd.sock");
    ctr.arg("--address")
        .arg(socket)
        .args(["--namespace", NAMESPACE]);
    ctr
}

fn folder(testbed: &Path) -> PathBuf {
    testbed.join("node")
}

/// A pair of interfaces for each pod, in a network that nothing else uses.
fn network(leases: &str) -> serde_json::Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "testbed",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "dataDir": leases,
                "ranges": [[{"subnet": "10.97.0.0/16"}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}
