//! Running the program, and folders that go away.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

/// How a command ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// A folder of one test.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("it-{}-{number}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// Names of the files in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs the program without any data.
pub(crate) fn berth<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Ended {
    run(command(arguments))
}

/// Runs the program on the data in `folder`.
pub(crate) fn berth_on<S: AsRef<OsStr>>(
    folder: &Folder,
    arguments: impl IntoIterator<Item = S>,
) -> Ended {
    let mut command = command(arguments);
    command.env("BERTH_DATA", &folder.0);
    run(command)
}

/// The program with its output piped, an empty folder of data and a narrow, colourful terminal's
/// environment.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.args(arguments).stdin(Stdio::null());
    command.env(
        "BERTH_DATA",
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-such-folder"),
    );
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command
}

fn run(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    Ended {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A cluster of three nodes and forty pods, as the published experiment spells them.
pub(crate) fn small_openb() -> Folder {
    let folder = Folder::new();
    folder.write(
        "openb/openb_node_list_gpu_node.csv",
        "sn,cpu_milli,memory_mib,gpu,model\n\
         node-a,32000,131072,4,T4\nnode-b,64000,262144,8,V100M16\nnode-c,32000,131072,4,T4\n",
    );
    folder.write("openb/openb_pod_list_tiny.csv", small_pods());
    for seed in [7u8, 8] {
        let outputs = (0..607u64 * 8).map(|n| (n.wrapping_mul(167 + u64::from(seed)) >> 3) as u8);
        folder.write(
            &format!("go-rand/seed-{seed}.u64le"),
            outputs.collect::<Vec<u8>>(),
        );
    }
    folder
}

/// Forty pods with times.
pub(crate) fn small_pods() -> String {
    let mut pods = String::from(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,\
         deletion_time,scheduled_time\n",
    );
    for n in 0..40 {
        let (gpus, milli) = if n % 4 == 0 {
            (2, 1000)
        } else {
            (1, 250 + 250 * (n % 3))
        };
        let (created, deleted) = (n * 60, n * 60 + 7200);
        pods.push_str(&format!(
            "pod-{n:02},4000,8192,{gpus},{milli},,LS,Succeeded,{created},{deleted},{created}\n"
        ));
    }
    pods
}
