//! What each event does to the index and to the world's own records.
//!
//! Invariant: a fault of the plan brings its repair, and the repair the next fault. Not here: which
//! event is next.

use berth_core::id::{NodeId, PodId};
use berth_core::model::draft::Draft;
use berth_core::model::gpu::GpuHealth;
use berth_core::model::node::Readiness;
use berth_core::time::Time;

use crate::world::log::Entry;
use crate::world::tally::Cause;
use crate::world::{Event, Origin, World};

impl World {
    pub(super) fn apply(&mut self, index: &mut Draft, event: Event, now: Time) {
        match event {
            Event::PodEnds { pod, .. } => {
                self.finish(index, pod, now);
            }
            Event::GangEnds { gang, .. } => {
                let gang = self
                    .gangs
                    .remove(&gang)
                    .expect("a stale end was dropped before");
                for member in gang.members {
                    self.finish(index, member, now);
                }
            }
            Event::NodeLost { node, by } => {
                self.close_node(index, node, Readiness::Lost, now);
                self.evict_all(index, node, Cause::NodeLost, now);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let repair = source.rates.node_return(&mut source.nodes[node.index()]);
                    self.push(now + repair, Event::NodeBack { node, by });
                }
            }
            Event::NodeCordoned { node } => {
                self.close_node(index, node, Readiness::Cordoned, now);
            }
            Event::NodeDrained { node } => {
                self.close_node(index, node, Readiness::Cordoned, now);
                self.evict_all(index, node, Cause::NodeDrained, now);
            }
            Event::NodeBack { node, by } => {
                self.close_node(index, node, Readiness::Ready, now);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let next = source.rates.node_loss(&mut source.nodes[node.index()]);
                    self.push(now + next, Event::NodeLost { node, by });
                }
            }
            Event::GpuFailed { node, gpu, by } => {
                self.fail_gpu(index, node, gpu, now);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let stream = &mut source.gpus[node.index()][usize::from(gpu)];
                    let repair = source.rates.gpu_repair(stream);
                    self.push(now + repair, Event::GpuRepaired { node, gpu, by });
                }
            }
            Event::GpuRepaired { node, gpu, by } => {
                index.set_gpu_health(node, usize::from(gpu), GpuHealth::Healthy);
                self.log
                    .add(now, Entry::Gpu, [u64::from(node.0), u64::from(gpu), 1]);
                if by == Origin::Plan {
                    let source = self.faults.as_mut().expect("the plan made the event");
                    let stream = &mut source.gpus[node.index()][usize::from(gpu)];
                    let next = source.rates.gpu_failure(stream);
                    self.push(now + next, Event::GpuFailed { node, gpu, by });
                }
            }
        }
    }

    fn close_node(&mut self, index: &mut Draft, node: NodeId, readiness: Readiness, now: Time) {
        index.set_readiness(node, readiness);
        self.log
            .add(now, Entry::Node, [u64::from(node.0), readiness as u64, 0]);
    }

    fn evict_all(&mut self, index: &mut Draft, node: NodeId, cause: Cause, now: Time) {
        let placements = &index.node(node).placements;
        let pods: Vec<PodId> = placements.iter().map(|placement| placement.pod).collect();
        for pod in pods {
            self.evict(index, pod, cause, now);
        }
    }

    fn fail_gpu(&mut self, index: &mut Draft, node: NodeId, gpu: u8, now: Time) {
        index.set_gpu_health(node, usize::from(gpu), GpuHealth::Failed);
        self.log
            .add(now, Entry::Gpu, [u64::from(node.0), u64::from(gpu), 0]);
        let tenants = index.node(node).tenants(usize::from(gpu));
        let pods: Vec<PodId> = tenants.map(|placement| placement.pod).collect();
        for pod in pods {
            self.evict(index, pod, Cause::GpuFailed, now);
        }
    }
}
