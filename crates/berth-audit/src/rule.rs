//! What a rule is: its code, what it needs, its manual, and a function from a dump to findings.
//!
//! Invariant: a rule sees one dump, one `now` and the site's settings, and nothing else.

use std::cell::OnceCell;
use std::fmt;

use berth_core::time::Time;
use serde::Serialize;

use crate::dump::coverage::Extent;
use crate::dump::host::files::HostFile;
use crate::dump::kinds::Kind;
use crate::dump::text::Text;
use crate::dump::{Dump, Object as _};
use crate::finding::{Confidence, Findings, Severity};
use crate::settings::Settings;

/// A rule of the audit.
#[derive(Debug)]
pub struct Rule {
    /// Two letters of the family and a number: `BN001`. Never used again for another rule.
    pub code: &'static str,
    /// The bad pattern in kebab case, readable as "allow *name*".
    pub name: &'static str,
    /// Its family.
    pub family: Family,
    /// How bad a finding is, unless the finding says otherwise.
    pub severity: Severity,
    /// How sure a finding is, unless the finding says otherwise.
    pub confidence: Confidence,
    /// The version that brought the rule.
    pub since: &'static str,
    /// Its lifecycle.
    pub status: Status,
    /// What must be in the dump for the rule to say anything.
    pub needs: &'static [Need],
    /// The manual page in Markdown, with the headings of [`HEADINGS`].
    pub manual: &'static str,
    /// Looks for the bad pattern.
    pub check: fn(&Cx<'_>, &mut Findings<'_>),
}

/// Headings of every manual page, in order.
pub const HEADINGS: [&str; 6] = [
    "What it finds",
    "Why it matters",
    "How it is decided",
    "Fix",
    "False positives",
    "References",
];

/// A family of rules.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Control plane and MicroK8s.
    ControlPlane,
    /// Network.
    Network,
    /// Storage.
    Storage,
    /// GPUs.
    Gpu,
    /// Scheduling and quota.
    Quota,
    /// Virtual machines.
    Vm,
    /// Tenancy and security.
    Tenancy,
    /// Workloads.
    Workload,
    /// Hosts.
    Host,
}

/// Whether a rule may still change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It may change its mind, name and severity.
    Preview,
    /// It changes only with a note in the changelog.
    Stable,
    /// It goes away; it does not run unless it is asked for.
    Deprecated,
}

/// Something that must be in the dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// Objects of a kind; some are enough.
    Some(Kind),
    /// All objects of a kind: the rule concludes from what is not there.
    Every(Kind),
    /// A file of at least one host.
    File(HostFile),
}

/// What a rule looks at.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The cluster.
    pub dump: &'a Dump,
    /// About when the dump was taken; nothing is younger.
    pub now: Time,
    /// Thresholds of the site.
    pub settings: &'a Settings,
    pub(crate) index: Index<'a>,
}

/// Views that several rules share, each made once when the first rule asks.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    pub(crate) ipam: OnceCell<crate::rules::network::ipam::Ipam<'a>>,
    pub(crate) pods_by_node:
        OnceCell<std::collections::BTreeMap<&'a str, Vec<&'a crate::dump::kind::pod::Pod>>>,
}

impl<'a> Cx<'a> {
    /// A context for `dump` at `now`.
    #[must_use]
    pub fn new(dump: &'a Dump, now: Time, settings: &'a Settings) -> Self {
        Self {
            dump,
            now,
            settings,
            index: Index::default(),
        }
    }

    /// Pods that have not ended on a node, by namespace and name.
    #[must_use]
    pub fn pods_on(&self, node: &str) -> &[&'a crate::dump::kind::pod::Pod] {
        let by_node = self.index.pods_by_node.get_or_init(|| {
            let mut by_node = std::collections::BTreeMap::<_, Vec<_>>::new();
            for pod in self
                .dump
                .objects
                .pods
                .iter()
                .filter(|pod| !pod.is_finished())
            {
                by_node
                    .entry(pod.spec.node_name.as_str())
                    .or_default()
                    .push(pod);
            }
            by_node
        });
        by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// True where every object of `kind` is in the dump, or the cluster does not know the kind.
    #[must_use]
    pub fn has_every(&self, kind: Kind) -> bool {
        self.dump.coverage.extent(kind) == Extent::Complete
    }
}

impl Need {
    /// Whether the dump meets the need.
    #[must_use]
    pub fn met(self, dump: &Dump) -> Met {
        match self {
            Self::Some(kind) | Self::Every(kind) => {
                let wanted = if matches!(self, Self::Every(_)) {
                    Extent::Complete
                } else {
                    Extent::Partial
                };
                if dump.coverage.extent(kind) >= wanted {
                    Met::Yes
                } else if is_unknown_to_cluster(dump, kind) {
                    Met::NotThere
                } else {
                    Met::No
                }
            }
            Self::File(file) => {
                if dump.hosts.values().any(|host| host.file(file).is_some()) {
                    Met::Yes
                } else {
                    Met::No
                }
            }
        }
    }
}

/// Whether a need is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Met {
    /// Yes.
    Yes,
    /// The dump lacks it.
    No,
    /// The cluster does not have such a thing, so the rule does not apply.
    NotThere,
}

/// True where all custom resource definitions are known and none defines the kind.
fn is_unknown_to_cluster(dump: &Dump, kind: Kind) -> bool {
    let spec = kind.spec();
    let is_custom = spec.group.contains('.') && !spec.group.ends_with(".k8s.io");
    is_custom
        && dump.coverage.extent(Kind::CustomResourceDefinition) == Extent::Complete
        && !dump.objects.resource_definitions.iter().any(|definition| {
            definition.meta().name == Text::from(format!("{}.{}", spec.plural, spec.group)).as_str()
        })
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Some(kind) => write!(f, "{}", kind.spec().name),
            Self::Every(kind) => write!(f, "every {}", kind.spec().name),
            Self::File(file) => write!(f, "{file} of a host"),
        }
    }
}

impl Family {
    /// Every family, in the order of reports.
    pub const ALL: [Self; 9] = [
        Self::ControlPlane,
        Self::Network,
        Self::Storage,
        Self::Gpu,
        Self::Quota,
        Self::Vm,
        Self::Tenancy,
        Self::Workload,
        Self::Host,
    ];

    /// The two letters of its codes.
    #[must_use]
    pub const fn letters(self) -> &'static str {
        match self {
            Self::ControlPlane => "BM",
            Self::Network => "BN",
            Self::Storage => "BS",
            Self::Gpu => "BG",
            Self::Quota => "BQ",
            Self::Vm => "BV",
            Self::Tenancy => "BX",
            Self::Workload => "BW",
            Self::Host => "BH",
        }
    }

    /// Its name for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::ControlPlane => "control plane",
            Self::Network => "network",
            Self::Storage => "storage",
            Self::Gpu => "GPU",
            Self::Quota => "scheduling and quota",
            Self::Vm => "virtual machines",
            Self::Tenancy => "tenancy and security",
            Self::Workload => "workloads",
            Self::Host => "hosts",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Preview => "preview",
            Self::Stable => "stable",
            Self::Deprecated => "deprecated",
        })
    }
}

/// What rules import.
pub(crate) mod prelude {
    pub(crate) use super::{Cx, Family, Need, Rule, Status};
    pub(crate) use crate::dump::Object as _;
    pub(crate) use crate::dump::host::files::HostFile;
    pub(crate) use crate::dump::kinds::Kind;
    pub(crate) use crate::finding::{Applicability, Confidence, Findings, Severity, Subject};
}
