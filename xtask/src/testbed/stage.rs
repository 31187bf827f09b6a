//! What is built for a testbed: the list of stages, and the cache that they are built into.
//!
//! A stage is one Go module or a part of one; its key is the hash of everything that decides what
//! comes out, so that a fresh clone finds what another one has built.
//! Invariant: a folder under its final name is complete, because it is renamed there last.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, bail};
use sha2::{Digest as _, Sha256};

use super::folders;
use crate::process;
use crate::workspace::Workspace;

/// Version of every Kubernetes component, as their own release builds stamp it.
const KUBERNETES: &str = "1.37.2";
/// Digits of the hash in a folder's name: 64 bits are plenty for a handful of folders.
const KEY_DIGITS: usize = 16;
/// A build that nobody used for so long is removed when the stage is built anew: Kubernetes alone
/// takes 400 MB.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Oldest Go that the modules accept, for the advice where there is none.
const GO_NEEDED: &str = "1.26";

/// One thing to build.
#[derive(Debug)]
pub(crate) struct Stage {
    /// What a person types.
    pub name: &'static str,
    /// One line for people who wait for it.
    pub about: &'static str,
    /// The Go module, relative to the repository's root.
    module: &'static str,
    /// Packages to build; each gives a program named after its last part.
    packages: &'static [&'static str],
    /// Folders of Go sources that go into the key besides go.mod and go.sum.
    sources: &'static [&'static str],
    /// Links with the version that Kubernetes reports.
    versioned: bool,
}

/// Keys and certificates; seconds.
pub(crate) const PKI: Stage = Stage {
    name: "pki",
    about: "keys and certificates (seconds)",
    module: "testbed/pki",
    packages: &["."],
    sources: &["testbed/pki"],
    versioned: false,
};

/// The image of a real node; seconds.
pub(crate) const IMAGE: Stage = Stage {
    name: "image",
    about: "the image of a real node (seconds)",
    module: "testbed/image",
    packages: &["."],
    sources: &["testbed/image"],
    versioned: false,
};

/// The store behind the API server.
pub(crate) const ETCD: Stage = Stage {
    name: "etcd",
    about: "etcd 3.7 (a minute the first time)",
    module: "testbed/etcd",
    packages: &["."],
    sources: &["testbed/etcd"],
    versioned: false,
};

/// Kubernetes itself.
pub(crate) const KUBERNETES_STAGE: Stage = Stage {
    name: "kubernetes",
    about: "Kubernetes 1.37 (10 to 20 minutes the first time on two cores)",
    module: "testbed",
    packages: &[
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
        "k8s.io/kubernetes/cmd/kubectl",
        "k8s.io/kubernetes/cmd/kubelet",
    ],
    sources: &[],
    versioned: true,
};

/// kube-scheduler's filters behind a pipe.
pub(crate) const ORACLE: Stage = Stage {
    name: "oracle",
    about: "the oracle over kube-scheduler's filters (3 to 6 minutes the first time on two cores)",
    module: "testbed",
    packages: &["./oracle"],
    sources: &["testbed/oracle"],
    versioned: false,
};

/// The container runtime of a real node.
pub(crate) const CONTAINERD: Stage = Stage {
    name: "containerd",
    about: "containerd 2.4 (two minutes the first time)",
    module: "testbed/containerd",
    packages: &[
        "github.com/containerd/containerd/v2/cmd/containerd",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
        "github.com/containerd/containerd/v2/cmd/ctr",
    ],
    sources: &[],
    versioned: false,
};

/// Every stage, cheap ones first.
pub(crate) const ALL: &[&Stage] = &[&PKI, &IMAGE, &ETCD, &CONTAINERD, &ORACLE, &KUBERNETES_STAGE];

impl Stage {
    /// The folder with this stage's programs; builds them if the cache has none.
    pub(crate) fn build(&self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let cache = folders::cache()?;
        let folder = cache.join(format!("{}-{}", self.name, self.key(workspace)?));
        if folder.is_dir() {
            mark_used(&folder);
            return Ok(folder);
        }
        fs::create_dir_all(&cache)
            .with_context(|| format!("unable to make the cache folder {}", cache.display()))?;
        let lock = File::create(cache.join(format!("{}.lock", self.name)))?;
        lock.lock()
            .with_context(|| format!("unable to lock the cache of stage {}", self.name))?;
        if folder.is_dir() {
            return Ok(folder); // another process built it meanwhile
        }
        self.build_into(workspace, &cache, &folder)?;
        self.forget_old(&cache)?;
        Ok(folder)
    }

    /// A program of this stage; builds the stage if need be.
    pub(crate) fn program(&self, workspace: &Workspace, name: &str) -> anyhow::Result<PathBuf> {
        let program = self.build(workspace)?.join(name);
        if !program.is_file() {
            bail!(
                "the cache has no {}; remove its folder and build again",
                program.display()
            );
        }
        Ok(program)
    }

    fn build_into(&self, workspace: &Workspace, cache: &Path, folder: &Path) -> anyhow::Result<()> {
        require_go()?;
        println!("building {}", self.about);
        let started = Instant::now();
        let unfinished = cache.join(format!("{}.unfinished", self.name));
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        fs::create_dir(&unfinished)?;
        let mut go = self.go_build(workspace, &unfinished);
        process::require(&mut go).context(
            "the Go build failed; its messages stand above. \
             It needs the Go module proxy, or the modules in the local module cache",
        )?;
        fs::rename(&unfinished, folder)?;
        println!(
            "built {} in {:.0} s: {}",
            self.name,
            started.elapsed().as_secs_f64(),
            folder.display()
        );
        Ok(())
    }

    /// Removes builds of this stage that nobody has used for long.
    fn forget_old(&self, cache: &Path) -> anyhow::Result<()> {
        let prefix = format!("{}-", self.name);
        for entry in fs::read_dir(cache)? {
            let entry = entry?;
            let is_build = entry.file_name().to_string_lossy().starts_with(&prefix);
            let age = entry.metadata()?.modified()?.elapsed().unwrap_or_default();
            if is_build && entry.path().is_dir() && age > FORGET_AFTER {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    fn go_build(&self, workspace: &Workspace, output: &Path) -> Command {
        let mut go = Command::new("go");
        go.current_dir(workspace.path(self.module))
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=readonly") // a build never edits go.mod
            .env("GOWORK", "off")
            .args(self.flags())
            .arg("-o")
            .arg(format!("{}/", output.display())) // the slash makes it a folder
            .args(self.packages);
        go
    }

    fn flags(&self) -> Vec<String> {
        let mut linker = "-s -w".to_owned();
        if self.versioned {
            let (major, minor) = major_and_minor(KUBERNETES);
            let package = "k8s.io/component-base/version";
            linker.push_str(&format!(
                " -X {package}.gitVersion=v{KUBERNETES} -X {package}.gitMajor={major} \
                 -X {package}.gitMinor={minor}"
            ));
        }
        let words = ["build", "-trimpath", "-buildvcs=false", "-ldflags", &linker];
        words.map(str::to_owned).to_vec()
    }

    /// The hash of the module's files, the stage's sources, and what this file says about them.
    fn key(&self, workspace: &Workspace) -> anyhow::Result<String> {
        let mut hash = Sha256::new();
        for word in self.flags().iter().map(String::as_str) {
            add(&mut hash, "flag", word.as_bytes());
        }
        for package in self.packages {
            add(&mut hash, "package", package.as_bytes());
        }
        add(&mut hash, "machine", std::env::consts::ARCH.as_bytes());
        for file in self.inputs(workspace)? {
            let bytes =
                fs::read(&file).with_context(|| format!("unable to read {}", file.display()))?;
            add(&mut hash, &file_name(&file), &bytes);
        }
        let digits: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
        Ok(digits[..KEY_DIGITS].to_owned())
    }

    fn inputs(&self, workspace: &Workspace) -> anyhow::Result<Vec<PathBuf>> {
        let module = workspace.path(self.module);
        let mut files = vec![module.join("go.mod")];
        let sums = module.join("go.sum");
        if sums.is_file() {
            files.push(sums); // a module without dependencies has none
        }
        for source in self.sources {
            let folder = workspace.path(source);
            let listed = fs::read_dir(&folder)
                .with_context(|| format!("unable to list {}", folder.display()))?;
            for entry in listed {
                let path = entry?.path();
                let is_test = file_name(&path).ends_with("_test.go");
                if path.extension().is_some_and(|extension| extension == "go") && !is_test {
                    files.push(path);
                }
            }
        }
        files.sort();
        Ok(files)
    }
}

/// Why nothing can be built here, if so; a filled cache needs no Go.
pub(crate) fn go_is_missing() -> Option<String> {
    let found = Command::new("go").arg("version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return None;
    }
    Some(format!(
        "the testbed is built with Go {GO_NEEDED} or newer, and there is no `go` on the search path"
    ))
}

/// True if every one of these stages is in the cache.
pub(crate) fn all_built(workspace: &Workspace, stages: &[&Stage]) -> anyhow::Result<bool> {
    let cache = folders::cache()?;
    for stage in stages {
        let folder = cache.join(format!("{}-{}", stage.name, stage.key(workspace)?));
        if !folder.is_dir() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The time of change of a folder says when it was last used; a cache that can't be written is old
/// sooner, which costs a build.
fn mark_used(folder: &Path) {
    if let Ok(file) = File::open(folder) {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn require_go() -> anyhow::Result<()> {
    match go_is_missing() {
        None => Ok(()),
        Some(why) => bail!("{why}; install it from https://go.dev/dl and try again"),
    }
}

/// Each part is preceded by its name and length, so that no two lists of parts hash alike.
fn add(hash: &mut Sha256, name: &str, bytes: &[u8]) {
    hash.update(format!("{name} {}\n", bytes.len()));
    hash.update(bytes);
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn major_and_minor(version: &str) -> (&str, &str) {
    let mut parts = version.split('.');
    (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_stage_has_its_own_name_and_key() {
        let workspace = Workspace::locate();
        let keys: BTreeSet<_> = ALL
            .iter()
            .map(|stage| (stage.name, stage.key(&workspace).unwrap()))
            .collect();
        assert_eq!(keys.len(), ALL.len());
        let names: BTreeSet<_> = ALL.iter().map(|stage| stage.name).collect();
        assert_eq!(names.len(), ALL.len());
    }

    #[test]
    fn moving_bytes_between_parts_changes_the_hash() {
        let of = |parts: &[(&str, &[u8])]| {
            let mut hash = Sha256::new();
            for (name, bytes) in parts {
                add(&mut hash, name, bytes);
            }
            hash.finalize()
        };
        assert_ne!(
            of(&[("a", b"xy"), ("b", b"")]),
            of(&[("a", b"x"), ("b", b"y")])
        );
    }

    #[test]
    fn kubernetes_is_linked_with_its_version() {
        let flags = KUBERNETES_STAGE.flags().join(" ");
        assert!(flags.contains("gitVersion=v1.37.2"));
        assert!(flags.contains("gitMinor=37"));
        assert!(!ETCD.flags().join(" ").contains("gitVersion"));
    }
}
