//! The list of files of a host that are read, and how they are redacted.
//!
//! Adding one is one line here. Paths are those inside a MicroK8s inspection report.

use std::fmt;

macro_rules! host_files {
    ($($(#[$doc:meta])* $variant:ident $path:literal $redaction:ident;)*) => {
        /// A file of a host.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum HostFile {
            $($(#[$doc])* $variant,)*
        }

        /// Every file that is read, with its path inside a report and its redaction.
        const FILES: &[(HostFile, &str, Redaction)] =
            &[$((HostFile::$variant, $path, Redaction::$redaction),)*];
    };
}

host_files! {
    /// Arguments of the kubelet.
    KubeletArgs "args/kubelet" Secrets;
    /// Arguments of the API server.
    ApiServerArgs "args/kube-apiserver" Secrets;
    /// Arguments of the controller manager.
    ControllerManagerArgs "args/kube-controller-manager" Secrets;
    /// Arguments of the scheduler.
    SchedulerArgs "args/kube-scheduler" Secrets;
    /// Arguments of the proxy.
    ProxyArgs "args/kube-proxy" Secrets;
    /// Arguments of the joined binary.
    KubeliteArgs "args/kubelite" Secrets;
    /// Arguments of the store.
    DqliteArgs "args/k8s-dqlite" Secrets;
    /// Arguments of etcd, on clusters without dqlite.
    EtcdArgs "args/etcd" Secrets;
    /// Ranges of pods and services.
    CniEnv "args/cni-env" None;
    /// The network's manifest as the snap wrote it.
    CniManifest "args/cni-network/cni.yaml" Secrets;
    /// Source of containerd's settings.
    ContainerdTemplate "args/containerd-template.toml" Secrets;
    /// Rendered settings of containerd, written anew at every start.
    ContainerdConfig "args/containerd.toml" Secrets;
    /// Environment of containerd; may hold a proxy's password.
    ContainerdEnv "args/containerd-env" Secrets;
    /// Failure domain.
    HaConf "args/ha-conf" None;
    /// Raft members as this host last saw them.
    DqliteCluster "dqlite/cluster.yaml" None;
    /// This host's own member.
    DqliteInfo "dqlite/info.yaml" None;
    /// This host's own member, until January 2026.
    DqliteLocalNode "dqlite/localnode.yaml" None;
    /// Listing of the store's folder.
    DqliteList "dqlite/list.out" None;
    /// Addresses.
    IpAddr "network/ip-addr" None;
    /// Addresses, in old reports.
    Ifconfig "network/ifconfig" None;
    /// Routes.
    IpRoute "network/ip-route" None;
    /// Filter table.
    IptablesRules "network/iptables-S" None;
    /// Processes; arguments may hold passwords.
    Processes "sys/ps" Secrets;
    /// Disks.
    DiskUsage "sys/disk_usage" None;
    /// Memory.
    MemoryUsage "sys/memory_usage" None;
    /// Uptime.
    Uptime "sys/uptime" None;
    /// Snaps.
    SnapList "sys/snap-list" None;
    /// Distribution.
    LsbRelease "sys/lsb_release" None;
    /// Kernel and name.
    Uname "sys/uname" None;
    /// Limit of asynchronous requests.
    AioMax "sys/aio-max-nr" None;
    /// Asynchronous requests in use.
    AioUsed "sys/aio-nr" None;
    /// Limit of watches.
    InotifyInstances "sys/inotify_max_user_instances" None;
    /// Limit of watched files.
    InotifyWatches "sys/inotify_max_user_watches" None;
    /// Settings of keepalived.
    Keepalived "etc/keepalived/keepalived.conf" Secrets;
    /// Settings of HAProxy.
    Haproxy "etc/haproxy/haproxy.cfg" Secrets;
    /// Output of `nvidia-smi -q`.
    NvidiaSmi "nvidia-smi" None;
    /// Effective settings of the kubelet.
    KubeletConfigz "configz.json" None;
}

/// What happens to a text before it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Redaction {
    /// It carries no secret.
    None,
    /// Passwords in addresses, and values named like secrets, are replaced.
    Secrets,
}

impl HostFile {
    /// The file with this path inside a report.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        FILES
            .iter()
            .find(|(_, known, _)| *known == path)
            .map(|(file, _, _)| *file)
    }

    /// Its path inside a report.
    #[must_use]
    pub fn path(self) -> &'static str {
        FILES[self as usize].1
    }

    /// The text without what must not be kept.
    pub(crate) fn redact(self, text: String) -> String {
        match FILES[self as usize].2 {
            Redaction::None => text,
            Redaction::Secrets => text.lines().map(redact_line).collect::<Vec<_>>().join("\n"),
        }
    }
}

impl fmt::Display for HostFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())
    }
}

/// Words behind which a value is secret.
const SECRET_WORDS: [&str; 6] = [
    "password",
    "passwd",
    "secret",
    "bearer",
    "auth_pass",
    "token",
];

/// Replaces a password in `scheme://user:password@host`, and what follows a secret's name.
fn redact_line(line: &str) -> String {
    let lower = line.to_ascii_lowercase();
    // Paths of files that hold secrets are no secrets: `--token-auth-file=/x`.
    let is_path = lower.contains("-file");
    if !is_path && let Some(word) = SECRET_WORDS.iter().find(|word| lower.contains(**word)) {
        let end = lower.find(word).map_or(0, |at| at + word.len());
        let name_end = line[end..]
            .find([' ', '=', ':', '"'])
            .map_or(line.len(), |at| end + at);
        if name_end < line.len() {
            return format!("{} (redacted)", &line[..name_end]);
        }
    }
    let Some(scheme) = line.find("://") else {
        return line.to_owned();
    };
    let rest = &line[scheme + 3..];
    let authority = rest.split(['/', ' ', '"']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, host)) if user.contains(':') => {
            line.replacen(&format!("{user}@{host}"), &format!("(redacted)@{host}"), 1)
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stand_in_the_order_of_their_enum() {
        for (index, (file, path, _)) in FILES.iter().enumerate() {
            assert_eq!(*file as usize, index);
            assert_eq!(HostFile::of(path), Some(*file));
        }
    }

    #[test]
    fn secrets_are_replaced_and_the_rest_stays() {
        let check = |line: &str, kept: &str| assert_eq!(redact_line(line), kept);
        check(
            "HTTPS_PROXY=http://user:hunter2@proxy:3128",
            "HTTPS_PROXY=http://(redacted)@proxy:3128",
        );
        check("    auth_pass k8s!", "    auth_pass (redacted)");
        check(
            "--token-auth-file=${SNAP_DATA}/known",
            "--token-auth-file=${SNAP_DATA}/known",
        );
        check("--cluster-cidr=10.1.0.0/16", "--cluster-cidr=10.1.0.0/16");
    }
}
