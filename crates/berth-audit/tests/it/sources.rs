//! Every kind of dump is recognised by its markers, in a folder and in an archive, and says how much
//! of each kind it holds.

use std::io::{Cursor, Write as _};

use berth_audit::dump::Dump;
use berth_audit::dump::coverage::Extent;
use berth_audit::dump::host::files::HostFile;
use berth_audit::dump::kinds::Kind;
use berth_audit::source::Reader;

/// Files of a dump by path.
type Files<'a> = &'a [(&'a str, &'a str)];

const NODES: &str = "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"a\"},\
    \"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"10.0.0.9\"}]}}]}";
const PODS: &str = "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"namespace\":\"team\",\"name\":\"p\"}}]}";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {namespace: team, name: p}\n";

/// Reads files one by one, from a tarball, and from a zip; all must give the same objects.
fn read(files: Files<'_>) -> Dump {
    let mut reader = Reader::new();
    for (path, text) in files {
        reader.file(path, &mut text.as_bytes());
    }
    let dump = reader.finish();
    for archive in [tarball(files), zip(files)] {
        let mut reader = Reader::new();
        reader.file("archive", &mut &archive[..]);
        let other = reader.finish();
        assert_eq!(counts(&other), counts(&dump));
        assert_eq!(other.hosts.len(), dump.hosts.len());
    }
    dump
}

fn counts(dump: &Dump) -> Vec<usize> {
    berth_audit::dump::kinds::KINDS
        .iter()
        .map(|spec| dump.count(spec.kind))
        .collect()
}

fn tarball(files: Files<'_>) -> Vec<u8> {
    let mut builder = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, path, text.as_bytes())
            .expect("memory can be written");
    }
    builder
        .into_inner()
        .and_then(flate2::write::GzEncoder::finish)
        .expect("memory can be written")
}

fn zip(files: Files<'_>) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        writer
            .start_file(*path, zip::write::SimpleFileOptions::default())
            .expect("memory can be written");
        writer
            .write_all(text.as_bytes())
            .expect("memory can be written");
    }
    writer.finish().expect("memory can be written").into_inner()
}

/// The recognised formats, by name.
fn formats(dump: &Dump) -> Vec<&str> {
    let mut names: Vec<_> = dump.coverage.sources.values().copied().collect();
    names.dedup();
    names
}

#[test]
fn inspection_report_joins_its_host_with_its_node_by_address() {
    let stream = format!(
        "warning: old client\n{NODES}{PODS}==== START logs for container c of pod team/p ====\n{{\"kind\":\"Pod\"}}\n==== START logs for container d of pod team/p ====\n==== END logs for container c of pod team/p ====\n{PODS}"
    );
    let dump = read(&[
        ("inspection-report/k8s/cluster-info-dump", &stream),
        (
            "inspection-report/network/ip-addr",
            "    inet 10.0.0.9/24\n",
        ),
        ("inspection-report/args/kubelet", "--root-dir=/x\n"),
        (
            "inspection-report/snap.microk8s.daemon-kubelite/journal.log",
            "Jan 1 00:00:00 other u[1]: no available dqlite leader server found\n",
        ),
    ]);
    assert_eq!(formats(&dump), ["microk8s inspect"]);
    assert_eq!(dump.coverage.extent(Kind::Pod), Extent::Complete);
    assert_eq!(dump.objects.pods.len(), 1, "copies are one");
    let host = &dump.hosts["a"];
    assert!(host.file(HostFile::KubeletArgs).is_some());
    assert_eq!(host.journal.lines.len(), 1);
}

#[test]
fn reports_of_several_nodes_make_one_cluster() {
    let mut reader = Reader::new();
    for (node, address) in [("a", "10.0.0.1"), ("b", "10.0.0.2")] {
        let files = [
            (
                "inspection-report/network/ip-addr",
                format!("inet {address}/24\n"),
            ),
            (
                "inspection-report/args/kubelet",
                format!("--hostname-override={node}\n"),
            ),
        ];
        let files: Vec<_> = files
            .iter()
            .map(|(path, text)| (*path, text.as_str()))
            .collect();
        reader.file(&format!("{node}.tar.gz"), &mut &tarball(&files)[..]);
    }
    let dump = reader.finish();
    assert_eq!(
        dump.hosts
            .keys()
            .map(berth_audit::dump::text::Text::as_str)
            .collect::<Vec<_>>(),
        ["a", "b"]
    );
}

#[test]
fn cluster_info_dump_is_a_folder_or_a_stream() {
    let folder = read(&[
        ("d/nodes.json", NODES),
        ("d/team/pods.json", PODS),
        ("d/team/p/logs.txt", "{\"kind\":\"Pod\"}"),
    ]);
    assert_eq!(formats(&folder), ["cluster-info dump"]);
    assert_eq!(folder.coverage.extent(Kind::Pod), Extent::Complete);
    assert_eq!(folder.objects.pods.len(), 1);
    let usual = PODS.replace("team", "kube-system");
    let usual = read(&[("nodes.json", NODES), ("kube-system/pods.json", &usual)]);
    assert_eq!(usual.coverage.extent(Kind::Node), Extent::Complete);
    assert_eq!(
        usual.coverage.extent(Kind::Pod),
        Extent::Partial,
        "only the usual namespaces were asked for"
    );
}

#[test]
fn must_gather_is_complete_for_the_cluster_and_partial_for_namespaces() {
    let dump = read(&[
        ("mg/version", "must-gather\n4.18\n"),
        (
            "mg/cluster-scoped-resources/core/nodes/a.yaml",
            "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
        ),
        ("mg/namespaces/team/pods/p/p.yaml", POD),
        (
            "mg/namespaces/team/pods/p/c/c/logs/current.log",
            "kind: Pod\n",
        ),
    ]);
    assert!(formats(&dump).contains(&"must-gather"));
    assert_eq!(dump.coverage.extent(Kind::Node), Extent::Complete);
    assert_eq!(dump.coverage.extent(Kind::Pod), Extent::Partial);
}

#[test]
fn sonobuoy_knows_the_effective_kubelet_settings() {
    let dump = read(&[
        (
            "hosts/a/configz.json",
            "{\"kubeletconfig\":{\"cpuManagerPolicy\":\"static\"}}",
        ),
        ("resources/cluster/core_v1_nodes.json", NODES),
        ("resources/ns/team/core_v1_pods.json", PODS),
    ]);
    assert!(formats(&dump).contains(&"sonobuoy"));
    assert!(dump.hosts["a"].file(HostFile::KubeletConfigz).is_some());
    assert_eq!(dump.objects.pods.len(), 1);
}

#[test]
fn troubleshoot_bundle_says_what_its_collector_could_not_read() {
    let dump = read(&[
        ("b/cluster-resources/nodes.json", NODES),
        (
            "b/cluster-resources/pods/team.json",
            "[{\"metadata\":{\"namespace\":\"team\",\"name\":\"p\"}}]",
        ),
        (
            "b/cluster-resources/pods-errors.json",
            "{\"other\": \"forbidden\"}",
        ),
    ]);
    assert_eq!(formats(&dump), ["troubleshoot"]);
    assert_eq!(
        dump.objects.pods.len(),
        1,
        "bare items are of the folder's kind"
    );
    assert_eq!(dump.coverage.extent(Kind::Pod), Extent::Partial);
    assert_eq!(dump.coverage.extent(Kind::Node), Extent::Complete);
}

#[test]
fn gpu_must_gather_without_gpu_nodes_says_so() {
    let dump = read(&[
        ("g/must-gather.log", "# ok\nFATAL: no node has a GPU\n"),
        ("g/cluster_policy.missing", ""),
        ("g/gpu_operand_pods.yaml", POD),
    ]);
    assert_eq!(formats(&dump), ["gpu-operator must-gather"]);
    assert!(dump.coverage.gaps()[0].why.contains("FATAL"));
    assert_eq!(dump.coverage.extent(Kind::ClusterPolicy), Extent::Complete);
}

#[test]
fn dbctl_backup_gives_custom_resources_and_names_the_rest_as_gaps() {
    let pool = "{\"apiVersion\":\"crd.projectcalico.org/v1\",\"kind\":\"IPPool\",\"metadata\":{\"name\":\"x\"}}";
    let dump = read(&[
        ("renamed/0.key", "/registry/crd.projectcalico.org/ippools/x"),
        ("renamed/0.data", pool),
        (
            "renamed/1.data",
            "k8s\0\n\u{9}\n\u{2}v1\u{12}\u{3}Pod\u{12}\u{0}",
        ),
        (
            "renamed/2.data",
            "k8s\0\n\u{c}\n\u{2}v1\u{12}\u{6}Secret\u{12}\u{0}",
        ),
    ]);
    assert_eq!(formats(&dump), ["dbctl backup"]);
    assert_eq!(dump.coverage.extent(Kind::IpPool), Extent::Complete);
    assert_eq!(dump.coverage.extent(Kind::Pod), Extent::Partial);
    assert_eq!(dump.coverage.unread.len(), 1);
}

#[test]
fn manifests_are_complete_only_as_lists_of_the_cluster() {
    let dump = read(&[
        (
            "m/all.yaml",
            "apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: a}\n",
        ),
        ("m/p.yml", POD),
        ("m/notes.txt", POD),
    ]);
    assert_eq!(formats(&dump), ["manifests"]);
    assert_eq!(dump.coverage.extent(Kind::Node), Extent::Complete);
    assert_eq!(dump.coverage.extent(Kind::Pod), Extent::Partial);
    assert_eq!(dump.objects.pods.len(), 1);
}

#[test]
fn order_of_files_does_not_show() {
    let files = [
        ("d/nodes.json", NODES),
        ("d/team/pods.json", PODS),
        (
            "e/p.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {namespace: a, name: z, resourceVersion: \"7\"}\n",
        ),
    ];
    let read = |order: [usize; 3]| {
        let mut reader = Reader::new();
        for index in order {
            reader.file(files[index].0, &mut files[index].1.as_bytes());
        }
        let dump = reader.finish();
        dump.objects
            .pods
            .iter()
            .map(|pod| pod.meta.full_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(read([0, 1, 2]), read([2, 1, 0]));
}
