//! Calico's address management, as its custom resources store it.
//!
//! Fields: calico `libcalico-go/lib/apis/internalapi/ipam_*.go`.

use crate::dump::Record;
use crate::dump::lenient::{Number, Pairs, Stamp, Truth, object, record};
use crate::dump::text::Text;

object! {
    /// An address pool.
    pub struct IpPool {
        /// Its settings.
        pub spec: IpPoolSpec,
    }
}

object! {
    /// A block of addresses.
    pub struct IpamBlock {
        /// Its allocations.
        pub spec: IpamBlockSpec,
    }
}

object! {
    /// A node's claim on a block.
    pub struct BlockAffinity {
        /// The claim.
        pub spec: BlockAffinitySpec,
    }
}

object! {
    /// Everything that was allocated for one workload.
    pub struct IpamHandle {
        /// The allocations.
        pub spec: IpamHandleSpec,
    }
}

object! {
    /// Settings of the address management.
    pub struct IpamConfig {
        /// The settings.
        pub spec: IpamConfigSpec,
    }
}

object! {
    /// Settings of Felix, the agent on the nodes.
    pub struct FelixConfiguration {
        /// The settings.
        pub spec: FelixConfigurationSpec,
    }
}

record! {
    /// `spec` of a pool.
    pub struct IpPoolSpec {
        /// Its range.
        pub cidr: Text,
        /// Prefix length of its blocks; 26 or 122 where it is not said.
        pub block_size: Option<Number>,
        /// Nodes that may use it.
        pub node_selector: Text,
        /// True where nothing new is taken from it.
        pub disabled: Truth,
        /// `Workload`, `Tunnel`, `LoadBalancer`; empty for the first two.
        pub allowed_uses: Vec<Text>,
        /// `Automatic` or `Manual`.
        pub assignment_mode: Text,
        /// `Always`, `CrossSubnet`, `Never`.
        pub ipip_mode: Text,
        /// `Always`, `CrossSubnet`, `Never`.
        pub vxlan_mode: Text,
        /// Whether addresses are translated on the way out.
        pub nat_outgoing: Truth,
    }

    /// `spec` of a block.
    pub struct IpamBlockSpec {
        /// Its range.
        pub cidr: Text,
        /// `host:NODE` or `virtual:NAME`; absent for a block without owner.
        pub affinity: Option<Text>,
        /// When it was claimed.
        pub affinity_claim_time: Option<Stamp>,
        /// One entry an address: an index into the attributes, or none.
        pub allocations: Vec<Option<i64>>,
        /// Free ordinals, the next one first.
        pub unallocated: Vec<i64>,
        /// Who holds what.
        pub attributes: Vec<IpamAttribute>,
        /// Being removed.
        pub deleted: Truth,
        /// Kept by old releases.
        pub strict_affinity: Truth,
    }

    /// Who holds an address.
    pub struct IpamAttribute {
        /// The handle.
        #[serde(rename = "handle_id")]
        pub handle_id: Option<Text>,
        /// Node, namespace, pod, type, timestamp.
        pub secondary: Pairs<Text>,
        /// When it was released, where addresses cool down.
        pub released_at: Option<Stamp>,
    }

    /// `spec` of a claim on a block.
    pub struct BlockAffinitySpec {
        /// `confirmed`, `pending` or `pendingDeletion`.
        pub state: Text,
        /// The node.
        pub node: Text,
        /// The block's range.
        pub cidr: Text,
        /// `host` or `virtual`; absent for `host`.
        #[serde(rename = "type")]
        pub kind: Text,
        /// Being removed; v1 writes a string.
        pub deleted: Truth,
    }

    /// `spec` of a handle.
    pub struct IpamHandleSpec {
        /// Its identity.
        #[serde(rename = "handleID")]
        pub handle_id: Text,
        /// Addresses by block.
        pub block: Pairs<Number>,
        /// Being removed.
        pub deleted: Truth,
    }

    /// `spec` of the settings.
    pub struct IpamConfigSpec {
        /// No node may take addresses from another's block.
        pub strict_affinity: Truth,
        /// Nodes claim blocks by themselves.
        pub auto_allocate_blocks: Option<Truth>,
        /// Blocks a node may hold; 0 for 20.
        pub max_blocks_per_host: Number,
        /// Seconds for which a released address rests.
        pub ip_cooldown_seconds: Number,
    }

    /// `spec` of Felix.
    pub struct FelixConfigurationSpec {
        /// eBPF data plane.
        pub bpf_enabled: Truth,
        /// `Enabled`, `Disabled` or `Auto`.
        #[serde(rename = "nftablesMode")]
        pub nftables_mode: Text,
        /// Seconds between full rewrites of iptables.
        pub iptables_refresh_interval: Text,
        /// Where endpoint status is written, which a CNI that waits for policy needs.
        pub endpoint_status_path_prefix: Text,
        /// Verbosity.
        pub log_severity_screen: Text,
    }
}

impl Record for IpPool {}
impl Record for IpamBlock {}
impl Record for BlockAffinity {}
impl Record for IpamHandle {}
impl Record for IpamConfig {}
impl Record for FelixConfiguration {}
