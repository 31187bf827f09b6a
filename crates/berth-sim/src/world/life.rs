//! The life of a pod: submitted, started, evicted, finished.
//!
//! Invariant: a pod that holds GPU in the tally holds it in the index, and the other way round. Not
//! here: why it loses its place.

use std::sync::Arc;

use berth_core::id::{GangId, NodeId, PodId};
use berth_core::model::draft::Draft;
use berth_core::model::gpu::GpuGrant;
use berth_core::model::pod::{PodSpec, Tenure};
use berth_core::model::request::GpuRequest;
use berth_core::model::snapshot::Snapshot;
use berth_core::model::vm::{Migratability, Vm};
use berth_core::time::{Span, Time};

use crate::workload::JobKind;
use crate::world::founding::Planned;
use crate::world::log::Entry;
use crate::world::outlook::Kind;
use crate::world::tally::{Cause, Held};
use crate::world::{Event, LiveGang, LivePod, Stage, World};

impl LivePod {
    /// Whether what it has done is lost with its place.
    fn begins_anew(&self) -> bool {
        matches!(self.job.kind, JobKind::Batch | JobKind::Gang)
    }
}

impl World {
    /// Takes a pod's place away in the index and here.
    pub(super) fn evict(&mut self, index: &mut Draft, pod: PodId, cause: Cause, now: Time) {
        index
            .evict(pod, now)
            .expect("a placement belongs to a bound pod");
        self.lose_place(index, pod, cause, now);
    }

    /// Notes that a pod has lost its place, which the index already shows.
    pub(super) fn lose_place(&mut self, index: &Snapshot, pod: PodId, cause: Cause, now: Time) {
        self.log
            .add(now, Entry::Evicted, [pod_word(pod), cause as u64, 0]);
        *self.tally.evictions.entry(cause).or_default() += 1;
        let begins_anew = self.live(pod).is_some_and(LivePod::begins_anew);
        let how = if begins_anew {
            Held::InVain
        } else {
            Held::ForGood
        };
        self.stop(pod, how, now);
        let live = self.live_mut(pod).expect("a bound pod is alive");
        live.stage = Stage::Evicted;
        let (gang, job) = (live.gang, Arc::clone(&live.job));
        self.tally.count(&job, 1, -1);
        let live = self.live(pod).expect("a bound pod is alive");
        let ends_by_itself = gang.is_none() && live.left.is_some();
        if ends_by_itself {
            self.outlook.strike_off(Kind::End);
        }
        let live = self.live_mut(pod).expect("a bound pod is alive");
        if begins_anew {
            live.left = live.job.run;
        }
        let Some(id) = gang else { return };
        let gang = self
            .gangs
            .get_mut(&id)
            .expect("a live member's gang is alive");
        let too_few = index.gang(id).bound < gang.job.pods_min;
        if too_few && gang.running.take().is_some() && gang.job.run.is_some() {
            self.outlook.strike_off(Kind::End);
        }
    }

    /// Settles the account of a pod that runs: it gives its GPU back, and has run for some time.
    fn stop(&mut self, pod: PodId, how: Held, now: Time) {
        let live = self
            .live_mut(pod)
            .expect("the caller knows that it is alive");
        let Stage::Running { since, units } = live.stage else {
            return;
        };
        let ran = now.since(since);
        live.left = live.left.map(|left| Span((left - ran).0.max(0)));
        let job = Arc::clone(&live.job);
        self.tally
            .give_back(job.claim, units, job.busy_permille, (ran, how));
        self.gantt.end(pod, now);
    }

    /// Takes a pod out that has run to its end, or whose gang has.
    pub(super) fn finish(&mut self, index: &mut Draft, pod: PodId, now: Time) {
        let Some(live) = self.live(pod) else { return };
        let (ran, job) = (
            matches!(live.stage, Stage::Running { .. }),
            Arc::clone(&live.job),
        );
        let entry = if ran { Entry::Ended } else { Entry::Withdrawn };
        self.log.add(now, entry, [pod_word(pod), 0, 0]);
        *(if ran {
            &mut self.tally.completed
        } else {
            &mut self.tally.withdrawn
        }) += 1;
        let (waiting, running) = if ran { (0, -1) } else { (-1, 0) };
        self.tally.count(&job, waiting, running);
        self.stop(pod, Held::ForGood, now);
        index
            .remove_pod(pod, now)
            .expect("a live pod is in the index");
        if self.pods[pod.slot as usize]
            .take()
            .is_some_and(|live| live.job.run.is_some())
        {
            self.outlook.left();
        }
    }

    pub(super) fn arrivals(&mut self, index: &mut Draft, now: Time) {
        while self.future.front().is_some_and(|job| job.arrival <= now) {
            let job = self.future.pop_front().expect("the front was just seen");
            self.arrive(index, job, now);
        }
        while self
            .late
            .first_key_value()
            .is_some_and(|((at, _), _)| *at <= now)
        {
            let (_, mut job) = self.late.pop_first().expect("the first was just seen");
            job.arrival = now;
            let planned = self.names.plan(&job, index);
            self.arrive(
                index,
                planned.expect("the job was checked on submission"),
                now,
            );
        }
    }

    fn arrive(&mut self, index: &mut Draft, job: Planned, now: Time) {
        let job = Arc::new(job);
        let gang = job.is_gang().then(|| {
            let gang = index.add_gang(Arc::clone(&job.name), job.pods_min, job.priority);
            gang.expect("the workload was checked against the bounds")
        });
        let vm = (job.kind == JobKind::Vm).then(|| {
            let machine = machine(&job, index);
            index.add_vm(machine)
        });
        let (mut members, mut submitted) = (Vec::new(), 0);
        for number in 0..job.pods {
            let name = if job.pods == 1 {
                Arc::clone(&job.name)
            } else {
                format!("{}/{number}", job.name).into()
            };
            let spec = PodSpec {
                name,
                user: job.user,
                queue: job.queue,
                task: job.task,
                priority: job.priority,
                preempts: job.preempts,
                tenure: Tenure::Evictable,
                created: now,
                gang,
                vm,
                facts: None,
            };
            let Ok(id) = index.add_pod(spec) else {
                // The cluster takes no more pods: the API server refuses the rest of the job.
                break;
            };
            self.log.add(
                now,
                Entry::Submitted,
                [pod_word(id), u64::from(job.task.0), 0],
            );
            let live = LivePod {
                id,
                job: Arc::clone(&job),
                gang,
                stage: Stage::New,
                epoch: 0,
                left: job.run,
            };
            let slot = id.slot as usize;
            if self.pods.len() <= slot {
                self.pods.resize_with(slot + 1, || None);
            }
            self.pods[slot] = Some(live);
            submitted += 1;
            if gang.is_some() {
                members.push(id);
            }
        }
        self.count_submitted(&job, submitted);
        if let Some(id) = gang {
            self.gangs.insert(
                id,
                LiveGang {
                    job,
                    members,
                    running: None,
                    epoch: 0,
                },
            );
        }
    }

    fn count_submitted(&mut self, job: &Planned, pods: usize) {
        if job.run.is_some() {
            self.outlook.submitted(pods);
        }
        let n = pods as u64;
        self.tally.submitted += n;
        self.tally.user(job.user).submitted += n;
        let waiting = i64::try_from(pods).expect("pods are bounded");
        self.tally.count(job, waiting, 0);
        let claim = self.tally.claim(job.claim);
        if let Some(run) = job.run {
            claim.demanded += i128::from(job.units.0) * i128::from(run.0) * i128::from(n);
        }
    }

    /// Starts a pod that the index shows bound.
    pub(super) fn start(
        &mut self,
        pod: PodId,
        node: NodeId,
        grant: &GpuGrant,
        name: &Arc<str>,
        now: Time,
    ) {
        let units = grant.equivalents();
        // Bits of the cards below, compute on each above.
        let cards = grant.gpus().iter().fold(0, |cards, gpu| cards | 1 << gpu);
        let grant_word = cards | grant_units(grant) << 32;
        self.log.add(
            now,
            Entry::Bound,
            [pod_word(pod), u64::from(node.0), grant_word],
        );
        self.gantt.start(pod, name, node, grant, now);
        let live = self.live_mut(pod).expect("only live pods are in the index");
        let before = live.stage;
        live.stage = Stage::Running { since: now, units };
        live.epoch += 1;
        let (epoch, left, gang, job) = (live.epoch, live.left, live.gang, Arc::clone(&live.job));
        self.tally.placed += 1;
        self.tally.hold(units, job.busy_permille);
        self.tally.count(&job, -1, 1);
        match before {
            Stage::New => self
                .tally
                .waited(job.user, job.kind, now.since(job.arrival)),
            Stage::Evicted => self.tally.evictions_restarted += 1,
            Stage::Running { .. } => unreachable!("the index refuses to bind a bound pod"),
        }
        if let (None, Some(left)) = (gang, left) {
            self.push(now + left, Event::PodEnds { pod, epoch });
        }
    }

    /// Starts the run of a gang that has just become whole.
    pub(super) fn start_gang(&mut self, index: &Snapshot, id: GangId, now: Time) {
        let Some(gang) = self.gangs.get_mut(&id) else {
            return;
        };
        if gang.running.is_some() || index.gang(id).bound < gang.job.pods_min {
            return;
        }
        gang.epoch += 1;
        gang.running = Some(gang.epoch);
        let (epoch, run) = (gang.epoch, gang.job.run);
        if let Some(run) = run {
            self.push(now + run, Event::GangEnds { gang: id, epoch });
        }
    }
}

fn pod_word(pod: PodId) -> u64 {
    u64::from(pod.generation) << 32 | u64::from(pod.slot)
}

fn grant_units(grant: &GpuGrant) -> u64 {
    grant.compute_each().0.unsigned_abs()
}

/// The machine of a job; one with a device of its own can't be moved while it runs.
fn machine(job: &Planned, index: &Draft) -> Vm {
    let migratability = match index.catalog().task(job.task).gpu {
        GpuRequest::Passthrough { .. } | GpuRequest::Mig { .. } => Migratability::Pinned,
        GpuRequest::None
        | GpuRequest::Whole { .. }
        | GpuRequest::Share { .. }
        | GpuRequest::Vgpu { .. } => Migratability::LiveMigratable,
    };
    Vm {
        name: Arc::clone(&job.name),
        migratability,
    }
}
