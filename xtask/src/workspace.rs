//! Where things are: the repository's root, its build folder, the data folder, and `cargo` itself.
//!
//! Invariant: every path handed out is absolute, so that no command depends on the current folder.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variable that names the folder with traces and published results.
pub(crate) const DATA_VARIABLE: &str = "BERTH_DATA";
/// Default of `BERTH_DATA`, relative to the repository's root.
const DATA_DEFAULT: &str = "../shared/data";

/// The repository that the command works on.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The repository that holds this xtask.
    ///
    /// Cargo names the manifest's folder at run time; a binary started by hand falls back on the
    /// folder it was built from.
    pub(crate) fn locate() -> Self {
        let manifest_folder = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_folder.parent().unwrap_or(&manifest_folder);
        Self {
            root: root.to_path_buf(),
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Cargo's build folder, which `CARGO_TARGET_DIR` may move.
    pub(crate) fn target(&self) -> PathBuf {
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(
            || self.root.join("target"),
            |folder| self.root.join(folder), // an absolute folder replaces the root
        )
    }

    /// The release binary of Berth, which `build_release` makes.
    pub(crate) fn berth(&self) -> PathBuf {
        self.target().join("release/berth")
    }

    /// The folder with traces and published results; it may not exist.
    pub(crate) fn data(&self) -> PathBuf {
        std::env::var_os(DATA_VARIABLE).map_or_else(
            || self.root.join(DATA_DEFAULT),
            |folder| self.root.join(folder),
        )
    }

    /// A command that runs in the root and sees an absolute `BERTH_DATA`.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.root)
            .env(DATA_VARIABLE, self.data());
        command
    }

    /// The cargo that started this xtask, so that both use one toolchain.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = self.command(cargo);
        for (name, _) in std::env::vars_os().filter(|(name, _)| describes_xtask(name)) {
            command.env_remove(name);
        }
        command.args(arguments);
        command
    }

    /// Builds `target/release/berth`.
    pub(crate) fn build_release(&self) -> anyhow::Result<()> {
        crate::process::require(&mut self.cargo(["build", "--release", "--package", "berth"]))
    }
}

/// True for what cargo tells a program about its own package when it runs it.
///
/// A cargo started with these builds afresh whatever reads them in its build script, as `ring` does
/// with all that depends on it; and a cargo started from a shell then builds it back again.
fn describes_xtask(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_cargo_sees_the_environment_of_a_shell() {
        let command = Workspace::locate().cargo(["build"]);
        let removed = |wanted: &str| {
            let mut set = command.get_envs();
            set.any(|(name, value)| name == wanted && value.is_none())
        };
        // Cargo sets both for the test that runs this.
        assert!(removed("CARGO_PKG_NAME"));
        assert!(removed("CARGO_MANIFEST_DIR"));
        assert!(!removed("CARGO"));
    }
}
