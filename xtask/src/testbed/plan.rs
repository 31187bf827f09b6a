//! Which processes make up a testbed, and with which arguments: a function of options and ports.
//!
//! Invariant: every address in an argument is a loopback address.
//! Deliberately absent: starting anything.

use std::path::{Path, PathBuf};

use super::daemon::Spec;
use super::options::Options;

/// Addresses of Services; nothing routes them, they only have to be given out.
const SERVICE_RANGE: &str = "10.96.0.0/16";
/// Turns on core PodGroup and Workload, which Kubernetes 1.37 serves as a beta that is off.
const FEATURE_GATES: &str = "--feature-gates=GenericWorkload=true";
const RUNTIME_CONFIG: &str = "--runtime-config=scheduling.k8s.io/v1beta1=true";

/// Folders with programs, by stage.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    pub etcd: PathBuf,
    pub kubernetes: PathBuf,
    pub fake_kubelet: PathBuf,
}

/// Ports of one testbed, none of them twice.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    /// Client and peer port of each etcd member.
    pub etcd: Vec<(u16, u16)>,
    pub apiservers: Vec<u16>,
    pub controller_manager: u16,
    pub scheduler: u16,
    pub kubelet: u16,
}

/// Everything that a plan is made from.
#[derive(Clone, Debug)]
pub(super) struct Site<'a> {
    pub options: &'a Options,
    pub programs: &'a Programs,
    pub ports: &'a Ports,
    /// The testbed's own folder.
    pub folder: &'a Path,
}

impl Site<'_> {
    /// etcd and the API servers: they may all start at once, and are waited for.
    pub(super) fn control_plane(&self) -> Vec<Spec> {
        let etcd = (0..self.options.n_etcd()).map(|index| self.etcd(index));
        let servers = (0..self.options.n_apiservers()).map(|index| self.apiserver(index));
        etcd.chain(servers).collect()
    }

    /// What talks to the API servers once they are ready.
    pub(super) fn clients(&self) -> Vec<Spec> {
        let mut specs = Vec::new();
        if !self.options.without_controller_manager {
            specs.push(self.controller_manager());
        }
        if self.options.kube_scheduler {
            specs.push(self.scheduler());
        }
        if self.options.fake_nodes > 0 {
            specs.push(self.fake_kubelet());
        }
        specs
    }

    pub(super) fn server_url(&self, index: usize) -> String {
        format!("https://127.0.0.1:{}", self.ports.apiservers[index])
    }

    fn etcd(&self, index: usize) -> Spec {
        let (client, peer) = self.ports.etcd[index];
        let members: Vec<String> = (self.ports.etcd.iter().enumerate())
            .map(|(member, (_, port))| format!("etcd-{member}=http://127.0.0.1:{port}"))
            .collect();
        let name = format!("etcd-{index}");
        let arguments = vec![
            format!("--name={name}"),
            format!("--data-dir={}", self.path(&name)),
            format!("--listen-client-urls=http://127.0.0.1:{client}"),
            format!("--advertise-client-urls=http://127.0.0.1:{client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
            format!("--initial-cluster={}", members.join(",")),
            // The data is thrown away with the testbed, and outlives a killed process without it.
            "--unsafe-no-fsync=true".to_owned(),
            "--quota-backend-bytes=8589934592".to_owned(), // 150,000 pods overflow the default 2 GiB
            "--log-level=warn".to_owned(),
        ];
        spec(name, self.programs.etcd.join("etcd"), arguments)
    }

    fn apiserver(&self, index: usize) -> Spec {
        let port = self.ports.apiservers[index];
        let stores: Vec<String> = (self.ports.etcd.iter())
            .map(|(client, _)| format!("http://127.0.0.1:{client}"))
            .collect();
        let mut arguments = vec![
            format!("--etcd-servers={}", stores.join(",")),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", self.path("pki/server.crt")),
            format!("--tls-private-key-file={}", self.path("pki/server.key")),
            format!("--client-ca-file={}", self.path("pki/ca.crt")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!(
                "--service-account-key-file={}",
                self.path("pki/service-account.pub")
            ),
            format!(
                "--service-account-signing-key-file={}",
                self.path("pki/service-account.key")
            ),
            format!("--service-cluster-ip-range={SERVICE_RANGE}"),
            "--authorization-mode=Node,RBAC".to_owned(),
            "--enable-admission-plugins=NodeRestriction".to_owned(),
            "--endpoint-reconciler-type=none".to_owned(), // nothing routes to the Service anyway
            "--allow-privileged=true".to_owned(),
            "--profiling=false".to_owned(),
            FEATURE_GATES.to_owned(),
            RUNTIME_CONFIG.to_owned(),
        ];
        if self.options.without_controller_manager {
            // Nobody makes the account that this plugin would insist on.
            arguments.push("--disable-admission-plugins=ServiceAccount".to_owned());
        }
        let name = format!("kube-apiserver-{index}");
        spec(name, self.kubernetes("kube-apiserver"), arguments)
    }

    /// What every component beside the API servers is told.
    fn component(&self, name: &str, port: u16) -> Vec<String> {
        let kubeconfig = self.path(&format!("users/{name}.kubeconfig"));
        vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            // Metrics are read with a client certificate; there is no front proxy to look up.
            "--authentication-skip-lookup=true".to_owned(),
            format!("--client-ca-file={}", self.path("pki/ca.crt")),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            format!("--cert-dir={}", self.path(&format!("pki/{name}"))),
            "--leader-elect=false".to_owned(), // there is one of each
            "--profiling=false".to_owned(),
            FEATURE_GATES.to_owned(),
        ]
    }

    fn controller_manager(&self) -> Spec {
        let mut arguments =
            self.component("kube-controller-manager", self.ports.controller_manager);
        arguments.extend([
            "--use-service-account-credentials=true".to_owned(),
            format!(
                "--service-account-private-key-file={}",
                self.path("pki/service-account.key")
            ),
            format!("--root-ca-file={}", self.path("pki/ca.crt")),
            "--kube-api-qps=500".to_owned(), // the default of 20 would decide every measurement
            "--kube-api-burst=1000".to_owned(),
        ]);
        spec(
            "kube-controller-manager".to_owned(),
            self.kubernetes("kube-controller-manager"),
            arguments,
        )
    }

    fn scheduler(&self) -> Spec {
        let mut arguments = self.component("kube-scheduler", self.ports.scheduler);
        arguments.extend([
            "--kube-api-qps=5000".to_owned(), // so that the scheduler is measured, not its throttle
            "--kube-api-burst=10000".to_owned(),
        ]);
        spec(
            "kube-scheduler".to_owned(),
            self.kubernetes("kube-scheduler"),
            arguments,
        )
    }

    fn fake_kubelet(&self) -> Spec {
        let mut arguments = vec![
            format!(
                "--kubeconfig={}",
                self.path("users/fake-kubelet.kubeconfig")
            ),
            format!("--nodes={}", self.options.fake_nodes),
            format!("--ready-file={}", self.path("fake-kubelet.ready")),
        ];
        match &self.options.shape {
            Some(shape) => arguments.push(format!("--shape={}", shape.display())),
            None => arguments.push(format!("--gpus={}", self.options.gpus)),
        }
        if self.options.dra {
            arguments.push("--dra".to_owned());
        }
        if self.options.still_pods {
            arguments.push("--still-pods".to_owned());
        }
        let program = self.programs.fake_kubelet.clone();
        spec("fake-kubelet".to_owned(), program, arguments)
    }

    fn kubernetes(&self, program: &str) -> PathBuf {
        self.programs.kubernetes.join(program)
    }

    fn path(&self, relative: &str) -> String {
        self.folder.join(relative).display().to_string()
    }
}

fn spec(name: String, program: PathBuf, arguments: Vec<String>) -> Spec {
    Spec {
        name,
        program,
        arguments,
        search_path: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(n: &str) -> Options {
        Options {
            etcd: n.to_owned(),
            apiservers: n.to_owned(),
            without_controller_manager: false,
            kube_scheduler: true,
            fake_nodes: 5,
            gpus: 8,
            shape: None,
            dra: true,
            still_pods: true,
            real_node: false,
        }
    }

    fn all(options: &Options) -> Vec<Spec> {
        let programs = Programs {
            etcd: PathBuf::from("/e"),
            kubernetes: PathBuf::from("/k"),
            fake_kubelet: PathBuf::from("/f/fake-kubelet"),
        };
        let ports = Ports {
            etcd: (0..3).map(|i| (1_000 + i, 2_000 + i)).collect(),
            apiservers: (0..3).map(|i| 3_000 + i).collect(),
            controller_manager: 4_000,
            scheduler: 4_001,
            kubelet: 4_002,
        };
        let site = Site {
            options,
            programs: &programs,
            ports: &ports,
            folder: Path::new("/t"),
        };
        let mut specs = site.control_plane();
        specs.extend(site.clients());
        specs
    }

    #[test]
    fn every_server_listens_on_loopback_alone() {
        for spec in all(&options("3")) {
            for argument in &spec.arguments {
                assert!(!argument.contains("0.0.0.0"), "{argument}");
                if argument.contains("-urls=") || argument.contains("-address=") {
                    assert!(argument.contains("127.0.0.1"), "{argument}");
                }
            }
        }
    }

    #[test]
    fn quorum_options_give_that_many_processes_with_names_of_their_own() {
        let specs = all(&options("3"));
        let named = |prefix: &str| specs.iter().filter(|s| s.name.starts_with(prefix)).count();
        assert_eq!(named("etcd-"), 3);
        assert_eq!(named("kube-apiserver-"), 3);
        assert_eq!(specs.len(), 9);
        let names: std::collections::BTreeSet<_> = specs.iter().map(|s| &s.name).collect();
        assert_eq!(names.len(), specs.len());
    }

    #[test]
    fn without_controller_manager_pods_need_no_account() {
        let mut options = options("1");
        options.without_controller_manager = true;
        let specs = all(&options);
        assert!(specs.iter().all(|s| s.name != "kube-controller-manager"));
        let server = specs.iter().find(|s| s.name == "kube-apiserver-0").unwrap();
        assert!(
            (server.arguments.iter()).any(|a| a == "--disable-admission-plugins=ServiceAccount")
        );
    }
}
