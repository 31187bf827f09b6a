//! Hostile and broken input: what could be read is there, the rest is a gap, and nothing panics.

use std::io::{Read, Write as _};

use berth_audit::dump::Dump;
use berth_audit::engine::audit;
use berth_audit::engine::baseline::Baseline;
use berth_audit::settings::Settings;
use berth_audit::source::Reader;
use berth_audit::{render, rules};
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use crate::damage;

const POD: &str =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"n\",\"name\":\"p\"}}";

fn read(path: &str, mut bytes: &[u8]) -> Dump {
    let mut reader = Reader::new();
    reader.file(path, &mut bytes);
    reader.finish()
}

fn tar_of(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in entries {
        archive.extend(raw_entry(name, b'0', content));
    }
    archive.extend([0; 1024]);
    archive
}

/// An entry as no honest tool would write it: any name, any type.
fn raw_entry(name: &str, kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.as_mut_bytes()[156] = kind;
    header.set_cksum();
    let mut entry = header.as_bytes().to_vec();
    entry.extend(content);
    entry.resize(entry.len().next_multiple_of(512), 0);
    entry
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory can be written");
    encoder.finish().expect("memory can be written")
}

fn gaps(dump: &Dump) -> Vec<&str> {
    dump.coverage
        .gaps()
        .iter()
        .map(|gap| gap.why.as_str())
        .collect()
}

#[test]
fn names_that_lead_out_are_refused_and_the_rest_is_read() {
    let names = [
        "../../etc/pod.json",
        "/etc/pod.json",
        "a/../../pod.json",
        "..\\pod.json",
        "C:\\pod.json",
    ];
    for name in names {
        let dump = read(
            "x.tar",
            &tar_of(&[(name, POD.as_bytes()), ("good/pod.json", POD.as_bytes())]),
        );
        assert_eq!(dump.objects.pods.len(), 1, "{name}");
        assert!(
            gaps(&dump)
                .iter()
                .any(|why| why.contains("nothing is read through it")),
            "{name}: {:?}",
            gaps(&dump)
        );
    }
}

#[test]
fn links_and_devices_are_not_followed() {
    for (kind, why) in [
        (b'1', "link"),
        (b'2', "link"),
        (b'3', "no plain file"),
        (b'6', "no plain file"),
    ] {
        let mut archive = raw_entry("pods.json", kind, b"");
        archive.extend(tar_of(&[("pod.json", POD.as_bytes())]));
        let dump = read("x.tar", &archive);
        assert_eq!(dump.objects.pods.len(), 1);
        assert!(gaps(&dump)[0].contains(why), "{:?}", gaps(&dump));
    }
}

#[test]
fn truncated_archives_give_what_came_before() {
    let second = "x".repeat(100_000);
    let archive = gzip(&tar_of(&[
        ("pod.json", POD.as_bytes()),
        ("b.json", second.as_bytes()),
    ]));
    let dump = read("x.tar.gz", &archive[..archive.len() - 20]);
    assert_eq!(dump.objects.pods.len(), 1);
    assert!(!gaps(&dump).is_empty());
}

#[test]
fn bombs_end_at_the_bound() {
    let mut nested = POD.as_bytes().to_vec();
    for _ in 0..8 {
        nested = gzip(&nested);
    }
    let dump = read("x", &nested);
    assert!(
        gaps(&dump)[0].contains("nested too deep"),
        "{:?}",
        gaps(&dump)
    );

    let deep = format!(
        "{{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{{\"name\":\"p\"}},\"x\":{}}}",
        "[".repeat(1 << 20)
    );
    assert_eq!(read("x.json", deep.as_bytes()).objects.pods.len(), 0);
}

#[test]
fn endless_stream_of_one_object_stays_in_bounds() {
    let mut head = &b"{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"x\":\""[..];
    let mut body = (&mut head)
        .chain(std::io::repeat(b'x').take(40 << 20))
        .chain(&b"\"}"[..]);
    let mut reader = Reader::new();
    reader.file("x.json", &mut body);
    let dump = reader.finish();
    assert!(
        gaps(&dump)[0].contains("larger than any object"),
        "{:?}",
        gaps(&dump)
    );
}

#[test]
fn invalid_utf_8_costs_one_object() {
    let mut bytes = POD.replace("\"p\"", "\"q\"").into_bytes();
    bytes.extend(b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"\xff\xfe\"}}");
    bytes.extend(POD.as_bytes());
    let dump = read("x.json", &bytes);
    assert_eq!(dump.objects.pods.len(), 2);
    assert_eq!(gaps(&dump).len(), 1);
}

#[test]
fn api_that_is_down_is_a_gap_and_not_an_empty_cluster() {
    let text = b"The connection to the server 127.0.0.1:16443 was refused\n";
    let dump = read("inspection-report/k8s/cluster-info-dump", text);
    assert!(gaps(&dump)[0].contains("was refused"));
    let report = audit(
        &dump,
        &rules::all(),
        &Settings::default(),
        &Baseline::default(),
        None,
    );
    assert!(report.is_incomplete() && report.is_empty_handed());
}

#[test]
fn secrets_are_nowhere_in_a_dump() {
    let objects = [
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},\"data\":{\"p\":\"hunter2\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"annotations\":{\"kubectl.kubernetes.io/last-applied-configuration\":\"hunter2\"}},\
         \"spec\":{\"containers\":[{\"name\":\"c\",\"env\":[{\"name\":\"DB\",\"value\":\"hunter2\"}],\"args\":[\"--password=hunter2\"]}]}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"own\"},\"data\":{\"a\":\"hunter2\"}}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"gpu\"},\"data\":{\"password\":\"hunter2\"}}",
    ];
    let mut reader = Reader::new();
    reader.file("x.json", &mut objects.concat().as_bytes());
    let env = b"HTTPS_PROXY=http://me:hunter2@proxy:3128\n";
    reader.file("inspection-report/args/containerd-env", &mut &env[..]);
    let dump = reader.finish();
    assert_eq!(dump.objects.pods.len(), 1);
    assert!(!format!("{dump:?}").contains("hunter2"));
}

#[test]
fn no_damage_to_a_dump_of_any_kind_makes_the_audit_panic() {
    let samples = damage::samples();
    for seed in 0..500 {
        let files = damage::damaged(&samples, seed);
        let outcome = std::panic::catch_unwind(|| damage::audited(&files));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

/// Paths that lead to every format.
const PATHS: [&str; 12] = [
    "x",
    "x.json",
    "x.yaml",
    "inspection-report/k8s/cluster-info-dump",
    "inspection-report/dqlite/cluster.yaml",
    "inspection-report/args/kubelet",
    "inspection-report/snap.microk8s.daemon-kubelite/journal.log",
    "d/0.data",
    "b/cluster-resources/pods/n.json",
    "m/cluster-scoped-resources/core/nodes.yaml",
    "s/resources/cluster/Nodes.json",
    "g/gpu_operand_pods.yaml",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for path in PATHS {
            let _ = read(path, &bytes);
        }
    }

    #[test]
    fn no_damage_to_a_dump_makes_the_audit_panic(
        at in 0..4000_usize, byte in any::<u8>(), cut in 0..4000_usize
    ) {
        let whole = include_bytes!("hostile/small.yaml");
        let mut bytes = whole.to_vec();
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes.truncate(cut % length);
        for path in ["x.yaml", "inspection-report/k8s/cluster-info-dump"] {
            let dump = read(path, &bytes);
            let report = audit(&dump, &rules::all(), &Settings::default(), &Baseline::default(), None);
            let _ = render::html::render(&report);
        }
    }
}
