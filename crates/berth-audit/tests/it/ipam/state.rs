//! Random states of Calico's address management, small and with every kind of fault.
//!
//! A state is plain values; [`State::objects`] writes it as a dump holds it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use berth_core::stream::Stream;
use serde_json::{Value, json};

/// When every state was taken.
pub(crate) const NOW: &str = "2026-03-01T12:00:00Z";
/// Long before, and just before.
const OLD: &str = "2026-01-01T00:00:00Z";
const YOUNG: &str = "2026-03-01T11:58:00Z";

/// Addresses of a block: IPv4 ones are /29 or /28, IPv6 ones /125.
pub(crate) const NARROW: u32 = 8;

/// A range by its first address and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) first: IpAddr,
    pub(crate) size: u32,
}

/// A node and the tunnel addresses that it says it has.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// The end of the annotation's name, and the address.
    pub(crate) tunnels: Vec<(&'static str, IpAddr)>,
}

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) range: Range,
    pub(crate) is_disabled: bool,
}

/// A block.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) range: Range,
    pub(crate) host: Option<String>,
    pub(crate) allocations: Vec<Option<usize>>,
    pub(crate) unallocated: Vec<usize>,
    pub(crate) attributes: Vec<Attribute>,
}

/// Who holds an address.
#[derive(Debug, Clone)]
pub(crate) struct Attribute {
    pub(crate) handle: String,
    /// Name of the pod in the one namespace; `None` for tunnels and for addresses of nobody.
    pub(crate) pod: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) is_young: bool,
    pub(crate) is_cooling: bool,
}

/// A claim.
#[derive(Debug)]
pub(crate) struct Affinity {
    pub(crate) node: String,
    pub(crate) range: Range,
    pub(crate) is_confirmed: bool,
}

/// A pod.
#[derive(Debug)]
pub(crate) struct Pod {
    pub(crate) name: String,
    pub(crate) node: String,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) is_finished: bool,
    pub(crate) is_on_host_network: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) nodes: Vec<Node>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) affinities: Vec<Affinity>,
    pub(crate) handles: Vec<String>,
    pub(crate) pods: Vec<Pod>,
}

impl Range {
    pub(crate) fn nth(self, n: u32) -> IpAddr {
        match self.first {
            IpAddr::V4(first) => Ipv4Addr::from(u32::from(first) + n).into(),
            IpAddr::V6(first) => Ipv6Addr::from(u128::from(first) + u128::from(n)).into(),
        }
    }

    pub(crate) fn contains(self, address: IpAddr) -> bool {
        (0..self.size).any(|n| self.nth(n) == address)
    }

    pub(crate) fn overlaps(self, other: Self) -> bool {
        self.contains(other.first) || other.contains(self.first)
    }

    pub(crate) fn cidr(self) -> String {
        let bits = if self.first.is_ipv4() { 32 } else { 128 };
        format!("{}/{}", self.first, bits - self.size.ilog2())
    }

    /// Name of the block with this range.
    pub(crate) fn object_name(self) -> String {
        self.cidr().replace(['.', ':', '/'], "-")
    }
}

fn v4(third: u8, fourth: u8, size: u32) -> Range {
    Range {
        first: Ipv4Addr::new(10, 0, third, fourth).into(),
        size,
    }
}

fn v6(last: u16, size: u32) -> Range {
    Range {
        first: Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into(),
        size,
    }
}

/// One in so many times.
fn one_in(draws: &mut Stream, n: u64) -> bool {
    draws.below(n) == 0
}

fn number(draws: &mut Stream, below: u32) -> u32 {
    u32::try_from(draws.below(u64::from(below))).expect("it is below a u32")
}

impl State {
    /// The state of a seed.
    pub(crate) fn random(seed: u64) -> Self {
        let mut draws = Stream::from_seed(seed);
        let draws = &mut draws;
        let mut state = Self::default();
        state.pools.push(Pool {
            range: v4(0, 0, 64),
            is_disabled: false,
        });
        if one_in(draws, 3) {
            state.pools.push(Pool {
                range: v4(1, 0, 64),
                is_disabled: one_in(draws, 2),
            });
        }
        if one_in(draws, 6) {
            state.pools.push(Pool {
                range: v4(0, 0, 128),
                is_disabled: one_in(draws, 2),
            });
        }
        if one_in(draws, 3) {
            state.pools.push(Pool {
                range: v6(0, 64),
                is_disabled: false,
            });
        }
        for n in 0..=number(draws, 3) {
            state.nodes.push(Node {
                name: format!("n{n}"),
                tunnels: Vec::new(),
            });
        }
        for _ in 0..=number(draws, 6) {
            state.add_block(draws);
        }
        state.add_strangers(draws);
        state.add_handles(draws);
        state
    }

    /// A node of the cluster, or once in a while one that is gone.
    fn some_node(&self, draws: &mut Stream) -> String {
        let n = number(
            draws,
            u32::try_from(self.nodes.len()).expect("few nodes") + 1,
        );
        self.nodes
            .get(n as usize)
            .map_or("gone".to_owned(), |node| node.name.clone())
    }

    fn add_block(&mut self, draws: &mut Stream) {
        let eighth = u8::try_from(number(draws, 8)).expect("below eight");
        let range = match draws.below(12) {
            0 => v4(9, 8 * eighth, NARROW),
            1 => v4(0, 16 * (eighth % 4), 2 * NARROW),
            2 | 3 => v4(1, 8 * eighth, NARROW),
            4 => v6(8 * u16::from(eighth), NARROW),
            _ => v4(0, 8 * eighth, NARROW),
        };
        if self.blocks.iter().any(|block| block.range == range) {
            return;
        }
        let host = self.some_node(draws);
        let mut block = Block {
            range,
            host: (!one_in(draws, 10)).then(|| host.clone()),
            allocations: vec![None; range.size as usize],
            unallocated: Vec::new(),
            attributes: Vec::new(),
        };
        for ordinal in 0..range.size {
            if one_in(draws, 2) {
                let attribute = self.allocate(draws, &host, range.nth(ordinal));
                // Two addresses of one handle share an attribute.
                block.allocations[ordinal as usize] = Some(block.attributes.len());
                block.attributes.push(attribute);
            } else {
                let at = draws.below(block.unallocated.len() as u64 + 1);
                let at = usize::try_from(at).expect("it is below a usize");
                block.unallocated.insert(at, ordinal as usize);
            }
        }
        if one_in(draws, 6) {
            corrupt(draws, &mut block);
        }
        if !one_in(draws, 10) {
            let node = if one_in(draws, 10) {
                self.some_node(draws)
            } else {
                host
            };
            self.affinities.push(Affinity {
                node,
                range,
                is_confirmed: !one_in(draws, 8),
            });
        }
        self.blocks.push(block);
    }

    /// Who holds an address, and what there is of them.
    fn allocate(&mut self, draws: &mut Stream, host: &str, address: IpAddr) -> Attribute {
        let node = if one_in(draws, 8) {
            self.some_node(draws)
        } else {
            host.to_owned()
        };
        let name = format!("p{}", draws.next_u64() % 100_000);
        let mut attribute = Attribute {
            handle: format!("k8s-pod-network.{name}"),
            pod: Some(name.clone()),
            node: Some(node.clone()),
            is_young: false,
            is_cooling: false,
        };
        match draws.below(12) {
            0..=4 => self.add_pod(draws, name, &node, vec![address]),
            5 | 6 => {}
            7 => attribute.is_young = true,
            8 => attribute.is_cooling = true,
            9 => self.add_tunnel(draws, &node, address, &mut attribute),
            10 => {
                // Its pod is there and has no address, or has another one.
                let addresses = if one_in(draws, 2) {
                    Vec::new()
                } else {
                    vec![v4(0, u8::try_from(number(draws, 64)).expect("below 64"), 1).first]
                };
                self.add_pod(draws, name, &node, addresses);
            }
            _ => {
                // The handle of another address that is there already, as of the other family.
                let mut held = self.blocks.iter().flat_map(|block| &block.attributes);
                if let Some(first) = held.rfind(|first| first.pod.is_some()) {
                    attribute = first.clone();
                } else {
                    (attribute.pod, attribute.node) = (None, None);
                }
            }
        }
        attribute
    }

    fn add_pod(&mut self, draws: &mut Stream, name: String, node: &str, addresses: Vec<IpAddr>) {
        self.pods.push(Pod {
            name,
            node: node.to_owned(),
            addresses,
            is_finished: one_in(draws, 12),
            is_on_host_network: false,
        });
    }

    fn add_tunnel(
        &mut self,
        draws: &mut Stream,
        node: &str,
        address: IpAddr,
        attribute: &mut Attribute,
    ) {
        let (kind, annotation) = match (address.is_ipv4(), draws.below(3)) {
            (true, 0) => ("ipip", "IPv4IPIPTunnelAddr"),
            (true, 1) => ("vxlan", "IPv4VXLANTunnelAddr"),
            (true, _) => ("wireguard", "IPv4WireguardInterfaceAddr"),
            (false, _) => ("vxlan-v6", "IPv6VXLANTunnelAddr"),
        };
        attribute.handle = format!("{kind}-tunnel-addr-{node}");
        attribute.pod = None;
        let says_so = !one_in(draws, 4);
        if let Some(node) = self.nodes.iter_mut().find(|known| known.name == node)
            && says_so
            && node.tunnels.iter().all(|(known, _)| *known != annotation)
        {
            node.tunnels.push((annotation, address));
        }
    }

    /// Pods with addresses that they should not have, and claims without blocks.
    fn add_strangers(&mut self, draws: &mut Stream) {
        for n in 0..number(draws, 5) {
            let third = *[0, 0, 1, 7]
                .get(number(draws, 4) as usize)
                .expect("below four");
            let fourth = u8::try_from(number(draws, 72)).expect("below 72");
            let mut addresses = vec![v4(third, fourth, 1).first];
            let tunnels = self.nodes.iter().flat_map(|node| &node.tunnels);
            if one_in(draws, 4)
                && let Some((_, tunnel)) = tunnels.last()
            {
                addresses = vec![*tunnel];
            }
            if one_in(draws, 6) {
                addresses.push(v6(number(draws, 80) as u16, 1).first);
            }
            let node = self.some_node(draws);
            self.add_pod(draws, format!("stranger{n}"), &node, addresses);
            if let Some(pod) = self.pods.last_mut() {
                pod.is_on_host_network = one_in(draws, 8);
            }
        }
        if one_in(draws, 4) {
            self.affinities.push(Affinity {
                node: self.some_node(draws),
                range: v4(0, 8 * (number(draws, 8) as u8), NARROW),
                is_confirmed: true,
            });
        }
        self.affinities
            .sort_by(|a, b| (&a.node, a.range).cmp(&(&b.node, b.range)));
        self.affinities
            .dedup_by(|a, b| (&a.node, a.range) == (&b.node, b.range));
    }

    fn add_handles(&mut self, draws: &mut Stream) {
        let attributes = self.blocks.iter().flat_map(|block| &block.attributes);
        let mut handles: Vec<String> = attributes
            .map(|attribute| attribute.handle.clone())
            .collect();
        handles.retain(|_| !one_in(draws, 12));
        handles.extend((0..number(draws, 3)).map(|n| format!("k8s-pod-network.orphan{n}")));
        handles.sort();
        handles.dedup();
        self.handles = handles;
    }

    /// The state as objects of Kubernetes, pods and nodes included.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let mut objects = Vec::new();
        let calico = |kind: &str, name: String, spec: Value| {
            json!({
                "apiVersion": "crd.projectcalico.org/v1", "kind": kind, "spec": spec,
                "metadata": {"name": name, "creationTimestamp": OLD, "resourceVersion": "1"},
            })
        };
        for node in &self.nodes {
            let annotations = node.tunnels.iter().map(|(annotation, address)| {
                let key = format!("projectcalico.org/{annotation}");
                (key, Value::String(address.to_string()))
            });
            let annotations: serde_json::Map<String, Value> = annotations.collect();
            objects.push(json!({
                "apiVersion": "v1", "kind": "Node", "spec": {}, "status": {},
                "metadata": {
                    "name": node.name, "annotations": annotations, "resourceVersion": "1",
                    "creationTimestamp": OLD,
                },
            }));
        }
        for (n, pool) in self.pools.iter().enumerate() {
            let spec = json!({
                "cidr": pool.range.cidr(), "disabled": pool.is_disabled,
                "blockSize": if pool.range.first.is_ipv4() { 29 } else { 125 },
                "nodeSelector": "all()",
            });
            objects.push(calico("IPPool", format!("pool{n}"), spec));
        }
        for block in &self.blocks {
            let attributes = block.attributes.iter().map(Attribute::object);
            let spec = json!({
                "cidr": block.range.cidr(), "deleted": false, "strictAffinity": false,
                "affinity": block.host.as_ref().map(|host| format!("host:{host}")),
                "allocations": block.allocations, "unallocated": block.unallocated,
                "attributes": attributes.collect::<Vec<_>>(),
            });
            objects.push(calico("IPAMBlock", block.range.object_name(), spec));
        }
        for affinity in &self.affinities {
            let state = if affinity.is_confirmed {
                "confirmed"
            } else {
                "pending"
            };
            let spec = json!({
                "cidr": affinity.range.cidr(), "node": affinity.node, "state": state,
                "deleted": "false", "type": "host",
            });
            objects.push(calico("BlockAffinity", affinity.object_name(), spec));
        }
        for handle in &self.handles {
            let spec = json!({"handleID": handle, "block": {}, "deleted": false});
            objects.push(calico("IPAMHandle", handle.clone(), spec));
        }
        objects.extend(self.pods.iter().map(Pod::object));
        objects
    }
}

impl Attribute {
    fn object(&self) -> Value {
        let mut secondary = json!({
            "timestamp": if self.is_young { YOUNG } else { OLD },
        });
        if let Some(node) = &self.node {
            secondary["node"] = json!(node);
        }
        if let Some(pod) = &self.pod {
            secondary["namespace"] = json!("ns");
            secondary["pod"] = json!(pod);
        }
        let mut object = json!({"handle_id": self.handle, "secondary": secondary});
        if self.is_cooling {
            object["releasedAt"] = json!(OLD);
        }
        object
    }
}

impl Affinity {
    pub(crate) fn object_name(&self) -> String {
        format!("{}-{}", self.node, self.range.object_name())
    }
}

impl Pod {
    /// True where its addresses are in use: it runs, on a network of its own.
    pub(crate) fn is_live(&self) -> bool {
        !self.is_finished && !self.is_on_host_network
    }

    fn object(&self) -> Value {
        let ips: Vec<Value> = self
            .addresses
            .iter()
            .map(|address| json!({"ip": address}))
            .collect();
        let phase = match (self.is_finished, ips.is_empty()) {
            (true, _) => "Succeeded",
            (false, true) => "Pending",
            (false, false) => "Running",
        };
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": "ns", "name": self.name, "uid": self.name, "resourceVersion": "1",
            },
            "spec": {
                "nodeName": self.node, "hostNetwork": self.is_on_host_network,
                "containers": [{"name": "c", "image": "i:1"}],
            },
            "status": {"phase": phase, "podIP": ips.first().map(|ip| ip["ip"].clone()), "podIPs": ips},
        })
    }
}

/// One contradiction in a block's books.
fn corrupt(draws: &mut Stream, block: &mut Block) {
    let allocated: Vec<usize> = (0..block.allocations.len())
        .filter(|ordinal| block.allocations[*ordinal].is_some())
        .collect();
    match draws.below(5) {
        0 => {
            if let Some(ordinal) = allocated.first() {
                block.allocations[*ordinal] = Some(block.attributes.len() + 3);
            }
        }
        1 => block.attributes.push(Attribute {
            handle: "k8s-pod-network.nobody".to_owned(),
            pod: Some("nobody".to_owned()),
            node: None,
            is_young: false,
            is_cooling: one_in(draws, 2),
        }),
        2 => {
            if let Some(first) = block.unallocated.first().copied() {
                block.unallocated.push(first);
            }
        }
        3 => block.unallocated.extend(allocated.first()),
        _ => {
            block.unallocated.pop();
        }
    }
}
