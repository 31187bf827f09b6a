//! What the fake nodes look like: shapes with counts, spread over as many nodes as are wanted.
//!
//! Invariant: the same file and number give the same nodes in the same order.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, ensure};
use serde::Deserialize;

/// Most nodes of one process.
const NODES_MAX: usize = 10_000;
/// Most GPUs of a node: a ResourceSlice holds 128 devices.
const GPUS_MAX: u32 = 128;
/// Zones that nodes are dealt into, so that spreading has something to spread over.
const N_ZONES: usize = 3;

/// A file of shapes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shapes {
    /// Where the shapes come from; for people.
    #[serde(default, rename = "source")]
    _source: String,
    shapes: Vec<Shape>,
}

/// One kind of node. Amounts are Kubernetes quantities.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shape {
    /// Start of the nodes' names, and their instance type.
    pub name: String,
    /// How many of these there are; only the proportions count.
    pub count: u32,
    pub cpu: String,
    pub memory: String,
    #[serde(default = "default_ephemeral_storage")]
    pub ephemeral_storage: String,
    #[serde(default = "default_pods")]
    pub pods: u32,
    #[serde(default)]
    pub gpus: u32,
    /// Model, as in the label `nvidia.com/gpu.product`.
    #[serde(default)]
    pub gpu: String,
    #[serde(default = "default_gpu_memory")]
    pub gpu_memory: String,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// One node to register.
#[derive(Clone, Debug)]
pub(crate) struct FakeNode<'a> {
    pub name: String,
    pub zone: String,
    pub shape: &'a Shape,
}

/// The shape where no file names one: a common training node.
pub(crate) fn uniform(gpus: u32) -> Vec<Shape> {
    vec![Shape {
        name: "fake".to_owned(),
        count: 1,
        cpu: "128".to_owned(),
        memory: "2Ti".to_owned(),
        ephemeral_storage: default_ephemeral_storage(),
        pods: default_pods(),
        gpus,
        gpu: "H100".to_owned(),
        gpu_memory: default_gpu_memory(),
        labels: BTreeMap::new(),
    }]
}

pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Shape>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("unable to read the shapes in {}", path.display()))?;
    let file: Shapes = serde_json::from_str(&text)
        .with_context(|| format!("{} is no list of shapes", path.display()))?;
    check(&file.shapes).with_context(|| format!("shapes in {}", path.display()))?;
    Ok(file.shapes)
}

/// `n` nodes in the proportions of the shapes; a shape may get none if there are few nodes.
pub(crate) fn nodes(shapes: &[Shape], n: usize) -> anyhow::Result<Vec<FakeNode<'_>>> {
    check(shapes)?;
    ensure!(
        n <= NODES_MAX,
        "at most {NODES_MAX} nodes fit into one process"
    );
    let mut nodes = Vec::with_capacity(n);
    for (shape, count) in shapes.iter().zip(apportion(shapes, n)) {
        for index in 0..count {
            let zone = char::from(b'a' + u8::try_from(nodes.len() % N_ZONES)?);
            nodes.push(FakeNode {
                name: format!("{}-{index:05}", shape.name),
                zone: format!("zone-{zone}"),
                shape,
            });
        }
    }
    Ok(nodes)
}

/// Shares of `n` by the method of largest remainders; the first of equal shapes goes first.
fn apportion(shapes: &[Shape], n: usize) -> Vec<usize> {
    let total: usize = shapes.iter().map(|shape| shape.count as usize).sum();
    let exact = shapes.iter().map(|shape| shape.count as usize * n);
    let (mut shares, mut remainders): (Vec<usize>, Vec<(usize, usize)>) = exact
        .enumerate()
        .map(|(index, exact)| (exact / total, (exact % total, index)))
        .unzip();
    remainders.sort_by_key(|&(remainder, index)| (std::cmp::Reverse(remainder), index));
    let missing = n - shares.iter().sum::<usize>();
    for &(_, index) in &remainders[..missing] {
        shares[index] += 1;
    }
    shares
}

fn check(shapes: &[Shape]) -> anyhow::Result<()> {
    ensure!(
        shapes.iter().any(|shape| shape.count > 0),
        "there is no shape with a count"
    );
    let mut names = std::collections::BTreeSet::new();
    for shape in shapes {
        ensure!(
            names.insert(&shape.name),
            "two shapes are called {}",
            shape.name
        );
        ensure!(
            shape.gpus <= GPUS_MAX,
            "shape {} has more than {GPUS_MAX} GPUs",
            shape.name
        );
    }
    Ok(())
}

fn default_ephemeral_storage() -> String {
    "1Ti".to_owned()
}

/// The kubelet's own default.
fn default_pods() -> u32 {
    110
}

fn default_gpu_memory() -> String {
    "80Gi".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes(counts: &[u32]) -> Vec<Shape> {
        let named = counts.iter().enumerate().map(|(index, &count)| Shape {
            name: format!("s{index}"),
            count,
            ..uniform(8).remove(0)
        });
        named.collect()
    }

    #[test]
    fn shares_add_up_and_keep_the_proportions() {
        assert_eq!(apportion(&shapes(&[1, 1]), 10), [5, 5]);
        assert_eq!(apportion(&shapes(&[1, 1, 1]), 10), [4, 3, 3]);
        assert_eq!(apportion(&shapes(&[549, 387, 1]), 3), [2, 1, 0]);
        for n in 0..50 {
            let shares = apportion(&shapes(&[3, 0, 5, 90]), n);
            assert_eq!(shares.iter().sum::<usize>(), n);
            assert_eq!(shares[1], 0);
        }
    }

    #[test]
    fn names_are_unique_and_zones_filled_in_turn() {
        let shapes = shapes(&[1, 1]);
        let nodes = nodes(&shapes, 6).unwrap();
        let names: std::collections::BTreeSet<_> = nodes.iter().map(|n| &n.name).collect();
        assert_eq!(names.len(), 6);
        let zones: Vec<_> = nodes.iter().map(|n| n.zone.as_str()).collect();
        assert_eq!(zones[..4], ["zone-a", "zone-b", "zone-c", "zone-a"]);
    }

    #[test]
    fn list_without_nodes_or_with_two_of_a_name_is_refused() {
        assert!(nodes(&shapes(&[0]), 1).is_err());
        assert!(nodes(&[], 1).is_err());
        let mut twice = shapes(&[1, 1]);
        twice[1].name = "s0".to_owned();
        assert!(nodes(&twice, 1).is_err());
        assert!(nodes(&shapes(&[1]), NODES_MAX + 1).is_err());
    }

    #[test]
    fn shapes_of_the_public_trace_are_readable() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shapes/openb.json");
        let shapes = load(&path).unwrap();
        let total: u32 = shapes.iter().map(|shape| shape.count).sum();
        assert_eq!(total, 1_213);
        let gpus: u32 = shapes.iter().map(|shape| shape.count * shape.gpus).sum();
        assert_eq!(gpus, 6_212);
    }
}
