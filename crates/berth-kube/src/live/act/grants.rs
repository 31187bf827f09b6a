//! The record of who has which GPU of a node, where GPUs are shared: written before anybody is bound
//! to the node by it.
//!
//! One write a node is under way at a time; what comes meanwhile is written together afterwards. The
//! resource version is the lock, and the epoch says who may write: whoever finds a higher one than its
//! own has lost that right. Invariant: binds go out only after a record that lists their pods.

use std::collections::BTreeMap;

use berth_api::grant::{GpuGrant, GpuGrantSpec, PodGrant};
use berth_core::filter::facts::Text;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use super::request::{ATTEMPTS_MAX, MANAGER, PAUSE, REQUEST_TIME_MAX};
use super::{Fence, Order};

/// Who has what on a node, and the binds that follow once that is recorded.
#[derive(Debug, Clone, Default)]
pub struct Record {
    pub epoch: i64,
    pub grants: Vec<PodGrant>,
    pub then: Vec<Order>,
}

/// Records that are being written, and those that wait for that.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// By node; `None` where nothing waits behind the write that is under way.
    busy: BTreeMap<Text, Option<Record>>,
}

impl Desk {
    /// Takes a record in; gives it back if it may be written at once.
    pub(super) fn submit(&mut self, node: &Text, record: Record) -> Option<Record> {
        match self.busy.get_mut(node) {
            None => {
                self.busy.insert(node.clone(), None);
                Some(record)
            }
            Some(waiting) => {
                let before = waiting.take().unwrap_or_default();
                let then = before.then.into_iter().chain(record.then).collect();
                *waiting = Some(Record { then, ..record });
                None
            }
        }
    }

    /// Notes that a write has ended; returns what is to be written next.
    pub(super) fn finish(&mut self, node: &Text) -> Option<Record> {
        let next = self.busy.get_mut(node).and_then(Option::take);
        if next.is_none() {
            self.busy.remove(node);
        }
        next
    }
}

/// Writes a record; says why if that can't be done.
pub(super) async fn write(
    client: &Client,
    node: &Text,
    record: &Record,
    fence: &Fence,
) -> Result<(), String> {
    let api: Api<GpuGrant> = Api::all(client.clone());
    let spec = GpuGrantSpec {
        epoch: record.epoch,
        grants: record.grants.clone(),
    };
    let mut pause = PAUSE;
    let mut last = String::new();
    for _ in 0..ATTEMPTS_MAX {
        if fence.is_closed() {
            return Err("the right to write was lost".to_owned());
        }
        match timeout(REQUEST_TIME_MAX, put(&api, node, &spec, fence)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => last = error.to_string(),
            Err(_) => last = "the API server did not answer".to_owned(),
        }
        sleep(pause).await;
        pause *= 2;
    }
    Err(format!("the GPUs of {node} can't be recorded: {last}"))
}

async fn put(
    api: &Api<GpuGrant>,
    node: &Text,
    spec: &GpuGrantSpec,
    fence: &Fence,
) -> Result<(), kube::Error> {
    let parameters = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let Some(mut found) = api.get_opt(node).await? else {
        let new = GpuGrant::new(node, spec.clone());
        return api.create(&parameters, &new).await.map(drop);
    };
    if found.spec.epoch > spec.epoch {
        tracing::error!(%node, "a later scheduler has recorded GPUs; this one writes no more");
        fence.close();
        return Ok(());
    }
    if found.spec == *spec {
        return Ok(());
    }
    found.spec = spec.clone();
    api.replace(node, &parameters, &found).await.map(drop)
}

#[cfg(test)]
mod tests {
    use arcstr::literal;

    use super::*;

    fn record(epoch: i64) -> Record {
        Record {
            epoch,
            ..Record::default()
        }
    }

    #[test]
    fn one_write_a_node_and_the_last_word_of_those_that_wait() {
        let (mut desk, node) = (Desk::default(), literal!("n1"));
        assert!(desk.submit(&node, record(1)).is_some());
        assert!(desk.submit(&node, record(2)).is_none());
        assert!(desk.submit(&node, record(3)).is_none());
        assert!(desk.submit(&literal!("n2"), record(9)).is_some());
        assert_eq!(desk.finish(&node).map(|record| record.epoch), Some(3));
        assert!(desk.finish(&node).is_none());
        assert!(desk.submit(&node, record(4)).is_some());
    }
}
