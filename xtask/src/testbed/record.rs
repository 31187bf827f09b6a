//! What is known about a testbed that was started: one folder, and `testbed.json` in it.
//!
//! Invariant: a process stands in the record before anybody waits for it, so that `down` finds
//! whatever an interrupted `up` left behind.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};

use super::daemon::Daemon;
use super::folders;
use super::options::check_name;

const RECORD: &str = "testbed.json";

/// One testbed, running or not.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub name: String,
    pub folder: PathBuf,
    /// The options of `up`, as JSON, for comparison.
    pub options: Value,
    /// URLs of the API servers.
    pub servers: Vec<String>,
    /// In the order in which they were started.
    pub daemons: Vec<Daemon>,
}

impl Record {
    pub(super) fn new(name: &str, options: Value, servers: Vec<String>) -> anyhow::Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            folder: folder(name)?,
            options,
            servers,
            daemons: Vec::new(),
        })
    }

    /// The testbed of this name, if `up` has made one.
    pub(super) fn load(name: &str) -> anyhow::Result<Option<Self>> {
        let folder = folder(name)?;
        let path = folder.join(RECORD);
        let Ok(text) = fs::read_to_string(&path) else {
            return Ok(None);
        };
        let value: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged; remove it by hand", path.display()))?;
        let servers = value["servers"].as_array().into_iter().flatten();
        let daemons = value["daemons"].as_array().into_iter().flatten();
        Ok(Some(Self {
            name: name.to_owned(),
            folder,
            options: value["options"].clone(),
            servers: servers
                .filter_map(|server| Some(server.as_str()?.to_owned()))
                .collect(),
            daemons: daemons.filter_map(Daemon::from_json).collect(),
        }))
    }

    /// Every testbed that has a folder, by name.
    pub(super) fn all() -> anyhow::Result<Vec<Self>> {
        let mut names = Vec::new();
        if let Ok(entries) = fs::read_dir(folders::runs()?) {
            for entry in entries {
                names.push(entry?.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort();
        let mut records = Vec::new();
        for name in names.iter().filter(|name| check_name(name).is_ok()) {
            records.extend(Self::load(name)?);
        }
        Ok(records)
    }

    pub(super) fn save(&self) -> anyhow::Result<()> {
        let daemons: Vec<Value> = self.daemons.iter().map(Daemon::to_json).collect();
        let value = json!({
            "options": self.options,
            "servers": self.servers,
            "daemons": daemons,
        });
        let text = serde_json::to_string_pretty(&value)?;
        // Renamed into place, so that nobody reads half of it.
        let unfinished = self.folder.join(format!("{RECORD}.new"));
        fs::write(&unfinished, text)?;
        fs::rename(unfinished, self.folder.join(RECORD))?;
        Ok(())
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    pub(super) fn log(&self, daemon: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{daemon}.log"))
    }

    /// Ends a process, and starts it again after `pause`.
    pub(super) fn restart(&mut self, name: &str, pause: Duration) -> anyhow::Result<()> {
        let log = self.log(name);
        let found = self.daemons.iter_mut().find(|daemon| daemon.name == name);
        let daemon = found.with_context(|| format!("the testbed has no {name}"))?;
        let spec = daemon.spec()?;
        daemon.stop();
        std::thread::sleep(pause);
        *daemon = Daemon::start(&spec, &log)?;
        self.save()
    }

    pub(super) fn is_running(&self) -> bool {
        !self.daemons.is_empty() && self.daemons.iter().all(Daemon::is_alive)
    }
}

/// Held while a testbed is started or stopped, so that two commands do not meet.
pub(super) fn lock(name: &str) -> anyhow::Result<File> {
    let runs = folders::runs()?;
    loop {
        fs::create_dir_all(&runs).with_context(|| format!("unable to make {}", runs.display()))?;
        let path = lock_file(&runs, name);
        let file = File::create(&path)?;
        file.lock()
            .with_context(|| format!("unable to lock testbed {name}"))?;
        // Whoever held it before may have removed the file; a lock on it would then bind nobody.
        let same = |other: fs::Metadata| file.metadata().is_ok_and(|own| own.ino() == other.ino());
        if fs::metadata(&path).is_ok_and(same) {
            return Ok(file);
        }
    }
}

/// Takes away what is left of a testbed on disk, but for its lock.
pub(super) fn remove(name: &str) -> anyhow::Result<()> {
    let folder = folder(name)?;
    if folder.exists() {
        fs::remove_dir_all(&folder)
            .with_context(|| format!("unable to remove {}", folder.display()))?;
    }
    Ok(())
}

/// Gives a lock back, and takes its file away with it.
pub(super) fn unlock(name: &str, lock: File) -> anyhow::Result<()> {
    let runs = folders::runs()?;
    fs::remove_file(lock_file(&runs, name))?;
    drop(lock);
    // Fails while another testbed is there, which is as it should be.
    let _ = fs::remove_dir(runs);
    Ok(())
}

fn folder(name: &str) -> anyhow::Result<PathBuf> {
    check_name(name)?;
    Ok(folders::runs()?.join(name))
}

/// A name with a dot is no testbed's.
fn lock_file(runs: &Path, name: &str) -> PathBuf {
    runs.join(format!("{name}.lock"))
}
