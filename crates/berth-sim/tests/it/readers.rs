//! Every reader against input that is right, wrong, and hostile.

use berth_core::amount::{Bytes, GpuUnits};
use berth_core::model::gpu::GpuMode;
use berth_core::time::{Span, Time};
use berth_sim::scenario;
use berth_sim::trace::table::ReadError;
use berth_sim::trace::{File, Origin, named};
use berth_sim::workload::{GpuAsk, JobKind, Workload};
use proptest::prelude::*;

const JSON: &str = r#"{
  "name": "spring term",
  "nodes": [
    {"name": "gpu-01", "cpu": 96, "memory": "768GiB", "pods": 110, "gpus": 8,
     "model": "A100-80GB", "gpu_memory": "80GiB", "mode": "time-slice"},
    {"name": "cpu-01", "cpu": "0.5", "memory": 1073741824}
  ],
  "queues": [{"name": "lasers", "parent": "physics"}, {"name": "physics", "limit": "16.5"}],
  "vgpu_profiles": [{"name": "A40-8Q", "model": "A40", "memory": "8GiB", "per_gpu_max": 6}],
  "jobs": [
    {"name": "late", "user": "ada", "queue": "lasers", "arrival": "2h30m", "run": "45m",
     "cpu": "500m", "memory": "16GiB", "gpu": "0.5+10GiB", "models": ["A100-80GB"], "busy": 0.8},
    {"name": "early", "user": "bob", "queue": "walk-in", "kind": "gang", "arrival": 1.5,
     "pods": 4, "cpu": 1, "memory": "1GiB", "gpu": 2, "priority": -3}
  ]
}"#;

const NODES: &str = "name,cpu,memory,gpus,model,gpu_memory,mode,pods\n\
                     gpu-01,96,768GiB,8,A100-80GB,80GiB,time-slice,110\n\
                     cpu-01,500m,1GiB,,,,,\n";
const JOBS: &str = "name,user,queue,arrival,run,cpu,memory,gpu,kind,pods,pods_min,models,busy\n\
                    late,ada,lasers,2h30m,45m,500m,16GiB,0.5+10GiB,,,,A100-80GB|H100,0.8\n\
                    early,bob,walk-in,1.5,,1,1GiB,2,gang,4,,,\n";
const QUEUES: &str = "name,parent,limit\nlasers,physics,\nphysics,,16.5\n";

const OPENB_NODES: &str = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\n";
const OPENB_PODS: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,\
                          creation_time,deletion_time,scheduled_time\n\
                          p0,6000,12288,1,460,,LS,Running,100,700,110\n\
                          p1,6000,12288,2,1000,P100|T4,BE,Pending,50,900,\n";

const SCENARIO: &str = "# T\n```scenario\nnode n x2 gpu=8xA100\njob j x4 gang gpu=1 run=1h\n\
                        at 5m fail n-1:3\nexpect 0s running=4\n```\n";

/// Reads `texts`, one a file of the format.
fn read(format: &str, texts: &[&[u8]]) -> Result<Workload, ReadError> {
    let names = ["first", "second", "third"];
    let files: Vec<File<'_>> = texts
        .iter()
        .zip(names)
        .map(|(&bytes, name)| File { name, bytes })
        .collect();
    match &named(format).expect("a format of the catalogue").origin {
        Origin::Files { read, .. } => read(&files),
        Origin::Seed(_) => unreachable!("the test names formats with files"),
    }
}

fn json(text: &str) -> Result<Workload, ReadError> {
    read("json", &[text.as_bytes()])
}

fn csv(nodes: &str, jobs: &str, queues: &str) -> Result<Workload, ReadError> {
    read(
        "csv",
        &[nodes.as_bytes(), jobs.as_bytes(), queues.as_bytes()],
    )
}

#[test]
fn json_and_csv_say_the_same() {
    let (json, csv) = (json(JSON).unwrap(), csv(NODES, JOBS, QUEUES).unwrap());
    for workload in [&json, &csv] {
        let [gpu, cpu] = &workload.nodes[..] else {
            panic!("two nodes")
        };
        assert_eq!(
            (gpu.gpus, gpu.gpu_memory, gpu.gpu_mode),
            (8, Bytes::from_gib(80), GpuMode::TimeSlice)
        );
        assert_eq!(
            (cpu.cpu.0, cpu.memory, cpu.gpus, cpu.pod_slots),
            (500, Bytes::GIB, 0, 110)
        );
        let names: Vec<&str> = workload.queues.iter().map(|queue| &*queue.name).collect();
        assert_eq!(names, ["physics", "lasers"], "parents first");
        assert_eq!(workload.queues[0].limit, Some(GpuUnits(165_000)));
        let [early, late] = &workload.jobs[..] else {
            panic!("two jobs")
        };
        assert_eq!(
            (early.arrival, early.run, early.kind),
            (Time(1_500), None, JobKind::Gang)
        );
        assert_eq!((early.pods, early.pods_min), (4, 4));
        assert_eq!(
            (late.arrival, late.run),
            (Time(9_000_000), Some(Span::from_mins(45)))
        );
        assert_eq!((late.busy_permille, late.pods_min), (800, 1));
        let (compute, memory) = (GpuUnits(5_000), Bytes::from_gib(10));
        assert_eq!(late.ask.gpu, GpuAsk::Share { compute, memory });
    }
    assert_eq!(csv.jobs[1].ask.models, ["A100-80GB", "H100"]);
}

#[test]
fn spellings_of_other_programs_are_fine() {
    let crlf = |text: &str| format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(
        csv(&crlf(NODES), &crlf(JOBS), &crlf(QUEUES)),
        csv(NODES, JOBS, QUEUES)
    );
    assert_eq!(json(&crlf(JSON)).unwrap(), json(JSON).unwrap());
    // Columns in another order.
    let nodes = "memory,name,cpu\n1GiB,cpu-01,4\n";
    let jobs = "gpu,memory,cpu,arrival,queue,user,name\n1,1GiB,1,0,q,u,j\n";
    assert_eq!(csv(nodes, jobs, "").unwrap().jobs[0].name, "j");
}

#[test]
fn the_replay_makes_up_what_the_trace_leaves_out() {
    let replay = read("openb", &[OPENB_NODES.as_bytes(), OPENB_PODS.as_bytes()]).unwrap();
    let [never_placed, placed] = &replay.jobs[..] else {
        panic!("two jobs")
    };
    assert_eq!(
        (placed.arrival, placed.run),
        (Time::from_secs(100), Some(Span::from_secs(590)))
    );
    assert_eq!(never_placed.run, placed.run, "the median of the others");
    assert_eq!(never_placed.ask.models, ["P100", "T4"]);
    assert_eq!((&*placed.queue, &*never_placed.queue), ("ls", "be"));
    let no_times = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,6000,12288,1,460\n";
    let error = read("openb", &[OPENB_NODES.as_bytes(), no_times.as_bytes()]).unwrap_err();
    assert!(error.to_string().contains("creation time"), "{error}");
}

#[test]
fn faults_in_csv_are_named_with_line_and_column() {
    let check = |from: &str, to: &str, line: u64, column: &str, part: &str| {
        let swap = |text: &str| text.replacen(from, to, 1);
        let error = csv(&swap(NODES), &swap(JOBS), &swap(QUEUES)).unwrap_err();
        assert_eq!((error.line, &*error.column), (line, column), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    check("gpu-01,96", "gpu-01,-96", 2, "cpu", "cores");
    check("768GiB", "768 parsecs", 2, "memory", "unit");
    check("gpu-01,96", "gpu-01,1e9", 2, "cpu", "`1e9`");
    check("768GiB,8", "768GiB,8.5", 2, "gpus", "whole number");
    check("768GiB,8", "768GiB,64", 2, "gpus", "0 to 32");
    check("time-slice", "timeslice", 2, "mode", "time-slice");
    check("cpu-01", "gpu-01", 3, "name", "line 2");
    check("0.5+10GiB", "1.5", 2, "gpu", "GPU request");
    check("0.5+10GiB", "99999999999999999999", 2, "gpu", "GPU request");
    check("2h30m", "half past two", 2, "arrival", "2h30m");
    check(",4,,,", ",4,5,,", 0, "", "pods_min");
    check("gang,4", "ring,4", 3, "kind", "batch");
    check("pods_min,models", "pods_min,colour", 1, "", "colour");
    check("user,queue", "queue,queue", 1, "", "twice");
    check("late,ada,lasers", "late,ada", 2, "", "cut short");
    check("lasers,physics,", "lasers,chemistry,", 0, "", "chemistry");
    check("physics,,16.5", "physics,lasers,", 0, "", "tree");
    check("physics,,16.5", "physics,,-1", 3, "limit", "number of GPUs");
}

#[test]
fn faults_in_json_are_named_with_their_line() {
    let check = |from: &str, to: &str, line: u64, part: &str| {
        let error = json(&JSON.replacen(from, to, 1)).unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    };
    check("\"cpu\": 96", "\"cpu\": -96", 4, "-96");
    check("\"cpu\": 96", "\"cpus\": 96", 4, "unknown field `cpus`");
    check("\"gpus\": 8", "\"gpus\": 64", 4, "64 GPUs");
    check("\"80GiB\"", "\"80GiBs\"", 5, "80GiBs");
    check("\"2h30m\"", "null", 11, "null");
    check("\"busy\": 0.8", "\"busy\": 8", 12, "0 to 1");
    check("\"late\"", "\"early\"", 0, "two called `early`");
    check("\"pods\": 4", "\"pods\": 4, \"pods_min\": 5", 0, "pods_min");
    check(
        "\"parent\": \"physics\"",
        "\"parent\": \"chemistry\"",
        0,
        "chemistry",
    );
    let half = &JSON[..JSON.len() / 2];
    assert!(json(half).unwrap_err().to_string().contains("cut short"));
    assert!(json("").is_err() && json("[]").is_err() && json("{\"nodes\": []}").is_err());
}

/// A valid text with bytes changed, inserted, taken out or doubled.
fn mutated(text: &'static str) -> impl Strategy<Value = Vec<u8>> {
    let edit = (0..text.len(), any::<u8>(), 0u8..5);
    prop::collection::vec(edit, 1..12).prop_map(move |edits| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte, kind) in edits {
            let at = at.min(bytes.len().saturating_sub(1));
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                3 => bytes.truncate(at),
                _ => {
                    let tail = bytes[at..].to_vec();
                    bytes.extend(tail);
                }
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = (
            read("json", &[&bytes]),
            read("csv", &[&bytes, &bytes, &bytes]),
            read("csv", &[NODES.as_bytes(), &bytes, &bytes]),
            read("openb", &[&bytes, &bytes]),
            read("openb", &[OPENB_NODES.as_bytes(), &bytes]),
            scenario::read("f", &String::from_utf8_lossy(&bytes)),
        );
    }

    #[test]
    fn no_mutation_makes_a_reader_panic(
        json in mutated(JSON),
        nodes in mutated(NODES),
        jobs in mutated(JOBS),
        queues in mutated(QUEUES),
        pods in mutated(OPENB_PODS),
        scenario in mutated(SCENARIO),
    ) {
        let _ = (
            read("csv", &[&nodes, JOBS.as_bytes(), b""]),
            read("openb", &[OPENB_NODES.as_bytes(), &pods]),
        );
        let text = String::from_utf8_lossy(&scenario);
        for scenario in scenario::read("f", &text).into_iter().flatten() {
            let _ = berth_sim::world::World::found(&scenario.workload);
        }
        // Whatever passes a reader can be founded or is refused with a reason.
        let workloads = [
            read("json", &[&json]),
            read("csv", &[NODES.as_bytes(), &jobs, &queues]),
        ];
        for workload in workloads.into_iter().flatten() {
            let _ = berth_sim::world::World::found(&workload);
        }
    }
}
