//! The `openb` lists: Alibaba's GPU cluster trace of 2023, as the FGD experiment uses it.
//!
//! Source: Weng et al., "Beware of Fragmentation", USENIX ATC 2023; files of
//! `hkust-adsl/kubernetes-scheduler-simulator`, `data/csv` (Apache-2.0), which also stand in
//! `alibaba/clusterdata`, `cluster-trace-gpu-v2023`. Not here: what is done with the rows.

use std::collections::BTreeMap;

use berth_core::limits;

use crate::trace::table::{ReadError, Table, unique};

/// The 17 pod lists of the published experiment.
pub const PUBLISHED_LISTS: [&str; 17] = [
    "cpu050",
    "cpu100",
    "cpu200",
    "cpu250",
    "default",
    "gpushare100",
    "gpushare40",
    "gpushare60",
    "gpushare80",
    "gpuspec10",
    "gpuspec20",
    "gpuspec25",
    "gpuspec33",
    "multigpu20",
    "multigpu30",
    "multigpu40",
    "multigpu50",
];

/// A row of the node list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeRow {
    /// `openb-node-0000`.
    pub name: String,
    /// CPU, in mCPU.
    pub cpu_milli: i64,
    /// Host memory, in MiB.
    pub memory_mib: i64,
    /// Number of GPUs.
    pub gpus: u8,
    /// Model of the GPUs; empty without any.
    pub model: String,
}

/// A row of a pod list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodRow {
    /// `openb-pod-0000`.
    pub name: String,
    /// CPU, in mCPU.
    pub cpu_milli: i64,
    /// Host memory, in MiB.
    pub memory_mib: i64,
    /// Number of GPUs.
    pub gpus: u8,
    /// Compute on each GPU, in thousandths, at most 1000; 0 without GPU.
    pub gpu_milli: i64,
    /// Models that will do, as the trace writes them (`P100|V100M16`); empty for any.
    pub gpu_spec: String,
    /// Quality-of-service class (`LS`, `BE`, ...).
    pub qos: String,
    /// Submitted, in seconds.
    pub created: Option<i64>,
    /// Ended, in seconds.
    pub deleted: Option<i64>,
    /// Placed, in seconds; empty for pods that never were.
    pub scheduled: Option<i64>,
}

/// Reads the node list.
///
/// # Errors
/// The first thing that is wrong with it, with line and column.
pub fn read_nodes(file: &str, bytes: &[u8]) -> Result<Vec<NodeRow>, ReadError> {
    let table = Table::open(
        file,
        bytes,
        &["sn", "cpu_milli", "memory_mib", "gpu", "model"],
        &[],
    )?;
    let (mut rows, mut seen) = (Vec::new(), BTreeMap::new());
    table.for_each(|row| {
        let name = row.name("sn")?.to_owned();
        unique(&mut seen, row, "sn", &name)?;
        let gpus = row.amount("gpu", limits::GPUS_PER_NODE_MAX as i64)?;
        let model = row.text("model").to_owned();
        if gpus > 0 && model.is_empty() {
            return Err(row.fault("model", "a GPU model", "nothing", "name the GPUs' model"));
        }
        rows.push(NodeRow {
            name,
            cpu_milli: row.amount("cpu_milli", limits::CPU_MAX.0)?,
            memory_mib: row.amount("memory_mib", limits::MEMORY_MAX.0 >> 20)?,
            gpus: u8::try_from(gpus).expect("bounded by the line above"),
            model,
        });
        Ok(())
    })?;
    if rows.is_empty() {
        Err(empty(file, "node"))
    } else {
        Ok(rows)
    }
}

/// Reads a pod list.
///
/// # Errors
/// The first thing that is wrong with it, with line and column.
pub fn read_pods(file: &str, bytes: &[u8]) -> Result<Vec<PodRow>, ReadError> {
    const REQUIRED: [&str; 5] = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
    const OPTIONAL: [&str; 6] = [
        "gpu_spec",
        "qos",
        "pod_phase",
        "creation_time",
        "deletion_time",
        "scheduled_time",
    ];
    const SECONDS_MAX: i64 = 100 * 366 * 86_400;
    let table = Table::open(file, bytes, &REQUIRED, &OPTIONAL)?;
    let (mut rows, mut seen) = (Vec::new(), BTreeMap::new());
    table.for_each(|row| {
        let name = row.name("name")?.to_owned();
        unique(&mut seen, row, "name", &name)?;
        let gpus = row.amount("num_gpu", limits::GPUS_PER_NODE_MAX as i64)?;
        // The published conversion caps the compute of one GPU at the whole of it.
        let gpu_milli = row.amount("gpu_milli", 1_000_000)?.min(1000);
        if gpus > 0 && gpu_milli == 0 {
            let hint = "give num_gpu 0 to a pod without GPU";
            return Err(row.fault("gpu_milli", "more than 0 for a pod with GPU", "0", hint));
        }
        if gpus > 1 && gpu_milli < 1000 {
            let hint = "a share is of one GPU; several GPUs are whole";
            let found = gpu_milli.to_string();
            return Err(row.fault("gpu_milli", "1000 for several GPUs", &found, hint));
        }
        rows.push(PodRow {
            name,
            cpu_milli: row.amount("cpu_milli", limits::CPU_MAX.0)?,
            memory_mib: row.amount("memory_mib", limits::MEMORY_MAX.0 >> 20)?,
            gpus: u8::try_from(gpus).expect("bounded by the line above"),
            gpu_milli: if gpus == 0 { 0 } else { gpu_milli },
            gpu_spec: row.text("gpu_spec").to_owned(),
            qos: row.text("qos").to_owned(),
            created: row.optional_amount("creation_time", SECONDS_MAX)?,
            deleted: row.optional_amount("deletion_time", SECONDS_MAX)?,
            scheduled: row.optional_amount("scheduled_time", SECONDS_MAX)?,
        });
        Ok(())
    })?;
    if rows.is_empty() {
        Err(empty(file, "pod"))
    } else {
        Ok(rows)
    }
}

fn empty(file: &str, what: &str) -> ReadError {
    ReadError {
        file: file.to_owned(),
        line: 0,
        column: String::new(),
        expected: format!("at least one {what}"),
        found: "a header and nothing below it".to_owned(),
        hint: "check that the file is complete".to_owned(),
    }
}
