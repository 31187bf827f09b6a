//! The engine: decides, and remembers what it has worked out.
//!
//! Groups of waiting pods are taken in order of priority, then age. The oldest pod of a group is
//! offered to the nodes; if it finds no place, neither does the rest of its group, so the group is
//! done for this cycle and the next one has its turn (work-conserving: whatever fits somewhere
//! starts). A gang is tried on a draft of its own and starts with enough members at once or not at
//! all. Invariant: what the engine remembers never changes what it decides.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::{Bound, Deref};

use crate::amount::GpuUnits;
use crate::id::{GangId, NodeId, PodId, QueueId, TaskTypeId};
use crate::model::draft::Draft;
use crate::model::gpu::GpuGrant;
use crate::model::snapshot::{Age, Alike, Group, GroupKey, Snapshot};
use crate::sched::decisions::{Bind, Decisions, Evict, EvictCause};
use crate::sched::explain::Hindrance;
use crate::sched::index::ScoreIndex;
use crate::sched::policy::{Learned, Place, Policy, Selection};
use crate::sched::profile::Profile;
use crate::stream::Stream;
use crate::time::Time;

/// Decides what starts where, cycle after cycle.
#[derive(Debug)]
pub struct Engine {
    profile: Profile,
    policy: Box<dyn Policy>,
    index: ScoreIndex,
}

/// The oldest undecided pod of a group; the heap gives the highest priority, then the oldest.
type Turn = Reverse<(Reverse<i32>, Age, GroupKey, PodId)>;

/// The world as a cycle will leave it: the snapshot until something is decided that matters to the
/// rest of the cycle, a draft over it from then on.
#[derive(Debug)]
struct Trial<'a> {
    snapshot: &'a Snapshot,
    draft: Option<Draft>,
}

impl<'a> Trial<'a> {
    fn over(snapshot: &'a Snapshot) -> Self {
        let draft = None;
        Self { snapshot, draft }
    }

    fn to_mut(&mut self) -> &mut Draft {
        self.draft.get_or_insert_with(|| Draft::over(self.snapshot))
    }
}

impl Deref for Trial<'_> {
    type Target = Snapshot;
    fn deref(&self) -> &Snapshot {
        self.draft.as_deref().unwrap_or(self.snapshot)
    }
}

impl Engine {
    /// An engine that has seen nothing yet.
    #[must_use]
    pub fn new(profile: &Profile) -> Self {
        Self {
            profile: profile.clone(),
            policy: (profile.policy.build)(profile),
            index: ScoreIndex::default(),
        }
    }

    /// The profile with what has been learned so far in it: an engine made from it goes on as this
    /// one does.
    #[must_use]
    pub fn profile(&self) -> Profile {
        Profile {
            prices: self.policy.prices(),
            ..self.profile.clone()
        }
    }

    /// Decides what starts where. Answers exactly as [`crate::sched::cycle::run`] with the
    /// [profile](Self::profile) of that moment.
    pub fn run(&mut self, snapshot: &Snapshot, now: Time, stream: &mut Stream) -> Decisions {
        if self.policy.learn(snapshot) == Learned::NewScores {
            self.index.forget_scores();
        }
        if snapshot.pending().is_empty() && snapshot.stranded_gangs().next().is_none() {
            return Decisions::default();
        }
        let mut draft = Trial::over(snapshot);
        let mut decisions = Decisions::default();
        let mended = self.mend_stranded_gangs(&mut draft, now, stream, &mut decisions);
        let heads = draft
            .pending()
            .iter()
            .filter(|(key, _)| !mended.contains(key))
            .filter_map(|(key, group)| first_turn(key, group));
        let mut turns: BinaryHeap<Turn> = heads.collect();
        while let Some(Reverse((_, age, key, pod))) = turns.pop() {
            let outcome = match key.alike {
                Alike::Task { queue, task } => {
                    self.offer(&draft, queue, task, stream)
                        .map(|(node, grant)| {
                            let next = next_of_group(&draft, &key, &age);
                            decisions.binds.push(Bind { pod, node, grant });
                            // Nobody looks at the draft after the very last pod.
                            if !turns.is_empty() || next.is_some() {
                                draft.to_mut().reserve(pod, node, grant);
                            }
                            next
                        })
                }
                Alike::Gang { gang } => {
                    self.offer_gang(&mut draft, key, gang, stream)
                        .map(|(binds, rest)| {
                            decisions.binds.extend(binds);
                            decisions
                                .waiting
                                .extend(rest.map(|hindrance| (key, hindrance)));
                            None
                        })
                }
            };
            match outcome {
                Ok(next) => turns.extend(next),
                Err(hindrance) => decisions.waiting.push((key, hindrance)),
            }
        }
        decisions
    }

    /// A place for one pod, or what stands in the way.
    fn offer(
        &mut self,
        draft: &Snapshot,
        queue: QueueId,
        task: TaskTypeId,
        stream: &mut Stream,
    ) -> Result<(NodeId, GpuGrant), Hindrance> {
        if let Some(queue) = queue_at_limit(draft, queue, task) {
            return Err(Hindrance::QueueLimit { queue });
        }
        self.index.sync(draft);
        let node = self.choose(draft, task, stream).ok_or(Hindrance::NoNode)?;
        let (catalog, target) = (draft.catalog(), draft.node(node));
        let request = catalog.task(task);
        let place = Place {
            catalog,
            request,
            shape: &target.shape,
            state: &target.state,
        };
        Ok((node, self.policy.grant(&place, stream)))
    }

    fn choose(
        &mut self,
        draft: &Snapshot,
        task: TaskTypeId,
        stream: &mut Stream,
    ) -> Option<NodeId> {
        match self.profile.policy.selection {
            Selection::HighestScore => self.index.best(draft, task, &mut *self.policy),
            Selection::UniformDraw => {
                let fitting = self.index.fitting(draft, task, &mut *self.policy);
                if fitting.is_empty() {
                    return None;
                }
                let drawn = stream.below(fitting.len() as u64);
                Some(fitting[usize::try_from(drawn).expect("below the length of a vector")])
            }
        }
    }

    /// Places for enough waiting members of a gang at once, reserved in `draft`, with what stops
    /// the others of an elastic gang; or what stands in the way, and `draft` as it was. Once a
    /// cycle for each gang: the members that find no place now find none later in the cycle.
    fn offer_gang(
        &mut self,
        draft: &mut Trial<'_>,
        key: GroupKey,
        gang: GangId,
        stream: &mut Stream,
    ) -> Result<(Vec<Bind>, Option<Hindrance>), Hindrance> {
        let (need, members_min) = (
            draft.gang(gang).needed_at_once(),
            draft.gang(gang).members_min,
        );
        let (pending, bound) = (draft.gang(gang).pending, draft.gang(gang).bound);
        if pending < need {
            return Err(Hindrance::GangIncomplete {
                have: bound + pending,
                need: members_min,
            });
        }
        let members: Vec<PodId> = draft.pending()[&key].values().copied().collect();
        let mut trial = Draft::over(draft);
        let mut binds = Vec::with_capacity(members.len());
        let mut hindrance = None;
        for pod in members {
            let spec = &trial
                .pod(pod)
                .expect("a waiting pod is in the snapshot")
                .spec;
            let (queue, task) = (spec.queue, spec.task);
            match self.offer(&trial, queue, task, stream) {
                Ok((node, grant)) => {
                    trial.reserve(pod, node, grant);
                    binds.push(Bind { pod, node, grant });
                }
                Err(obstacle) => hindrance = hindrance.or(Some(obstacle)),
            }
        }
        let placed = u32::try_from(binds.len()).expect("gangs are bounded");
        if placed >= need {
            draft.draft = Some(trial);
            let rest = hindrance.map(|hindrance| match hindrance {
                limit @ Hindrance::QueueLimit { .. } => limit,
                _ => Hindrance::GangNoRoom { placed: 0, need: 1 },
            });
            return Ok((binds, rest));
        }
        Err(match hindrance {
            Some(limit @ Hindrance::QueueLimit { .. }) => limit,
            _ => Hindrance::GangNoRoom { placed, need },
        })
    }

    /// Gangs that a fault has left with too few members are made whole before anything else starts;
    /// where that is impossible now, the rest gives its places back instead of holding them for
    /// nothing. Returns the groups that were made whole.
    fn mend_stranded_gangs(
        &mut self,
        draft: &mut Trial<'_>,
        now: Time,
        stream: &mut Stream,
        decisions: &mut Decisions,
    ) -> BTreeSet<GroupKey> {
        let mut mended = BTreeSet::new();
        let stranded: Vec<GangId> = draft.stranded_gangs().collect();
        for gang in stranded {
            let key = gang_key(draft, gang);
            match self.offer_gang(draft, key, gang, stream) {
                Ok((binds, rest)) => {
                    mended.insert(key);
                    decisions.binds.extend(binds);
                    decisions
                        .waiting
                        .extend(rest.map(|hindrance| (key, hindrance)));
                }
                Err(_) => {
                    for pod in bound_members(draft, gang) {
                        draft
                            .to_mut()
                            .evict(pod, now)
                            .expect("the member was just seen bound");
                        decisions.evictions.push(Evict {
                            pod,
                            cause: EvictCause::GangStranded,
                        });
                    }
                }
            }
        }
        mended
    }
}

fn gang_key(draft: &Snapshot, gang: GangId) -> GroupKey {
    GroupKey {
        priority: Reverse(draft.gang(gang).priority),
        alike: Alike::Gang { gang },
    }
}

fn bound_members(draft: &Snapshot, gang: GangId) -> Vec<PodId> {
    let members = draft.pods().filter(|(_, pod)| pod.spec.gang == Some(gang));
    members
        .filter(|(_, pod)| pod.node().is_some())
        .map(|(id, _)| id)
        .collect()
}

/// The turn of the oldest pod of a group.
fn first_turn(key: &GroupKey, group: &Group) -> Option<Turn> {
    let (age, &pod) = group.first_key_value()?;
    Some(Reverse((key.priority, age.clone(), *key, pod)))
}

/// The turn of the pod that comes after `age` in its group. The draft's waiting pods are those of
/// the beginning: a place that the engine gives a single pod is reserved, not bound.
fn next_of_group(draft: &Snapshot, key: &GroupKey, age: &Age) -> Option<Turn> {
    let group = draft.pending().get(key)?;
    let (age, &pod) = group
        .range((Bound::Excluded(age), Bound::Unbounded))
        .next()?;
    Some(Reverse((key.priority, age.clone(), *key, pod)))
}

/// The nearest queue on the way up that `task` would take over its limit.
fn queue_at_limit(draft: &Snapshot, queue: QueueId, task: TaskTypeId) -> Option<QueueId> {
    let catalog = draft.catalog();
    let request = catalog.task(task);
    if !request.wants_gpu() {
        return None;
    }
    let charge: GpuUnits = catalog.equivalents(request);
    let over = |limit: GpuUnits, used: GpuUnits| used + charge > limit;
    draft
        .queue_chain(queue)
        .find(|(_, queue)| queue.limit.is_some_and(|limit| over(limit, queue.used)))
        .map(|(id, _)| id)
}
