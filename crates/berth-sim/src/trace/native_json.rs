//! Berth's own workload as one JSON object.

use std::fmt;
use std::marker::PhantomData;

use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::limits;
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::time::{Span, Time};
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::trace::table::ReadError;
use crate::trace::{File, FileRole, Format, Need, Origin, exactly, fault_at, native};
use crate::units::{self, Expected};
use crate::workload::{
    Ask, GpuAsk, Job, JobKind, NodeTemplate, QueueTemplate, VgpuTemplate, Workload,
};

/// Bytes accepted: ten times what a million jobs take.
pub const BYTES_MAX: usize = 2 << 30;

/// The format's entry in the catalogue.
pub static FORMAT: Format = Format {
    name: "json",
    summary: "your own nodes, queues and jobs as one JSON object",
    manual: r#"
One object with `nodes`, and optionally `name`, `queues`, `vgpu_profiles` and `jobs`:

```json
{
  "name": "spring term",
  "nodes": [{"name": "gpu-01", "cpu": "96", "memory": "768GiB", "pods": 110,
             "gpus": 8, "model": "A100-80GB", "gpu_memory": "80GiB", "mode": "time-slice"}],
  "queues": [{"name": "physics", "limit": "16"}, {"name": "lasers", "parent": "physics"}],
  "vgpu_profiles": [{"name": "A40-8Q", "model": "A40", "memory": "8GiB", "per_gpu_max": 6}],
  "jobs": [{"name": "fit-17", "user": "ada", "queue": "lasers", "arrival": "2h30m", "run": "45m",
            "cpu": "4", "memory": "16GiB", "gpu": "0.5+10GiB", "models": ["A100-80GB"]}]
}
```

- CPU: cores (`4`, `0.5`) or `500m`. Memory: `64GiB`, `16G`, or bytes.
- Times: `90s`, `2h30m`, `1d`, or seconds, from the start of the trace. A job without `run` runs on.
- `gpu`: `0`, whole GPUs (`2`), a share of one (`0.5` of its compute, `10GiB` of its memory, or
  both), `mig:1g.10gb`, `vgpu:A40-8Q`, `passthrough:1`.
- `mode` of a node's GPUs: `exclusive`, `time-slice`, `mps`, `mig`, `vgpu`, `passthrough`.
- `kind` of a job: `batch` (default), `interactive`, `gang`, `vm`. `pods` (1) and, for a gang,
  `pods_min` (all of them). `priority` (0), higher goes first. `busy` (1): the part of its run in
  which the GPU works.
- A queue that a job names and nobody lists has no limit.
- A job that no node could ever serve is no fault of the file: it waits, and the report says why.
"#,
    origin: Origin::Files {
        files: &[FileRole {
            name: "workload",
            summary: "the object",
            need: Need::Required,
        }],
        read,
    },
};

/// The workload of one JSON object.
///
/// # Errors
/// The first thing that is wrong with it, with line and column.
pub fn read(files: &[File<'_>]) -> Result<Workload, ReadError> {
    let [file] = exactly::<1>(files)?;
    if file.bytes.len() > BYTES_MAX {
        let expected = format!("at most {BYTES_MAX} bytes");
        return Err(file.fault(&expected, &file.bytes.len().to_string(), "split the trace"));
    }
    let bytes = file
        .bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(file.bytes);
    let raw: Raw = serde_json::from_slice(bytes).map_err(|error| {
        let (line, column) = (error.line() as u64, error.column().to_string());
        let hint = if error.is_eof() {
            "the file may be cut short: fetch it again"
        } else {
            "correct the value; `berth simulate formats json` shows the form"
        };
        let text = error.to_string();
        let found = text.split(" at line ").next().unwrap_or(&text);
        fault_at(file.name, line, &column, "a workload object", found, hint)
    })?;
    let name = raw.name.unwrap_or_else(|| format!("json:{}", file.name));
    let nodes = raw.nodes.into_iter().map(NodeTemplate::from).collect();
    let queues = raw.queues.into_iter().map(QueueTemplate::from).collect();
    let vgpu_profiles = raw
        .vgpu_profiles
        .into_iter()
        .map(VgpuTemplate::from)
        .collect();
    let jobs = raw.jobs.into_iter().map(Job::from).collect();
    native::assemble(file, name, nodes, queues, vgpu_profiles, jobs)
}

/// An amount that may be written as text or as a number.
#[derive(Debug, Clone, Copy, Default)]
struct Of<U: Unit>(U::Value);

/// How the text of an amount is read.
trait Unit {
    type Value: Clone + fmt::Debug;
    fn read(text: &str) -> Result<Self::Value, Expected>;
}

macro_rules! unit {
    ($name:ident, $value:ty, $read:expr) => {
        #[derive(Debug, Clone, Copy, Default)]
        struct $name;
        impl Unit for $name {
            type Value = $value;
            fn read(text: &str) -> Result<$value, Expected> {
                $read(text)
            }
        }
    };
}

unit!(Cpu, MilliCpu, units::cpu);
unit!(Memory, Bytes, units::bytes);
unit!(Duration, Span, units::span);
unit!(Gpu, GpuAsk, units::gpu);
unit!(Limit, GpuUnits, units::gpus);
unit!(Mode, GpuMode, units::mode);
unit!(Busy, u16, units::part_permille);

impl<'de, U: Unit> Deserialize<'de> for Of<U> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber(PhantomData))
    }
}

struct TextOrNumber<U>(PhantomData<U>);

impl<U: Unit> Visitor<'_> for TextOrNumber<U> {
    type Value = Of<U>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(U::read("\u{0}").err().unwrap_or("text or a number"))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Of<U>, E> {
        U::read(text)
            .map(Of)
            .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Of<U>, E> {
        let wrong = |_| E::invalid_value(de::Unexpected::Unsigned(number), &self);
        U::read(&number.to_string()).map(Of).map_err(wrong)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Of<U>, E> {
        let wrong = |_| E::invalid_value(de::Unexpected::Float(number), &self);
        U::read(&number.to_string()).map(Of).map_err(wrong)
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Option<String>,
    nodes: Vec<RawNode>,
    #[serde(default)]
    queues: Vec<RawQueue>,
    #[serde(default)]
    vgpu_profiles: Vec<RawVgpu>,
    #[serde(default)]
    jobs: Vec<RawJob>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode {
    name: String,
    cpu: Of<Cpu>,
    memory: Of<Memory>,
    pods: Option<u32>,
    #[serde(default)]
    gpus: GpuCount,
    #[serde(default)]
    model: String,
    gpu_memory: Option<Of<Memory>>,
    mode: Option<Of<Mode>>,
}

/// 0 to 32 GPUs.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(try_from = "u64")]
struct GpuCount(u8);

impl TryFrom<u64> for GpuCount {
    type Error = String;
    fn try_from(count: u64) -> Result<Self, String> {
        let most = limits::GPUS_PER_NODE_MAX;
        let fits = u8::try_from(count)
            .ok()
            .filter(|&count| usize::from(count) <= most);
        fits.map(Self)
            .ok_or_else(|| format!("{count} GPUs; a node has 0 to {most}"))
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQueue {
    name: String,
    parent: Option<String>,
    #[serde(default = "one")]
    weight: u32,
    nominal: Option<Of<Limit>>,
    borrow: Option<Of<Limit>>,
    lend: Option<Of<Limit>>,
    limit: Option<Of<Limit>>,
}

fn one() -> u32 {
    1
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawVgpu {
    name: String,
    model: String,
    memory: Of<Memory>,
    per_gpu_max: u16,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RawJob {
    name: String,
    user: String,
    queue: String,
    kind: Option<JobKind>,
    #[serde(default)]
    priority: i32,
    arrival: Of<Duration>,
    run: Option<Of<Duration>>,
    pods: Option<u32>,
    pods_min: Option<u32>,
    cpu: Of<Cpu>,
    memory: Of<Memory>,
    gpu: Option<Of<Gpu>>,
    #[serde(default)]
    models: Vec<String>,
    busy: Option<Of<Busy>>,
}

impl From<RawNode> for NodeTemplate {
    fn from(raw: RawNode) -> Self {
        Self {
            name: raw.name,
            cpu: raw.cpu.0,
            memory: raw.memory.0,
            pod_slots: raw.pods.unwrap_or(native::POD_SLOTS),
            gpus: raw.gpus.0,
            gpu_model: raw.model,
            gpu_memory: raw.gpu_memory.map_or(Bytes::ZERO, |memory| memory.0),
            gpu_mode: raw.mode.map_or(GpuMode::TimeSlice, |mode| mode.0),
        }
    }
}

impl From<RawQueue> for QueueTemplate {
    fn from(raw: RawQueue) -> Self {
        let gpus = |amount: Option<Of<Limit>>| amount.map(|amount| amount.0);
        Self {
            name: raw.name,
            parent: raw.parent,
            weight: raw.weight,
            nominal: gpus(raw.nominal),
            borrow: gpus(raw.borrow),
            lend: gpus(raw.lend),
            limit: gpus(raw.limit),
        }
    }
}

impl From<RawVgpu> for VgpuTemplate {
    fn from(raw: RawVgpu) -> Self {
        let RawVgpu {
            name,
            model,
            memory,
            per_gpu_max,
        } = raw;
        Self {
            name,
            gpu_model: model,
            memory: memory.0,
            per_gpu_max,
        }
    }
}

impl From<RawJob> for Job {
    fn from(raw: RawJob) -> Self {
        let kind = raw.kind.unwrap_or(JobKind::Batch);
        let pods = raw.pods.unwrap_or(1);
        let all = if kind == JobKind::Gang { pods } else { 1 };
        Self {
            name: raw.name,
            user: raw.user,
            queue: raw.queue,
            kind,
            priority: raw.priority,
            preempts: Preempts::Never,
            arrival: Time::ZERO + raw.arrival.0,
            run: raw.run.map(|run| run.0),
            pods,
            pods_min: raw.pods_min.unwrap_or(all),
            ask: Ask {
                cpu: raw.cpu.0,
                memory: raw.memory.0,
                gpu: raw.gpu.map_or(GpuAsk::None, |gpu| gpu.0),
                models: raw.models,
            },
            busy_permille: raw.busy.map_or(1000, |busy| busy.0),
        }
    }
}
