//! ConfigMaps: only those that rules read keep their values.

use crate::dump::lenient::{Pairs, object};
use crate::dump::text::Text;
use crate::dump::{Object as _, Record};

object! {
    /// A ConfigMap.
    pub struct ConfigMap {
        /// Values by key; empty for maps that no rule reads.
        pub data: Pairs<Text>,
    }
}

/// Maps whose name contains one of these keep their values.
const KEPT: [&str; 19] = [
    "device-plugin",
    "time-slicing",
    "mig-parted",
    "mig-config",
    "nvidia",
    "dcgm",
    "exporter-metrics",
    "gpu",
    "hami",
    "calico-config",
    "kubeadm-config",
    "kubelet-config",
    "kube-proxy",
    "coredns",
    "kube-vip",
    "haproxy",
    "keepalived",
    "notebook-controller",
    "scheduler",
];

/// Values whose key says that they are secret are dropped in kept maps too.
const SECRET_KEYS: [&str; 5] = ["password", "secret", "token", "key.pem", "kubeconfig"];

impl Record for ConfigMap {
    fn redact(&mut self) {
        if !KEPT.iter().any(|kept| self.meta().name.contains(kept)) {
            self.data = Pairs::default();
        }
        self.data.0.retain(|(key, _)| {
            let key = key.to_ascii_lowercase();
            !SECRET_KEYS.iter().any(|secret| key.contains(secret))
        });
    }
}
