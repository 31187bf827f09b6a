//! Queues: limits, trees, and queues that come and go.

use serde_json::{Value, json};

use super::case::{Case, Cx};
use super::object::{QUEUES, in_queue, pods, queue};
use crate::testbed::api::Verb;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "pods of a queue that is missing start when it comes",
        run: missing_queue,
    },
    Case {
        name: "a limit holds for 30 pods that come at once",
        run: limit_holds,
    },
    Case {
        name: "a limit above holds for all queues under it together",
        run: limit_above,
    },
    Case {
        name: "a limit may be raised and lowered while pods run",
        run: limit_changes,
    },
    Case {
        name: "queues that are each other's parents take nothing and disturb nobody",
        run: cyclic_parents,
    },
    Case {
        name: "a queue that is deleted while in use keeps what runs and takes nothing new",
        run: deleted_in_use,
    },
    Case {
        name: "a queue's status says whether its work is scheduled, what it holds and what waits",
        run: status,
    },
];

fn missing_queue(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let name = cx.unique("late");
    cx.pods(&pods("early", 3, 1, &in_queue(&name)))?;
    cx.until("three pods told that they are Misconfigured", |seen| {
        seen.n_waiting("early", "Misconfigured") == 3
    })?;
    cx.make_global(QUEUES, &queue(&name, None, None))?;
    cx.until("all of them bound", |seen| seen.n_bound("early") == 3)
}

fn limit_holds(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let name = cx.unique("four");
    cx.make_global(QUEUES, &queue(&name, None, Some(4)))?;
    cx.world.observer.cap(&cx.namespace, 4);
    cx.pods(&pods("many", 30, 1, &in_queue(&name)))?;
    // A reason of its own, so that no autoscaler adds nodes.
    cx.until("four bound and 26 told of the limit", |seen| {
        seen.n_bound("many") == 4 && seen.n_waiting("many", "QueueLimit") == 26
    })?;
    let bound = cx.look(|seen| seen.names_bound("many"));
    for name in bound.iter().take(3) {
        cx.delete(&cx.path(&format!("pods/{name}")))?;
    }
    cx.until("others in the place of three that went", |seen| {
        seen.n_bound("many") == 4 && bound.iter().take(3).all(|gone| !seen.has(gone))
    })
}

fn limit_above(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let (top, left, right) = (cx.unique("top"), cx.unique("left"), cx.unique("right"));
    cx.make_global(QUEUES, &queue(&left, Some(&top), None))?;
    cx.make_global(QUEUES, &queue(&right, Some(&top), Some(3)))?;
    cx.make_global(QUEUES, &queue(&top, None, Some(5)))?;
    cx.world.observer.cap(&cx.namespace, 5);
    cx.pods(&pods("right", 5, 1, &in_queue(&right)))?;
    cx.until("three under their own limit", |seen| {
        seen.n_bound("right") == 3 && seen.n_waiting("right", "QueueLimit") == 2
    })?;
    cx.pods(&pods("left", 5, 1, &in_queue(&left)))?;
    cx.until("two more under the limit above", |seen| {
        seen.n_bound("left") == 2 && seen.n_waiting("left", "QueueLimit") == 3
    })
}

fn limit_changes(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let name = cx.unique("moving");
    cx.make_global(QUEUES, &queue(&name, None, Some(2)))?;
    cx.pods(&pods("many", 10, 1, &in_queue(&name)))?;
    cx.until("two bound", |seen| {
        seen.n_bound("many") == 2 && seen.n_waiting("many", "QueueLimit") == 8
    })?;
    let path = format!("{QUEUES}/{name}");
    let limit = |gpus: &str| json!({"spec": {"quotas": [{"resource": "gpu", "limit": gpus}]}});
    cx.world.api.require(Verb::Merge, &path, &limit("5"))?;
    cx.until("five bound", |seen| seen.n_bound("many") == 5)?;
    cx.world.api.require(Verb::Merge, &path, &limit("1"))?;
    cx.settle()?;
    cx.expect("five still running", |seen| seen.n_bound("many") == 5)
}

fn cyclic_parents(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let (one, other, own) = (cx.unique("one"), cx.unique("other"), cx.unique("own"));
    cx.make_global(QUEUES, &queue(&one, Some(&other), None))?;
    cx.make_global(QUEUES, &queue(&other, Some(&one), None))?;
    cx.make_global(QUEUES, &queue(&own, Some(&own), None))?;
    for (prefix, name) in [("a", &one), ("b", &other), ("c", &own)] {
        cx.pods(&pods(prefix, 2, 1, &in_queue(name)))?;
    }
    cx.until("pods of all three Misconfigured", |seen| {
        seen.n_waiting("", "Misconfigured") == 6
    })?;
    cx.settle()
}

fn deleted_in_use(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let name = cx.unique("brief");
    cx.make_global(QUEUES, &queue(&name, None, Some(4)))?;
    cx.pods(&pods("old", 3, 1, &in_queue(&name)))?;
    cx.until("three bound", |seen| seen.n_bound("old") == 3)?;
    cx.delete(&format!("{QUEUES}/{name}"))?;
    cx.pods(&pods("new", 3, 1, &in_queue(&name)))?;
    cx.until("new ones Misconfigured, old ones running", |seen| {
        seen.n_waiting("new", "Misconfigured") == 3 && seen.n_bound("old") == 3
    })?;
    cx.world.observer.cap(&cx.namespace, 4);
    let again = queue(&name, None, Some(4));
    cx.world.api.require(Verb::Post, QUEUES, &again)?;
    cx.until("one more under the limit of the queue made anew", |seen| {
        seen.n_bound("new") == 1 && seen.n_waiting("new", "QueueLimit") == 2
    })
}

fn status(cx: &mut Cx<'_>) -> anyhow::Result<()> {
    let (top, below) = (cx.unique("told-top"), cx.unique("told-below"));
    let path = |name: &str| format!("{QUEUES}/{name}");
    let says = |seen: &Value, ready: &str, reason: &str, held: &str, pending: u64| {
        let status = &seen["status"];
        let condition = &status["conditions"][0];
        condition["status"] == ready
            && condition["reason"] == reason
            && status["gpusHeld"] == held
            && status["pending"] == pending
    };
    cx.make_global(QUEUES, &queue(&below, Some(&top), Some(3)))?;
    cx.until_api(
        "a queue without its parent told so",
        &path(&below),
        |seen| says(seen, "False", "ParentMissing", "0", 0),
    )?;
    cx.make_global(QUEUES, &queue(&top, None, None))?;
    cx.pods(&pods("held", 5, 1, &in_queue(&below)))?;
    cx.until_api("what the queue holds", &path(&below), |seen| {
        says(seen, "True", "Scheduled", "3", 2)
    })?;
    // What is below counts, and what waits there does not.
    cx.until_api("what the queue above holds", &path(&top), |seen| {
        says(seen, "True", "Scheduled", "3", 0)
    })
}
