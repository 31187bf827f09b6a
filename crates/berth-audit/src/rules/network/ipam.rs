//! Calico's address management as rules look at it: parsed ranges, allocations, and who uses what.
//!
//! Made once a dump. Invariant: objects that can't be parsed are listed in `unreadable` and in no
//! other place; everything is sorted by address.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use berth_core::time::Time;
use ipnet::IpNet;

use crate::dump::kind::calico::{BlockAffinity, IpPool, IpamAttribute, IpamBlock, IpamConfig};
use crate::dump::kind::node::Node;
use crate::dump::kind::pod::Pod;
use crate::dump::lenient::Stamp;
use crate::dump::meta::Meta;
use crate::dump::{Dump, Object as _};
use crate::rule::Cx;

/// The view.
#[derive(Debug, Default)]
pub(crate) struct Ipam<'a> {
    /// Pools, by range.
    pub(crate) pools: Vec<Pool<'a>>,
    /// Blocks, by range; those being removed are left out.
    pub(crate) blocks: Vec<Block<'a>>,
    /// Claims of nodes on blocks, by range.
    pub(crate) affinities: Vec<Affinity<'a>>,
    /// Live pods with an address of their own, by address.
    pub(crate) pods: BTreeMap<IpAddr, Vec<&'a Pod>>,
    /// Addresses of tunnels, by address.
    pub(crate) tunnels: BTreeMap<IpAddr, Vec<Tunnel<'a>>>,
    /// Names of nodes.
    pub(crate) nodes: BTreeSet<&'a str>,
    /// Objects whose range is none, with the field's value.
    pub(crate) unreadable: Vec<(&'a Meta, &'a str)>,
}

/// A pool with its range.
#[derive(Debug)]
pub(crate) struct Pool<'a> {
    pub(crate) object: &'a IpPool,
    pub(crate) net: IpNet,
}

/// A block with its range.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) object: &'a IpamBlock,
    pub(crate) net: IpNet,
}

/// A claim with its range.
#[derive(Debug)]
pub(crate) struct Affinity<'a> {
    pub(crate) object: &'a BlockAffinity,
    pub(crate) net: IpNet,
}

/// An address of a node's tunnel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tunnel<'a> {
    pub(crate) node: &'a Node,
    /// The annotation that says so.
    pub(crate) annotation: &'static str,
}

/// An allocated address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allocation<'a> {
    pub(crate) ordinal: usize,
    pub(crate) address: IpAddr,
    /// Who holds it; `None` where the block points outside its attributes.
    pub(crate) attribute: Option<&'a IpamAttribute>,
    /// Its index among the attributes.
    pub(crate) index: i64,
}

/// Annotations of a Node with which calico-node says its tunnel addresses, IPv6 ones included.
pub(crate) const TUNNEL_ANNOTATIONS: [&str; 5] = [
    "projectcalico.org/IPv4IPIPTunnelAddr",
    "projectcalico.org/IPv4VXLANTunnelAddr",
    "projectcalico.org/IPv6VXLANTunnelAddr",
    "projectcalico.org/IPv4WireguardInterfaceAddr",
    "projectcalico.org/IPv6WireguardInterfaceAddr",
];

/// Starts of handles that belong to no pod.
const OTHER_HANDLES: [&str; 6] = [
    "ipip-tunnel-addr-",
    "vxlan-tunnel-addr-",
    "vxlan-v6-tunnel-addr-",
    "wireguard-tunnel-addr-",
    "wireguard-v6-tunnel-addr-",
    "windows-reserved-ipam-handle",
];

impl<'a> Cx<'a> {
    /// Calico's address management.
    pub(crate) fn ipam(&self) -> &Ipam<'a> {
        self.index.ipam.get_or_init(|| Ipam::of(self.dump))
    }
}

impl<'a> Ipam<'a> {
    fn of(dump: &'a Dump) -> Self {
        let objects = &dump.objects;
        let mut view = Self::default();
        for object in &objects.ip_pools {
            match object.spec.cidr.parse::<IpNet>() {
                Ok(net) => view.pools.push(Pool {
                    object,
                    net: net.trunc(),
                }),
                Err(_) => view.unreadable.push((object.meta(), &object.spec.cidr)),
            }
        }
        for object in objects
            .ipam_blocks
            .iter()
            .filter(|block| !block.spec.deleted.0)
        {
            match object.spec.cidr.parse::<IpNet>() {
                Ok(net) => view.blocks.push(Block {
                    object,
                    net: net.trunc(),
                }),
                Err(_) => view.unreadable.push((object.meta(), &object.spec.cidr)),
            }
        }
        for object in objects
            .block_affinities
            .iter()
            .filter(|affinity| !affinity.spec.deleted.0)
        {
            match object.spec.cidr.parse::<IpNet>() {
                Ok(net) => view.affinities.push(Affinity {
                    object,
                    net: net.trunc(),
                }),
                Err(_) => view.unreadable.push((object.meta(), &object.spec.cidr)),
            }
        }
        view.pools.sort_by_key(|pool| pool.net);
        view.blocks.sort_by_key(|block| block.net);
        view.affinities.sort_by_key(|affinity| affinity.net);
        for pod in objects
            .pods
            .iter()
            .filter(|pod| !pod.is_finished() && !pod.spec.host_network.0)
        {
            for address in pod.addresses().filter_map(|address| address.parse().ok()) {
                view.pods.entry(address).or_default().push(pod);
            }
        }
        for node in &objects.nodes {
            view.nodes.insert(node.meta().name.as_str());
            for annotation in TUNNEL_ANNOTATIONS {
                let address = node
                    .meta()
                    .annotation(annotation)
                    .and_then(|text| text.parse().ok());
                if let Some(address) = address {
                    view.tunnels
                        .entry(address)
                        .or_default()
                        .push(Tunnel { node, annotation });
                }
            }
        }
        view
    }

    /// The pool that an address lies in, enabled or not; the narrowest of several.
    pub(crate) fn pool_of(&self, address: IpAddr) -> Option<&Pool<'a>> {
        self.pools
            .iter()
            .filter(|pool| pool.net.contains(&address))
            .max_by_key(|pool| pool.net.prefix_len())
    }

    /// True for an address that nodes may take from a pool now.
    pub(crate) fn is_in_enabled_pool(&self, address: IpAddr) -> bool {
        let mut enabled = self
            .pools
            .iter()
            .filter(|pool| !pool.object.spec.disabled.0);
        enabled.any(|pool| pool.net.contains(&address))
    }

    /// The narrowest block that holds an address.
    pub(crate) fn block_of(&self, address: IpAddr) -> Option<&Block<'a>> {
        self.blocks_of(address)
            .max_by_key(|block| block.net.prefix_len())
    }

    /// Every block that holds an address: more than one where blocks overlap.
    pub(crate) fn blocks_of(&self, address: IpAddr) -> impl Iterator<Item = &Block<'a>> {
        // Blocks are sorted by network, so those that begin at or before the address come first, and
        // only a handful of widths are in use.
        let end = self
            .blocks
            .partition_point(|block| block.net.addr() <= address);
        let widest = self.blocks.iter().map(|block| block.net.prefix_len()).min();
        let widest = widest.unwrap_or(0).min(IpNet::from(address).prefix_len());
        let floor = IpNet::new(address, widest).map_or(address, |net| net.trunc().addr());
        self.blocks[..end]
            .iter()
            .rev()
            .take_while(move |block| block.net.addr() >= floor)
            .filter(move |block| block.net.contains(&address))
    }
}

impl<'a> Ipam<'a> {
    /// Claims that hold: pending ones count as absent.
    pub(crate) fn confirmed(&self) -> impl Iterator<Item = &Affinity<'a>> {
        self.affinities
            .iter()
            .filter(|affinity| affinity.object.spec.state == "confirmed")
    }

    /// The block with exactly this range.
    pub(crate) fn block_with(&self, net: IpNet) -> Option<&Block<'a>> {
        let at = self
            .blocks
            .binary_search_by_key(&net, |block| block.net)
            .ok()?;
        Some(&self.blocks[at])
    }

    /// Whether a live pod has an address, by the allocation's own word and by the pod's.
    pub(crate) fn is_in_use(&self, allocation: &Allocation<'_>) -> bool {
        self.pods.contains_key(&allocation.address)
    }
}

impl<'a> Affinity<'a> {
    /// The node, for claims of nodes; `None` for those of load balancers and the like.
    pub(crate) fn host(&self) -> Option<&'a str> {
        let spec = &self.object.spec;
        let is_host = spec.kind.is_empty() || spec.kind == "host";
        is_host
            .then(|| spec.node.as_str())
            .filter(|node| !node.is_empty())
    }
}

/// Settings of the address management with their defaults.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IpamSettings<'a> {
    /// The object, where there is one.
    pub(crate) object: Option<&'a IpamConfig>,
    /// No node may take addresses from another's block.
    pub(crate) is_strict: bool,
    /// Blocks that a node may hold, for each family.
    pub(crate) blocks_max: i64,
}

/// Blocks that a node may hold where nothing else is said (calico `ipam.go`).
const BLOCKS_PER_HOST: i64 = 20;

impl<'a> IpamSettings<'a> {
    pub(crate) fn of(dump: &'a Dump) -> Self {
        let object = dump
            .objects
            .ipam_configs
            .iter()
            .find(|config| config.meta().name == "default");
        let max = object.map_or(0, |config| config.spec.max_blocks_per_host.0);
        Self {
            object,
            is_strict: object.is_some_and(|config| config.spec.strict_affinity.0),
            blocks_max: if max > 0 { max } else { BLOCKS_PER_HOST },
        }
    }
}

impl<'a> Block<'a> {
    /// The node that the block belongs to.
    pub(crate) fn host(&self) -> Option<&'a str> {
        self.object
            .spec
            .affinity
            .as_ref()?
            .as_str()
            .strip_prefix("host:")
    }

    /// Allocated addresses, by ordinal.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = Allocation<'a>> {
        let spec = &self.object.spec;
        let net = self.net;
        spec.allocations
            .iter()
            .enumerate()
            .filter_map(move |(ordinal, index)| {
                let index = (*index)?;
                let attribute = usize::try_from(index)
                    .ok()
                    .and_then(|index| spec.attributes.get(index));
                Some(Allocation {
                    ordinal,
                    address: nth(&net, ordinal)?,
                    attribute,
                    index,
                })
            })
    }

    /// The ordinal of an address of the block.
    fn ordinal(&self, address: IpAddr) -> Option<usize> {
        let offset = match (self.net.network(), address) {
            (IpAddr::V4(first), IpAddr::V4(address)) => {
                u128::from(u32::from(address).checked_sub(u32::from(first))?)
            }
            (IpAddr::V6(first), IpAddr::V6(address)) => {
                u128::from(address).checked_sub(u128::from(first))?
            }
            _ => return None,
        };
        usize::try_from(offset).ok()
    }

    /// Whether an address of the block is allocated.
    pub(crate) fn is_allocated(&self, address: IpAddr) -> bool {
        let entry = self
            .ordinal(address)
            .and_then(|ordinal| self.object.spec.allocations.get(ordinal));
        entry.is_some_and(Option::is_some)
    }

    /// How many addresses are handed out before a free one.
    pub(crate) fn queue_position(&self, address: IpAddr) -> Option<usize> {
        let ordinal = i64::try_from(self.ordinal(address)?).ok()?;
        self.object
            .spec
            .unallocated
            .iter()
            .position(|free| *free == ordinal)
    }

    /// How many addresses the block has; saturates for absurd ones.
    pub(crate) fn size(&self) -> u64 {
        size(&self.net)
    }
}

impl<'a> Allocation<'a> {
    /// A secondary attribute: `node`, `namespace`, `pod`, `type`, `timestamp`.
    pub(crate) fn secondary(&self, key: &str) -> Option<&'a str> {
        let attribute = self.attribute?;
        attribute
            .secondary
            .get(key)
            .map(crate::dump::text::Text::as_str)
            .filter(|text| !text.is_empty())
    }

    /// The handle, where there is one.
    pub(crate) fn handle(&self) -> Option<&'a str> {
        self.attribute?
            .handle_id
            .as_ref()
            .map(crate::dump::text::Text::as_str)
    }

    /// Namespace and name of the pod that the address was taken for.
    pub(crate) fn pod(&self) -> Option<(&'a str, &'a str)> {
        Some((self.secondary("namespace")?, self.secondary("pod")?))
    }

    /// True for addresses of tunnels.
    pub(crate) fn is_for_tunnel(&self) -> bool {
        let is_typed = self
            .secondary("type")
            .is_some_and(|kind| kind.ends_with("TunnelAddress"));
        is_typed
            || self
                .handle()
                .is_some_and(|handle| handle.contains("-tunnel-addr-"))
    }

    /// The node of a tunnel address.
    pub(crate) fn tunnel_node(&self) -> Option<&'a str> {
        self.secondary("node").or_else(|| {
            self.handle()?
                .split_once("-tunnel-addr-")
                .map(|(_, node)| node)
        })
    }

    /// The annotation in which the node says this tunnel's address.
    pub(crate) fn tunnel_annotation(&self) -> Option<&'static str> {
        let kind = self.handle()?.split_once("-tunnel-addr-")?.0;
        Some(match (kind, self.address.is_ipv6()) {
            ("ipip", _) => TUNNEL_ANNOTATIONS[0],
            ("vxlan", _) => TUNNEL_ANNOTATIONS[1],
            ("vxlan-v6", _) => TUNNEL_ANNOTATIONS[2],
            ("wireguard", false) => TUNNEL_ANNOTATIONS[3],
            ("wireguard" | "wireguard-v6", true) => TUNNEL_ANNOTATIONS[4],
            _ => return None,
        })
    }

    /// True for addresses of pods; those of tunnels, load balancers, Windows, and resting ones are not.
    pub(crate) fn is_for_pod(&self) -> bool {
        let rests = self
            .attribute
            .is_some_and(|attribute| attribute.released_at.is_some());
        let handle = self.handle().unwrap_or_default();
        let is_other = OTHER_HANDLES.iter().any(|start| handle.starts_with(start))
            || handle.starts_with("lb-");
        self.attribute.is_some() && !rests && !is_other && !self.is_for_tunnel()
    }
}

/// Addresses in a range; saturates.
pub(crate) fn size(net: &IpNet) -> u64 {
    let bits = u32::from(net.max_prefix_len() - net.prefix_len());
    1_u64
        .checked_shl(bits)
        .filter(|size| *size > 0)
        .unwrap_or(u64::MAX)
}

/// The address with an ordinal in a range.
fn nth(net: &IpNet, ordinal: usize) -> Option<IpAddr> {
    if ordinal as u64 >= size(net) {
        return None;
    }
    Some(match net.network() {
        IpAddr::V4(address) => {
            IpAddr::V4((u32::from(address).checked_add(u32::try_from(ordinal).ok()?)?).into())
        }
        IpAddr::V6(address) => {
            IpAddr::V6((u128::from(address).checked_add(ordinal as u128)?).into())
        }
    })
}

/// Calico writes `2024-01-31 10:00:00.123 +0000 UTC`.
pub(crate) fn stamp(text: &str) -> Option<Time> {
    let plain = Stamp::parse(text).or_else(|| {
        let mut words = text.split_whitespace();
        let (day, time) = (words.next()?, words.next()?);
        Stamp::parse(&format!("{day}T{time}Z"))
    });
    plain.map(|stamp| stamp.0)
}
