//! Dumps that are written to files once and read from there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use berth_core::stream::Stream;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::cluster::{node, pod};
use super::text::{journal_line, log_line, yaml_object};

/// Files of another layout than this one's are made afresh.
const LAYOUT: u32 = 1;

/// Where a dump stands; made where it does not yet.
pub(crate) fn made(name: &str, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{LAYOUT}-{name}"));
    if !path.exists() {
        let unfinished = folder.join(format!("unfinished-{name}"));
        let _ = fs::remove_dir_all(&unfinished);
        make(&unfinished)?;
        fs::rename(&unfinished, &path)?;
    }
    Ok(path)
}

/// A must-gather of 500 MB: a fifth of it is YAML, each pod twice as the tool writes it, and the rest
/// logs.
pub(crate) fn must_gather(root: &Path) -> io::Result<()> {
    const NODES: usize = 200;
    const NAMESPACES: usize = 60;
    const PODS: usize = 170;
    const LOG_BYTES: usize = 40_000;
    let root = root.join("must-gather");
    let mut draws = Stream::from_seed(1);
    for i in 0..NODES {
        let mut json = String::new();
        node(&mut json, i);
        let path = format!("cluster-scoped-resources/core/nodes/gpu-{i}.yaml");
        put(&root.join(path), &yaml_object("Node", &json))?;
    }
    for n in 0..NAMESPACES {
        let folder = root.join(format!("namespaces/team-{n}"));
        let mut list = "apiVersion: v1\nitems:\n".to_owned();
        for p in 0..PODS {
            let i = p * 1000 + n;
            let mut json = String::new();
            pod(&mut json, i, NODES);
            let single = yaml_object("Pod", &json);
            for (at, line) in single.lines().enumerate() {
                list += if at == 0 { "- " } else { "  " };
                list += line;
                list.push('\n');
            }
            let name = format!("notebook-{i}-0");
            let own = folder.join(format!("pods/{name}"));
            put(&own.join(format!("{name}.yaml")), &single)?;
            let mut log = String::new();
            while log.len() < LOG_BYTES {
                log_line(&mut draws, log.len(), &mut log);
            }
            put(&own.join("notebook/notebook/logs/current.log"), &log)?;
        }
        list += "kind: PodList\nmetadata: {}\n";
        put(&folder.join("core/pods.yaml"), &list)?;
    }
    Ok(())
}

/// A tarball of `microk8s inspect` of 100 MB: nine full journals, and the dump of the cluster with the
/// logs of its containers, until it is so large.
pub(crate) fn inspect(path: &Path) -> io::Result<()> {
    const UNITS: [&str; 9] = [
        "kubelite",
        "containerd",
        "k8s-dqlite",
        "cluster-agent",
        "apiserver-kicker",
        "apiserver-proxy",
        "flanneld",
        "etcd",
        "traefik",
    ];
    const JOURNAL_LINES: usize = 100_000;
    const DUMP_BYTES: usize = 740 << 20;
    const NODES: usize = 50;
    let root = "inspection-report";
    let encoder = GzEncoder::new(BufWriter::new(File::create(path)?), Compression::default());
    let mut archive = tar::Builder::new(encoder);
    let mut draws = Stream::from_seed(2);
    for unit in UNITS {
        let mut journal = String::new();
        for number in 0..JOURNAL_LINES {
            journal_line(&mut draws, unit, number, &mut journal);
        }
        let name = format!("{root}/snap.microk8s.daemon-{unit}/journal.log");
        append(&mut archive, &name, &journal)?;
    }
    append(
        &mut archive,
        &format!("{root}/args/kubelet"),
        "--root-dir=${SNAP_COMMON}/var/lib/kubelet\n",
    )?;
    let mut dump = "{\"kind\": \"NodeList\", \"apiVersion\": \"v1\", \"items\": [".to_owned();
    for i in 0..NODES {
        dump += if i == 0 { "" } else { ",\n" };
        node(&mut dump, i);
    }
    dump += "]}\n{\"kind\": \"PodList\", \"apiVersion\": \"v1\", \"items\": [";
    let n_pods = NODES * 30;
    for i in 0..n_pods {
        dump += if i == 0 { "" } else { ",\n" };
        pod(&mut dump, i, NODES);
    }
    dump += "]}\n";
    let log_bytes = (DUMP_BYTES - dump.len()) / n_pods;
    for i in 0..n_pods {
        let name = format!(
            "logs for container notebook of pod team-{}/notebook-{i}-0",
            i % 1000
        );
        dump += &format!("==== START {name} ====\n");
        let end = dump.len() + log_bytes;
        while dump.len() < end {
            log_line(&mut draws, dump.len(), &mut dump);
        }
        dump += &format!("==== END {name} ====\n");
    }
    append(
        &mut archive,
        &format!("{root}/k8s/cluster-info-dump"),
        &dump,
    )?;
    archive.into_inner()?.finish()?.flush()
}

fn append(archive: &mut tar::Builder<impl io::Write>, name: &str, text: &str) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    archive.append_data(&mut header, name, text.as_bytes())
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text)
}
