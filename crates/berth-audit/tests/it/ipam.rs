//! Calico's address management on random states: what `calicoctl ipam check` can find is found, its
//! known differences are named one by one, and the classes that it doesn't look at are found too.
//!
//! The example `calicoctl` asks the real one about the same states, so that the model is no opinion.

#![expect(
    clippy::disallowed_macros,
    reason = "how much was compared is shown where somebody asks for it"
)]

mod model;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use berth_audit::dump::coverage::Extent;
use berth_audit::dump::kinds::Kind;
use berth_audit::dump::lenient::Stamp;
use berth_audit::engine::baseline::Baseline;
use berth_audit::engine::{FindingView, Report, audit};
use berth_audit::rules;
use berth_audit::settings::Settings;
use berth_audit::source::Reader;
use serde_json::Value;

use self::model::{Checked, allocations, pod_addresses, tunnels};
use self::state::{Affinity, Attribute, NOW, Range, State};

/// Seeds of the states that are compared.
const SEEDS: std::ops::Range<u64> = 0..2000;

const KINDS: [Kind; 7] = [
    Kind::Node,
    Kind::Pod,
    Kind::IpPool,
    Kind::IpamBlock,
    Kind::BlockAffinity,
    Kind::IpamHandle,
    Kind::IpamConfig,
];

#[test]
fn what_the_check_of_calico_finds_is_found_and_more() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in SEEDS {
        let state = State::random(seed);
        let found = Found::of(&state);
        for (class, expected, found) in classes(&state, &found) {
            *counts.entry(class).or_default() += expected.len();
            if expected != found {
                let missed: Vec<_> = expected.difference(&found).collect();
                let wrongly: Vec<_> = found.difference(&expected).collect();
                wrong.push(format!(
                    "seed {seed}, {class}: missed {missed:?}, wrongly {wrongly:?}"
                ));
            }
        }
    }
    let shown: Vec<_> = wrong.iter().take(10).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        shown.join("\n")
    );
    let summary: Vec<String> = counts.iter().map(|(c, n)| format!("{c}: {n}")).collect();
    let summary = format!("seeds {SEEDS:?}: {}", summary.join(", "));
    // A class that never occurs is not compared; `cargo test -- --nocapture` shows the counts.
    let rare = ["explained", "excused: resting beside another"];
    let is_compared = |(class, n): (&&str, &usize)| rare.contains(class) || *n >= 40;
    assert!(counts.iter().all(is_compared), "{summary}");
    assert!(counts.len() >= 19, "{summary}");
    println!("{summary}");
}

type Class = (&'static str, BTreeSet<String>, BTreeSet<String>);

/// What each class must be, and what it is.
fn classes(state: &State, found: &Found) -> Vec<Class> {
    let checked = Checked::of(state);
    let leaks = Leaks::of(state);
    let mut classes = vec![
        ("leaked", leaks.of_pods.clone(), found.words("BN001")),
        ("tunnels", stale_tunnels(state), found.words("BN022")),
        (
            "not allocated",
            not_allocated(state, &checked),
            found.words("BN004"),
        ),
        (
            "in no pool",
            in_no_pool(state, &checked),
            found.words("BN005"),
        ),
        (
            "orphaned handles",
            checked.orphans.clone(),
            found.words("BN002"),
        ),
        (
            "missing handles",
            missing_handles(state, &checked),
            found.words("BN003"),
        ),
        (
            "invalid blocks",
            names(&checked.invalid),
            found.subjects("BN015"),
        ),
        ("duplicates", duplicates(state), found.first_words("BN006")),
        ("overlaps of blocks", overlaps(state), found.pairs("BN007")),
        (
            "overlaps of pools",
            pool_overlaps(state),
            found.subjects("BN008"),
        ),
        (
            "blocks in no pool",
            blocks_in_no_pool(state),
            found.subjects("BN009"),
        ),
        ("nodes that are gone", gone(state), found.subjects("BN010")),
        (
            "claims without block",
            mismatches(state),
            found.subjects("BN011"),
        ),
    ];
    // Whatever the check calls leaked is found, or there is a reason that it is none.
    let ours: BTreeSet<String> = &found.words("BN001") | &found.words("BN022");
    let theirs = texts(&checked.leaked);
    let held_otherwise: BTreeSet<String> = &leaks.of_pods | &stale_tunnels(state);
    for (excuse, addresses) in &leaks.excused {
        let theirs: BTreeSet<String> = addresses.intersection(&theirs).cloned().collect();
        let theirs: BTreeSet<String> = theirs.difference(&held_otherwise).cloned().collect();
        let kept = theirs.difference(&ours).cloned().collect();
        classes.push((excuse.name(), theirs, kept));
    }
    let excused: BTreeSet<String> = leaks.excused.values().flatten().cloned().collect();
    let unexplained = theirs
        .iter()
        .filter(|address| !ours.contains(*address) && !excused.contains(*address));
    classes.push(("explained", BTreeSet::new(), unexplained.cloned().collect()));
    classes
}

fn texts(addresses: &BTreeSet<IpAddr>) -> BTreeSet<String> {
    addresses.iter().map(IpAddr::to_string).collect()
}

/// Ranges as objects are named.
fn names(ranges: &BTreeSet<String>) -> BTreeSet<String> {
    let name = |range: &String| range.replace(['.', ':', '/'], "-");
    ranges.iter().map(name).collect()
}

/// Why an allocated address that nobody uses is no leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Excuse {
    /// Another address of the handle is in use, and Calico releases handles as a whole.
    Sibling,
    /// Taken within the grace, on a node that is there.
    Young,
    /// Its pod is about to report its address.
    Starting,
    /// Nothing says whose it is.
    Nameless,
    /// The block's books say nothing of it; the block is found instead.
    Broken,
    /// A tunnel of IPv6 uses it, which the check doesn't know of.
    TunnelV6,
    /// It rests, so the check leaves it out too.
    Cooling,
}

/// What becomes of each address that the check could call leaked.
#[derive(Default)]
struct Leaks {
    /// Leaked by at least one allocation, without excuse.
    of_pods: BTreeSet<String>,
    excused: BTreeMap<Excuse, BTreeSet<String>>,
}

impl Excuse {
    fn name(self) -> &'static str {
        match self {
            Self::Sibling => "excused: sibling in use",
            Self::Young => "excused: young",
            Self::Starting => "excused: starting",
            Self::Nameless => "excused: nameless",
            Self::Broken => "excused: broken block",
            Self::TunnelV6 => "excused: tunnel of IPv6",
            Self::Cooling => "excused: resting beside another",
        }
    }
}

impl Leaks {
    fn of(state: &State) -> Self {
        let mut leaks = Self::default();
        let used: BTreeSet<IpAddr> = pod_addresses(state).collect();
        let tunnels: BTreeSet<IpAddr> = tunnels(state).collect();
        let live: BTreeSet<&str> = allocations(state)
            .filter(|(_, address, _)| used.contains(address))
            .filter_map(|(_, _, attribute)| Some(attribute?.handle.as_str()))
            .collect();
        for (_, address, attribute) in allocations(state) {
            let text = address.to_string();
            if used.contains(&address) || (tunnels.contains(&address) && address.is_ipv4()) {
                continue;
            }
            let excuse = match attribute {
                None => Some(Excuse::Broken),
                Some(_) if tunnels.contains(&address) => Some(Excuse::TunnelV6),
                Some(held) if held.handle.contains("-tunnel-addr-") => continue,
                Some(held) => excuse(state, &live, held),
            };
            if let Some(excuse) = excuse {
                leaks.excused.entry(excuse).or_default().insert(text);
            } else {
                leaks.of_pods.insert(text);
            }
        }
        leaks
    }
}

fn excuse(state: &State, live: &BTreeSet<&str>, held: &Attribute) -> Option<Excuse> {
    let is_node = |name: &str| state.nodes.iter().any(|node| node.name == name);
    if held.is_cooling {
        return Some(Excuse::Cooling);
    }
    let Some(name) = &held.pod else {
        return Some(Excuse::Nameless);
    };
    if live.contains(held.handle.as_str()) {
        return Some(Excuse::Sibling);
    }
    let mut pods = state.pods.iter().filter(|pod| pod.name == *name);
    if pods.any(|pod| !pod.is_finished && pod.addresses.is_empty()) {
        return Some(Excuse::Starting);
    }
    let is_young = held.is_young && held.node.as_deref().is_none_or(is_node);
    is_young.then_some(Excuse::Young)
}

/// Addresses held for tunnels that nobody uses.
fn stale_tunnels(state: &State) -> BTreeSet<String> {
    let used: BTreeSet<IpAddr> = tunnels(state).chain(pod_addresses(state)).collect();
    let held = allocations(state).filter(|(_, address, attribute)| {
        let is_tunnel = attribute.is_some_and(|held| held.handle.contains("-tunnel-addr-"));
        is_tunnel && !used.contains(address)
    });
    held.map(|(_, address, _)| address.to_string()).collect()
}

/// What the check calls so, and what one of two overlapping blocks believes to be free.
fn not_allocated(state: &State, checked: &Checked) -> BTreeSet<String> {
    let is_enabled = |address: IpAddr| {
        let mut enabled = state.pools.iter().filter(|pool| !pool.is_disabled);
        enabled.any(|pool| pool.range.contains(address))
    };
    let is_free = |address: IpAddr| {
        let mut holding = state
            .blocks
            .iter()
            .filter(|block| block.range.contains(address));
        holding.any(|block| {
            let mut entries = block.allocations.iter().zip(0..);
            entries.any(|(entry, n)| entry.is_none() && block.range.nth(n) == address)
        })
    };
    let used = pod_addresses(state).chain(tunnels(state));
    let free = used.filter(|address| is_enabled(*address) && is_free(*address));
    let mut found = texts(&checked.not_allocated);
    found.extend(free.map(|address| address.to_string()));
    found
}

/// What the check calls so, and pods' addresses outside every pool that a stray block still counts.
fn in_no_pool(state: &State, checked: &Checked) -> BTreeSet<String> {
    let in_any = |address: IpAddr| state.pools.iter().any(|pool| pool.range.contains(address));
    let outside = pod_addresses(state).filter(|address| !in_any(*address));
    let mut found = texts(&checked.in_no_pool);
    found.extend(outside.map(|address| address.to_string()));
    found
}

/// Resting addresses have given their handle back.
fn missing_handles(state: &State, checked: &Checked) -> BTreeSet<String> {
    let awake: BTreeSet<&str> = allocations(state)
        .filter_map(|(_, _, attribute)| attribute)
        .filter(|attribute| !attribute.is_cooling)
        .map(|attribute| attribute.handle.as_str())
        .collect();
    let missing = checked.missing.iter();
    missing
        .filter(|handle| awake.contains(handle.as_str()))
        .cloned()
        .collect()
}

/// Addresses of several pods, or of a pod and a tunnel.
fn duplicates(state: &State) -> BTreeSet<String> {
    let mut users: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for address in pod_addresses(state).chain(tunnels(state)) {
        *users.entry(address).or_default() += 1;
    }
    let of_pods: BTreeSet<IpAddr> = pod_addresses(state).collect();
    users.retain(|address, n| *n > 1 && of_pods.contains(address));
    users.keys().map(IpAddr::to_string).collect()
}

/// Pairs of blocks, or of blocks and claims without one, that share addresses.
fn overlaps(state: &State) -> BTreeSet<String> {
    let blocks = state
        .blocks
        .iter()
        .map(|block| (block.range, block.range.object_name()));
    let mut holders: Vec<(Range, String)> = blocks.collect();
    for affinity in confirmed(state) {
        if state
            .blocks
            .iter()
            .all(|block| block.range != affinity.range)
        {
            holders.push((affinity.range, affinity.object_name()));
        }
    }
    let mut pairs = BTreeSet::new();
    for (a, first) in &holders {
        for (b, second) in &holders {
            if a != b && first < second && a.overlaps(*b) {
                pairs.insert(format!("{first} {second}"));
            }
        }
    }
    pairs
}

/// The younger pool of each pair; all are of one age, so the later one in the order of ranges.
fn pool_overlaps(state: &State) -> BTreeSet<String> {
    let mut younger = BTreeSet::new();
    for (a, first) in state.pools.iter().enumerate() {
        for (b, second) in state.pools.iter().enumerate() {
            let key = |range: Range| (range.first, std::cmp::Reverse(range.size));
            if key(first.range) < key(second.range) && first.range.overlaps(second.range) {
                debug_assert_ne!(a, b, "a pool is not before itself");
                younger.insert(format!("pool{b}"));
            }
        }
    }
    younger
}

fn blocks_in_no_pool(state: &State) -> BTreeSet<String> {
    let is_inside = |range: Range| {
        let mut pools = state.pools.iter();
        pools.any(|pool| (0..range.size).all(|n| pool.range.contains(range.nth(n))))
    };
    let outside = state.blocks.iter().filter(|block| !is_inside(block.range));
    outside.map(|block| block.range.object_name()).collect()
}

fn confirmed(state: &State) -> impl Iterator<Item = &Affinity> {
    state.affinities.iter().filter(|claim| claim.is_confirmed)
}

/// Nodes that are gone and have a claim, or a block that says that it is theirs.
fn gone(state: &State) -> BTreeSet<String> {
    let claims = confirmed(state).map(|claim| claim.node.clone());
    let blocks = state.blocks.iter().filter_map(|block| block.host.clone());
    let is_gone = |name: &String| state.nodes.iter().all(|node| node.name != *name);
    claims.chain(blocks).filter(is_gone).collect()
}

/// Claims without a block, on another's block, and the first of two on one range.
fn mismatches(state: &State) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for claim in confirmed(state) {
        let block = state.blocks.iter().find(|block| block.range == claim.range);
        if block.is_none_or(|block| block.host.as_ref() != Some(&claim.node)) {
            found.insert(claim.object_name());
        }
        let of_range = confirmed(state).filter(|other| other.range == claim.range);
        let mut of_range: Vec<String> = of_range.map(Affinity::object_name).collect();
        of_range.sort();
        if of_range.len() > 1 {
            found.insert(of_range.swap_remove(0));
        }
    }
    found
}

/// Findings of the rules of the network.
struct Found {
    report: Report,
}

impl Found {
    fn of(state: &State) -> Self {
        let mut reader = Reader::new();
        let objects: Vec<String> = state.objects().iter().map(Value::to_string).collect();
        reader.file("state.json", &mut objects.concat().as_bytes());
        let mut dump = reader.finish();
        for kind in KINDS {
            dump.coverage.claim(kind, Extent::Complete, "the test");
        }
        assert_eq!(dump.coverage.gaps(), [], "a state is read in whole");
        let rules: Vec<_> = rules::all()
            .into_iter()
            .filter(|rule| rule.code.starts_with("BN"))
            .collect();
        let now = Stamp::parse(NOW).map(|stamp| stamp.0);
        let report = audit(
            &dump,
            &rules,
            &Settings::default(),
            &Baseline::default(),
            now,
        );
        Self { report }
    }

    fn findings<'a>(&'a self, code: &'a str) -> impl Iterator<Item = &'a FindingView> {
        let flat = self.report.flat().into_iter().map(|(_, finding)| finding);
        flat.filter(move |finding| finding.code == code)
    }

    /// The first word of each value that was seen, without a comma.
    fn words(&self, code: &str) -> BTreeSet<String> {
        let seen = self.findings(code).flat_map(|finding| {
            assert_eq!(finding.n_more_evidence, 0, "states are small");
            &finding.evidence
        });
        seen.map(|seen| first_word(&seen.value)).collect()
    }

    fn first_words(&self, code: &str) -> BTreeSet<String> {
        let messages = self.findings(code).map(|finding| &finding.message);
        messages.map(|message| first_word(message)).collect()
    }

    fn subjects(&self, code: &str) -> BTreeSet<String> {
        let subjects = self.findings(code).map(|finding| &finding.subject);
        subjects.map(|subject| subject.name.to_string()).collect()
    }

    /// Subject and each other object, the smaller name first.
    fn pairs(&self, code: &str) -> BTreeSet<String> {
        let mut pairs = BTreeSet::new();
        for finding in self.findings(code) {
            for other in &finding.also {
                let mut pair = [finding.subject.name.as_str(), other.name.as_str()];
                pair.sort_unstable();
                pairs.insert(pair.join(" "));
            }
        }
        pairs
    }
}

fn first_word(text: &str) -> String {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.trim_end_matches(',').to_owned()
}
