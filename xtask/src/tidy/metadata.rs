//! The package graph, from `cargo metadata`: members, the edges between them, and what each reaches.
//!
//! Invariant: what only tests use is outside "reaches", since a test may read files and draw dice.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use serde_json::Value;

/// The workspace's members.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Packages {
    members: Vec<Package>,
}

/// One member of the workspace.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Package {
    pub name: String,
    /// The `license` field.
    pub licence: Option<String>,
    /// Path of the manifest, relative to the root.
    pub manifest: String,
    /// Members that it names as dependencies of any kind.
    pub edges: BTreeSet<String>,
    /// Every package in its normal and build dependencies, however far.
    pub reaches: BTreeSet<String>,
}

impl Packages {
    /// Reads the output of `cargo metadata --format-version 1`.
    pub(super) fn parse(json: &str) -> anyhow::Result<Self> {
        let metadata: Value = serde_json::from_str(json).context("cargo metadata is no JSON")?;
        let root = text(&metadata["workspace_root"]);
        let by_id: BTreeMap<&str, &Value> = list(&metadata["packages"])
            .iter()
            .map(|package| (text(&package["id"]), package))
            .collect();
        let graph = Graph::of(&metadata["resolve"]);
        let ids: Vec<&str> = list(&metadata["workspace_members"])
            .iter()
            .map(text)
            .collect();
        let names: BTreeSet<&str> = ids
            .iter()
            .filter_map(|id| by_id.get(id))
            .map(|package| text(&package["name"]))
            .collect();
        let mut members = Vec::new();
        for id in ids {
            let package = by_id.get(id).with_context(|| format!("no package {id}"))?;
            members.push(Package {
                name: text(&package["name"]).to_owned(),
                licence: package["license"].as_str().map(str::to_owned),
                manifest: relative(text(&package["manifest_path"]), root),
                edges: edges(package, &names),
                reaches: graph
                    .reached_from(id)
                    .iter()
                    .map(|id| name_of(&by_id, id))
                    .collect(),
            });
        }
        Ok(Self { members })
    }

    pub(super) fn members(&self) -> &[Package] {
        &self.members
    }

    pub(super) fn member(&self, name: &str) -> Option<&Package> {
        self.members.iter().find(|package| package.name == name)
    }
}

fn edges(package: &Value, members: &BTreeSet<&str>) -> BTreeSet<String> {
    let dependencies = list(&package["dependencies"]).iter();
    let inside = dependencies
        .filter(|d| !d["path"].is_null())
        .map(|d| text(&d["name"]));
    inside
        .filter(|name| members.contains(name))
        .map(str::to_owned)
        .collect()
}

/// Package id to the ids that it uses outside its tests.
struct Graph<'a> {
    uses: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    fn of(resolve: &'a Value) -> Self {
        let mut uses = BTreeMap::new();
        for node in list(&resolve["nodes"]) {
            let outside_tests = list(&node["deps"]).iter().filter(|dependency| {
                list(&dependency["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"] != "dev")
            });
            uses.insert(
                text(&node["id"]),
                outside_tests.map(|d| text(&d["pkg"])).collect(),
            );
        }
        Self { uses }
    }

    fn reached_from(&self, start: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(id) = open.pop() {
            for used in self.uses.get(id).into_iter().flatten() {
                if reached.insert(*used) {
                    open.push(used);
                }
            }
        }
        reached
    }
}

fn name_of(by_id: &BTreeMap<&str, &Value>, id: &str) -> String {
    by_id.get(id).map_or_else(
        || id.to_owned(),
        |package| text(&package["name"]).to_owned(),
    )
}

fn relative(path: &str, root: &str) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .trim_start_matches('/')
        .to_owned()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
pub(super) mod sample {
    //! Package graphs for tests of checks.

    use super::{Package, Packages};

    /// What a test says of a member.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::tidy) struct Sample {
        pub name: &'static str,
        pub licence: Option<&'static str>,
        pub edges: &'static [&'static str],
        pub reaches: &'static [&'static str],
    }

    impl Sample {
        pub(in crate::tidy) fn member(name: &'static str) -> Self {
            Self {
                name,
                licence: Some("Apache-2.0"),
                edges: &[],
                reaches: &["serde"],
            }
        }
    }

    pub(in crate::tidy) fn of(samples: &[Sample]) -> Packages {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let member = |sample: &Sample| Package {
            name: sample.name.to_owned(),
            licence: sample.licence.map(str::to_owned),
            manifest: format!("crates/{}/Cargo.toml", sample.name),
            edges: owned(sample.edges),
            reaches: owned(sample.reaches),
        };
        Packages {
            members: samples.iter().map(member).collect(),
        }
    }

    /// Members that obey `architecture::SAMPLE`.
    pub(in crate::tidy) fn obedient() -> Packages {
        let core = Sample::member("berth-core");
        let audit = Sample {
            edges: &["berth-core"],
            ..Sample::member("berth-audit")
        };
        let sim = Sample {
            edges: &["berth-core"],
            ..Sample::member("berth-sim")
        };
        of(&[audit, core, sim])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = r#"{
        "workspace_root": "/r",
        "workspace_members": ["sim 1", "core 1"],
        "packages": [
            {"id": "core 1", "name": "core", "license": "Apache-2.0",
             "manifest_path": "/r/crates/core/Cargo.toml",
             "dependencies": [{"name": "serde", "path": null}]},
            {"id": "sim 1", "name": "sim", "license": null,
             "manifest_path": "/r/crates/sim/Cargo.toml",
             "dependencies": [{"name": "core", "path": "/r/crates/core"},
                              {"name": "rand", "path": null}]},
            {"id": "serde 1", "name": "serde"}, {"id": "rand 1", "name": "rand"},
            {"id": "libc 1", "name": "libc"}
        ],
        "resolve": {"nodes": [
            {"id": "sim 1", "deps": [
                {"pkg": "core 1", "dep_kinds": [{"kind": null}]},
                {"pkg": "rand 1", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "core 1", "deps": [{"pkg": "serde 1", "dep_kinds": [{"kind": "build"}]}]},
            {"id": "rand 1", "deps": [{"pkg": "libc 1", "dep_kinds": [{"kind": null}]}]},
            {"id": "serde 1", "deps": []}, {"id": "libc 1", "deps": []}
        ]}
    }"#;

    #[test]
    fn closure_follows_normal_and_build_edges_but_not_tests() {
        let packages = Packages::parse(METADATA).unwrap();
        let sim = packages.member("sim").unwrap();
        assert_eq!(
            sim.reaches.iter().map(String::as_str).collect::<Vec<_>>(),
            ["core", "serde"]
        );
    }

    #[test]
    fn members_carry_edges_licence_and_manifest() {
        let packages = Packages::parse(METADATA).unwrap();
        assert_eq!(packages.members().len(), 2);
        let sim = packages.member("sim").unwrap();
        assert_eq!(
            sim.edges.iter().map(String::as_str).collect::<Vec<_>>(),
            ["core"]
        );
        assert_eq!(sim.licence, None);
        assert_eq!(sim.manifest, "crates/sim/Cargo.toml");
    }
}
