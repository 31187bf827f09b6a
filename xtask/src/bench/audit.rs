//! Bench group `audit`: large dumps, read and judged in process.
//!
//! The bench of `berth-audit` makes the dumps: a `kubectl cluster-info dump` while it is read, and a
//! must-gather and a tarball of `microk8s inspect` as files in the build folder.

use super::in_process::{self, Bench, Figure};
use super::row::Better;
use super::{Context, Group, Measured};

pub(super) const GROUP: Group = Group {
    name: "audit",
    about: "Audit of large dumps",
    run,
};

const BENCH: Bench = Bench {
    package: "berth-audit",
    name: "dump",
};

const FIGURES: [Figure; 8] = [
    seconds("Dump of 5,000 nodes and 150,000 pods", "cluster_s", 5.0),
    cpu("The same, CPU", "cluster_cpu_s", 5.0),
    memory("The same, peak of memory", "cluster_mb"),
    seconds("Must-gather of 500 MB", "must_gather_s", 5.0),
    cpu("The same, CPU", "must_gather_cpu_s", 5.0),
    memory("The same, peak of memory", "must_gather_mb"),
    seconds("Inspect tarball of 100 MB", "inspect_s", 1.5),
    cpu("The same, CPU", "inspect_cpu_s", 1.5),
];

const fn seconds(name: &'static str, key: &'static str, goal: f64) -> Figure {
    Figure {
        name,
        key,
        unit: "s",
        better: Better::Lower,
        goal,
    }
}

const fn cpu(name: &'static str, key: &'static str, goal: f64) -> Figure {
    Figure {
        unit: "CPU s",
        ..seconds(name, key, goal)
    }
}

const fn memory(name: &'static str, key: &'static str) -> Figure {
    Figure {
        unit: "MB",
        ..seconds(name, key, 300.0)
    }
}

fn run(cx: &Context<'_>) -> anyhow::Result<Measured> {
    Ok(in_process::rows(cx, GROUP.name, &BENCH, &FIGURES)?.into())
}
