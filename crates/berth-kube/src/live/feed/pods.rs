//! Pods: into the index, out of it, or apart with a reason.

use std::sync::Arc;

use berth_api::mark;
use berth_core::amount::{Bytes, GpuUnits, MilliCpu};
use berth_core::filter::facts::Text;
use berth_core::filter::facts::device::{Access, Ask, Choice, DeviceClaim, Wanted};
use berth_core::id::{NodeId, PodId, UserId};
use berth_core::limits;
use berth_core::model::draft::Draft;
use berth_core::model::gpu::{GpuGrant, GpuSet, ModelSet};
use berth_core::model::pod::{Facts, PodSpec, Tenure};
use berth_core::model::request::{GpuRequest, Request};
use berth_core::model::vm::{Migratability, Vm};
use berth_core::sched::decisions::Decisions;
use berth_core::sched::fit;
use berth_core::time::Time;

use super::gangs::ANY_GROUP;
use super::{Apart, Feed, PodState, Standing};
use crate::live::change::Kind;
use crate::lower::{GangMark, GpuAsk, PodRecord};

impl Feed {
    pub(super) fn set_pod(&mut self, draft: &mut Draft, key: &Text, record: PodRecord, now: Time) {
        let Some(known) = self.pods.get_mut(key) else {
            self.add_pod(draft, key, record, now);
            return;
        };
        if known.record.facts.uid != record.facts.uid {
            self.remove_pod(draft, key, now);
            self.add_pod(draft, key, record, now);
            return;
        }
        let node = record.node.as_ref().and_then(|name| self.nodes.get(name));
        match known.standing {
            // Until it is bound, whatever else is told of it changes nothing any more.
            Standing::Assumed(..) if record.node.is_none() => known.record = record,
            Standing::Assumed(id, place) if node == Some(&place) => {
                known.failures = 0;
                known.standing = Standing::In(id);
                known.record = record;
            }
            Standing::Resting { .. } if record.node.is_none() && !record.facts.is_terminating => {
                known.record = record;
            }
            Standing::Leaving => known.record = record,
            Standing::In(_) if is_same(&known.record, &record) => known.record = record,
            Standing::In(_)
            | Standing::Assumed(..)
            | Standing::Resting { .. }
            | Standing::Apart(_) => {
                known.record = record;
                self.enter_again(draft, key, now);
            }
        }
    }

    fn add_pod(&mut self, draft: &mut Draft, key: &Text, record: PodRecord, now: Time) {
        self.came += 1;
        let waits = record.node.is_none() && self.names.0.contains(&record.scheduler);
        let disagrees = |mark: &GangMark| mark.conflict.is_some();
        if waits && record.gang.as_ref().is_some_and(disagrees) {
            self.disagreeing.insert(key.clone());
        }
        let state = Box::new(PodState {
            record,
            standing: Standing::Apart(Apart::NotOurs),
            failures: 0,
        });
        self.pods.insert(key.clone(), state);
        self.enter(draft, key, now);
    }

    pub(super) fn remove_pod(&mut self, draft: &mut Draft, key: &Text, now: Time) {
        if self.pods.contains_key(key) {
            self.take_out(draft, key, now);
            let pod = self.pods.remove(key);
            self.ended += u64::from(pod.is_some_and(|pod| pod.record.node.is_some()));
            self.disagreeing.remove(key);
            self.gone.push(key.clone());
        }
    }

    /// Takes a pod out and considers it anew.
    pub(super) fn enter_again(&mut self, draft: &mut Draft, key: &Text, now: Time) {
        self.take_out(draft, key, now);
        self.enter(draft, key, now);
    }

    fn take_out(&mut self, draft: &mut Draft, key: &Text, now: Time) {
        let Some(pod) = self.pods.get(key) else {
            return;
        };
        for claim in pod.record.facts.device_claim_keys() {
            if self.claim_payers.get(&claim) == Some(key) {
                self.claim_payers.remove(&claim);
            }
        }
        let (uid, nominated) = (pod.record.facts.uid.clone(), pod.record.nominated.clone());
        match pod.standing.clone() {
            Standing::In(id) => self.leave(draft, id, now),
            Standing::Assumed(id, _) => {
                self.resting.retain(|(_, resting)| resting != key);
                self.leave(draft, id, now);
            }
            Standing::Resting { until, .. } => {
                self.resting.remove(&(until, key.clone()));
            }
            Standing::Apart(_) => {
                if let Some(node) = nominated {
                    draft.facts_mut().unnominate(&node, &uid);
                }
            }
            Standing::Leaving => {}
        }
    }

    /// Puts a pod that is not in the index where it belongs.
    pub(super) fn enter(&mut self, draft: &mut Draft, key: &Text, now: Time) {
        let Some(pod) = self.pods.get(key) else {
            return;
        };
        let record = pod.record.clone();
        let standing = match self.try_enter(draft, key, &record, now) {
            Ok(id) => {
                self.keys.insert(id, key.clone());
                Standing::In(id)
            }
            Err(apart) => {
                match &apart {
                    Apart::QueueMissing(name) => self.wait_for(Kind::Queue, name, key),
                    Apart::GangUnknown(name) => self.wait_for(ANY_GROUP, name, key),
                    Apart::NodeUnknown(name) => self.wait_for(Kind::Node, name, key),
                    Apart::ClaimMissing(name) => self.wait_for(Kind::ResourceClaim, name, key),
                    Apart::NotOurs => {
                        if let Some(node) = &record.nominated {
                            let facts = Arc::clone(&record.facts);
                            draft.facts_mut().nominate(node, facts);
                        }
                    }
                    Apart::Gated | Apart::Terminating | Apart::Full(_) => {}
                }
                Standing::Apart(apart)
            }
        };
        if let Some(pod) = self.pods.get_mut(key) {
            pod.standing = standing;
        }
        self.note_left_over(draft, key);
    }

    fn try_enter(
        &mut self,
        draft: &mut Draft,
        key: &Text,
        record: &PodRecord,
        now: Time,
    ) -> Result<PodId, Apart> {
        if let Some(name) = &record.node {
            let node = self.nodes.get(name).copied();
            let node = node.ok_or_else(|| Apart::NodeUnknown(name.clone()))?;
            return self.adopt(draft, key, record, node, now);
        }
        let is_ours = self.names.0.contains(&record.scheduler);
        if !is_ours {
            return Err(Apart::NotOurs);
        }
        if record.facts.is_terminating {
            return Err(Apart::Terminating);
        }
        if record.gates.iter().any(|gate| gate != mark::QUOTA_GATE) {
            return Err(Apart::Gated);
        }
        let spec = self.spec(draft, key, record)?;
        draft
            .add_pod(spec)
            .map_err(|why| Apart::Full(why.to_string().into()))
    }

    /// Takes a pod in where it runs.
    fn adopt(
        &mut self,
        draft: &mut Draft,
        key: &Text,
        record: &PodRecord,
        node: NodeId,
        now: Time,
    ) -> Result<PodId, Apart> {
        // It runs, so it counts, whatever has become of the queue and the gang that it names.
        let mut known = record.clone();
        if self.queue_of(draft, known.queue.as_ref()).is_none()
            && let Some(name) = known.queue.take()
        {
            self.wait_for(Kind::Queue, &name, key);
        }
        let spec = match self.spec(draft, key, &known) {
            Err(Apart::GangUnknown(name)) => {
                self.wait_for(ANY_GROUP, &name, key);
                known.gang = None;
                self.spec(draft, key, &known)
            }
            other => other,
        }?;
        let id = draft.add_pod(spec);
        let id = id.map_err(|why| Apart::Full(why.to_string().into()))?;
        let recorded = self.grants.get(&record.facts.uid).and_then(recorded_grant);
        if recorded.is_none() {
            self.unrecorded.insert(node);
        }
        let grant = recorded.unwrap_or_else(|| fit::gpu_grant_of(draft, id, node));
        let since = record.bound.unwrap_or(now).min(now);
        draft
            .adopt(id, node, grant, since, now)
            .expect("it was just added and waits");
        Ok(id)
    }

    fn spec(
        &mut self,
        draft: &mut Draft,
        key: &Text,
        record: &PodRecord,
    ) -> Result<PodSpec, Apart> {
        let queue = self.queue_of(draft, record.queue.as_ref());
        let missing = || Apart::QueueMissing(record.queue.clone().unwrap_or_default());
        let queue = queue.ok_or_else(missing)?;
        let gang = match &record.gang {
            Some(mark) => Some(self.gang_of(draft, mark, record)?),
            None => None,
        };
        let mut request = request(draft, record);
        if request.gpu == GpuRequest::None {
            request.gpu = self.claimed_gpus(draft, key, record)?;
        }
        let task = draft.catalog_mut().intern_task(request);
        let is_ours = self.names.0.contains(&record.scheduler);
        let vm = record.carries_machine.then(|| {
            draft.add_vm(Vm {
                name: key.as_str().into(),
                migratability: Migratability::Pinned,
            })
        });
        Ok(PodSpec {
            name: key.as_str().into(),
            user: self.user(draft, &record.user),
            queue,
            task,
            priority: record.facts.priority,
            preempts: record.preempts,
            tenure: if is_ours {
                Tenure::Evictable
            } else {
                Tenure::Permanent
            },
            created: record.created,
            gang,
            vm,
            facts: Some(Facts::new(Arc::clone(&record.facts))),
        })
    }

    /// Whole GPUs that the claims of a pod ask for. A claim that several pods share is charged to the
    /// first of them.
    fn claimed_gpus(
        &mut self,
        draft: &Draft,
        key: &Text,
        record: &PodRecord,
    ) -> Result<GpuRequest, Apart> {
        let pod = &record.facts;
        let mut count: i64 = 0;
        for claim in pod.device_claim_keys() {
            let Some(known) = draft.facts().devices.claims().get(&claim) else {
                if record.node.is_some() {
                    continue;
                }
                return Err(Apart::ClaimMissing(Text::from(claim.to_string())));
            };
            let payer = self.claim_payers.entry(claim);
            if payer.or_insert_with(|| key.clone()) == key {
                count = count.saturating_add(gpus_of(known));
            }
        }
        Ok(match u8::try_from(count).unwrap_or(u8::MAX) {
            0 => GpuRequest::None,
            count => GpuRequest::Whole { count },
        })
    }

    fn user(&mut self, draft: &mut Draft, name: &Text) -> UserId {
        if let Some(&known) = self.users.get(name) {
            return known;
        }
        let id = draft.add_user(name.as_str());
        self.users.insert(name.clone(), id);
        id
    }

    /// Notes what has been decided, which the draft already shows: who is being bound, and who has to
    /// go.
    pub fn note(&mut self, decisions: &Decisions) {
        for bind in &decisions.binds {
            let key = self.keys.get(&bind.pod);
            if let Some(pod) = key.and_then(|key| self.pods.get_mut(key)) {
                pod.standing = Standing::Assumed(bind.pod, bind.node);
            }
        }
    }

    /// Takes out of the index who has been evicted; they are not to start again.
    pub fn dismiss(&mut self, draft: &mut Draft, key: &Text, now: Time) {
        if self.pods.contains_key(key) {
            self.take_out(draft, key, now);
            if let Some(pod) = self.pods.get_mut(key) {
                pod.standing = Standing::Leaving;
            }
        }
    }
}

/// What a pod asks for, as the core counts it. What is beyond all bounds fits nowhere, and says so.
fn request(draft: &Draft, record: &PodRecord) -> Request {
    let asked = &record.facts.template.requests;
    let gpu = match record.gpu {
        GpuAsk::None => GpuRequest::None,
        GpuAsk::Whole(count) => GpuRequest::Whole { count },
        GpuAsk::Share { compute, memory } => GpuRequest::Share { compute, memory },
    };
    let catalog = draft.catalog();
    let named = record.gpu_models.iter();
    let named = named.filter_map(|name| catalog.model_named(name));
    let models = if gpu == GpuRequest::None || record.gpu_models.is_empty() {
        ModelSet::ANY
    } else {
        named.fold(ModelSet::NONE, ModelSet::with)
    };
    Request {
        cpu: asked
            .cpu
            .clamp(MilliCpu::ZERO, MilliCpu(limits::CPU_MAX.0 + 1)),
        memory: asked
            .memory
            .clamp(Bytes::ZERO, Bytes(limits::MEMORY_MAX.0 + 1)),
        gpu,
        models,
    }
}

/// Whole GPUs that a claim asks for; of alternatives, those of the first.
fn gpus_of(claim: &DeviceClaim) -> i64 {
    let of_ask = |ask: &Ask| match (ask.access, ask.wanted) {
        (Access::Use, Wanted::Count(count)) if mark::GPU_CLASSES.contains(&ask.class.as_str()) => {
            count
        }
        _ => 0,
    };
    let of_choice = |choice: &Choice| match choice {
        Choice::Exactly(ask) => of_ask(ask),
        Choice::FirstAvailable(asks) => asks.first().map_or(0, |(_, ask)| of_ask(ask)),
        Choice::Unknown => 0,
    };
    let requests = claim.requests.iter();
    requests
        .map(|request| of_choice(&request.choice))
        .fold(0, i64::saturating_add)
}

/// What a record says that a pod has.
fn recorded_grant(from: &berth_api::grant::PodGrant) -> Option<GpuGrant> {
    let in_range = |&gpu: &u8| usize::from(gpu) < limits::GPUS_PER_NODE_MAX;
    if from.gpus.is_empty() || !from.gpus.iter().all(in_range) {
        return None;
    }
    if from.compute >= GpuUnits::ONE_GPU.0 && from.memory_bytes == 0 {
        let gpus = from.gpus.iter().map(|&gpu| usize::from(gpu));
        let gpus = gpus.fold(GpuSet::EMPTY, GpuSet::with);
        return Some(GpuGrant::Whole { gpus });
    }
    Some(GpuGrant::Share {
        gpu: from.gpus[0],
        compute: GpuUnits(from.compute),
        memory: Bytes(from.memory_bytes),
    })
}

/// Whether two records of a pod say the same about where it may be and what it holds.
fn is_same(one: &PodRecord, other: &PodRecord) -> bool {
    let without_news = |record: &PodRecord| PodRecord {
        version: Text::new(),
        bound: None,
        nominated: None,
        ..record.clone()
    };
    without_news(one) == without_news(other)
}
