//! Berth's own workload as CSV tables: what an accounting database exports without a program.

use std::collections::BTreeMap;

use berth_core::amount::Bytes;
use berth_core::limits;
use berth_core::model::gpu::GpuMode;
use berth_core::model::pod::Preempts;
use berth_core::time::Time;

use crate::trace::table::{ReadError, Row, Table, clip, unique};
use crate::trace::{File, FileRole, Format, Need, Origin, exactly, native};
use crate::units::{self, Expected};
use crate::workload::{Ask, Job, JobKind, NodeTemplate, QueueTemplate, Workload};

/// The format's entry in the catalogue.
pub static FORMAT: Format = Format {
    name: "csv",
    summary: "your own nodes, jobs and queues as CSV tables",
    manual: "\
Two tables, and a third one if queues have limits. Columns may stand in any order; units are those
of the format `json`.

| table | columns | may be left out |
|---|---|---|
| nodes | `name`, `cpu`, `memory` | `gpus`, `model`, `gpu_memory`, `mode`, `pods` |
| jobs | `name`, `user`, `queue`, `arrival`, `cpu`, `memory`, `gpu` | `run`, `kind`, `priority`, \
`pods`, `pods_min`, `models` (`A100|H100`), `busy` |
| queues | `name` | `parent`, `weight`, `nominal`, `borrow`, `lend`, `limit` |

```csv
name,user,queue,arrival,run,cpu,memory,gpu
fit-17,ada,lasers,2h30m,45m,4,16GiB,0.5
```

A column that isn't listed here is refused by name: a misspelt one would be ignored otherwise.
A byte order mark and CRLF line ends are fine. vGPU profiles need the format `json`.
",
    origin: Origin::Files {
        files: &[
            FileRole {
                name: "nodes",
                summary: "the nodes table",
                need: Need::Required,
            },
            FileRole {
                name: "jobs",
                summary: "the jobs table",
                need: Need::Required,
            },
            FileRole {
                name: "queues",
                summary: "the queues table",
                need: Need::Optional,
            },
        ],
        read,
    },
};

/// The workload of the three tables.
///
/// # Errors
/// The first thing that is wrong with one of them, with line and column.
pub fn read(files: &[File<'_>]) -> Result<Workload, ReadError> {
    let [nodes, jobs, queues] = exactly::<3>(files)?;
    let node_rows = each(nodes, &["name", "cpu", "memory"], NODE_OPTIONAL, node)?;
    let job_rows = each(jobs, JOB_REQUIRED, JOB_OPTIONAL, job)?;
    let queue_rows = if queues.bytes.is_empty() {
        Vec::new()
    } else {
        each(queues, &["name"], QUEUE_OPTIONAL, queue)?
    };
    let name = format!("csv:{}", jobs.name);
    native::assemble(jobs, name, node_rows, queue_rows, Vec::new(), job_rows)
}

const NODE_OPTIONAL: &[&str] = &["gpus", "model", "gpu_memory", "mode", "pods"];
const QUEUE_OPTIONAL: &[&str] = &["parent", "weight", "nominal", "borrow", "lend", "limit"];
const JOB_REQUIRED: &[&str] = &["name", "user", "queue", "arrival", "cpu", "memory", "gpu"];
const JOB_OPTIONAL: &[&str] = &[
    "run", "kind", "priority", "pods", "pods_min", "models", "busy",
];

fn each<T>(
    file: &File<'_>,
    required: &[&'static str],
    optional: &[&'static str],
    read: fn(&Row<'_>) -> Result<T, ReadError>,
) -> Result<Vec<T>, ReadError> {
    let table = Table::open(file.name, file.bytes, required, optional)?;
    let (mut rows, mut seen) = (Vec::new(), BTreeMap::new());
    table.for_each(|row| {
        unique(&mut seen, row, "name", row.name("name")?)?;
        rows.push(read(row)?);
        Ok(())
    })?;
    Ok(rows)
}

fn node(row: &Row<'_>) -> Result<NodeTemplate, ReadError> {
    let or = |column, most, default: i64| {
        row.optional_amount(column, most)
            .map(|amount| amount.unwrap_or(default))
    };
    let gpus = or("gpus", limits::GPUS_PER_NODE_MAX as i64, 0)?;
    let pods = or("pods", i64::from(u32::MAX), i64::from(native::POD_SLOTS))?;
    Ok(NodeTemplate {
        name: row.name("name")?.to_owned(),
        cpu: value(row, "cpu", units::cpu)?,
        memory: value(row, "memory", units::bytes)?,
        pod_slots: u32::try_from(pods).expect("bounded above"),
        gpus: u8::try_from(gpus).expect("bounded above"),
        gpu_model: row.text("model").to_owned(),
        gpu_memory: optional(row, "gpu_memory", units::bytes)?.unwrap_or(Bytes::ZERO),
        gpu_mode: optional(row, "mode", units::mode)?.unwrap_or(GpuMode::TimeSlice),
    })
}

fn job(row: &Row<'_>) -> Result<Job, ReadError> {
    let members_max = limits::GANG_MEMBERS_MAX as i64;
    let kind = optional(row, "kind", kind)?.unwrap_or(JobKind::Batch);
    let pods = row.optional_amount("pods", members_max)?.unwrap_or(1);
    let all = if kind == JobKind::Gang { pods } else { 1 };
    let pods_min = row.optional_amount("pods_min", members_max)?.unwrap_or(all);
    let count = |n: i64| u32::try_from(n).expect("bounded above");
    Ok(Job {
        name: row.name("name")?.to_owned(),
        user: row.name("user")?.to_owned(),
        queue: row.name("queue")?.to_owned(),
        kind,
        priority: optional(row, "priority", priority)?.unwrap_or(0),
        preempts: Preempts::Never,
        arrival: Time::ZERO + value(row, "arrival", units::span)?,
        run: optional(row, "run", units::span)?,
        pods: count(pods),
        pods_min: count(pods_min),
        ask: Ask {
            cpu: value(row, "cpu", units::cpu)?,
            memory: value(row, "memory", units::bytes)?,
            gpu: value(row, "gpu", units::gpu)?,
            models: row
                .text("models")
                .split('|')
                .map(str::trim)
                .filter(|model| !model.is_empty())
                .map(str::to_owned)
                .collect(),
        },
        busy_permille: optional(row, "busy", units::part_permille)?.unwrap_or(1000),
    })
}

fn queue(row: &Row<'_>) -> Result<QueueTemplate, ReadError> {
    let parent = row.text("parent");
    let parent = (!parent.is_empty()).then(|| parent.to_owned());
    Ok(QueueTemplate {
        weight: optional(row, "weight", units::weight)?.unwrap_or(1),
        nominal: optional(row, "nominal", units::gpus)?,
        borrow: optional(row, "borrow", units::gpus)?,
        lend: optional(row, "lend", units::gpus)?,
        limit: optional(row, "limit", units::gpus)?,
        ..QueueTemplate::new(row.name("name")?, parent)
    })
}

fn value<T>(
    row: &Row<'_>,
    column: &'static str,
    read: fn(&str) -> Result<T, Expected>,
) -> Result<T, ReadError> {
    let text = row.text(column);
    let found = if text.is_empty() {
        "nothing".to_owned()
    } else {
        format!("`{}`", clip(text))
    };
    read(text).map_err(|expected| row.fault(column, expected, &found, "correct the row"))
}

fn optional<T>(
    row: &Row<'_>,
    column: &'static str,
    read: fn(&str) -> Result<T, Expected>,
) -> Result<Option<T>, ReadError> {
    if row.text(column).is_empty() {
        Ok(None)
    } else {
        value(row, column, read).map(Some)
    }
}

fn kind(text: &str) -> Result<JobKind, Expected> {
    match text {
        "batch" => Ok(JobKind::Batch),
        "interactive" => Ok(JobKind::Interactive),
        "gang" => Ok(JobKind::Gang),
        "vm" => Ok(JobKind::Vm),
        _ => Err("`batch`, `interactive`, `gang` or `vm`"),
    }
}

fn priority(text: &str) -> Result<i32, Expected> {
    text.parse()
        .map_err(|_| "a whole number, higher goes first")
}
