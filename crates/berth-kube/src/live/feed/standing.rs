//! What has become of queues and gangs, for those who ask and for their status.

use std::collections::BTreeSet;

use berth_core::filter::facts::Text;
use berth_core::id::{GangId, QueueId};

use super::{Feed, PodState};
use crate::live::change::Kind;

/// How a queue stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueStanding {
    /// It is in the index, and its work is scheduled.
    In(QueueId),
    /// It hangs below a queue that doesn't exist.
    ParentMissing(Text),
    /// Its parents lead in a circle, in the order of going up from it.
    Cycle(Vec<Text>),
    /// It can't be read or taken in.
    Unreadable(String),
}

impl Feed {
    /// Every queue that has been told of, by name, also those that can't be read.
    #[must_use]
    pub fn queue_names(&self) -> BTreeSet<&Text> {
        let unreadable = self.unreadable.keys();
        let unreadable = unreadable.filter(|(kind, _)| *kind == Kind::Queue);
        let unreadable = unreadable.map(|(_, name)| name);
        self.queues.keys().chain(unreadable).collect()
    }

    /// How the queue of this name stands; `None` if there is none.
    #[must_use]
    pub fn queue_standing(&self, name: &Text) -> Option<QueueStanding> {
        if let Some(why) = self.unreadable.get(&(Kind::Queue, name.clone())) {
            return Some(QueueStanding::Unreadable(why.clone()));
        }
        let (record, id) = self.queues.get(name)?;
        if let Some(id) = *id {
            return Some(QueueStanding::In(id));
        }
        let mut way = vec![name.clone()];
        let mut above = record.parent.as_ref();
        while let Some(name) = above {
            if let Some(at) = way.iter().position(|passed| passed == name) {
                way.drain(..at);
                return Some(QueueStanding::Cycle(way));
            }
            let Some((record, _)) = self.queues.get(name) else {
                return Some(QueueStanding::ParentMissing(name.clone()));
            };
            way.push(name.clone());
            above = record.parent.as_ref();
        }
        // Its way leads to a root, so one on it was refused.
        let refused = way
            .iter()
            .rev()
            .find_map(|name| self.unreadable.get(&(Kind::Queue, name.clone())));
        let why = refused
            .cloned()
            .unwrap_or_else(|| "it was refused".to_owned());
        Some(QueueStanding::Unreadable(why))
    }

    /// Which spec of the queue of this name is in the index; zero if there is none.
    #[must_use]
    pub fn queue_generation(&self, name: &Text) -> i64 {
        let found = self.queues.get(name);
        found.map_or(0, |(record, _)| record.generation)
    }

    /// The queue above the one of this name.
    #[must_use]
    pub fn queue_parent(&self, name: &Text) -> Option<&Text> {
        self.queues.get(name)?.0.parent.as_ref()
    }

    /// The gang in the index behind the key of a mark.
    #[must_use]
    pub fn gang(&self, key: &Text) -> Option<GangId> {
        self.gangs.get(key).copied()
    }

    /// How many members a gang needs, by its own object.
    #[must_use]
    pub fn gang_size(&self, key: &Text) -> Option<u32> {
        self.gang_sizes.get(key).copied()
    }

    /// The pods that say they are in the gang of this key.
    pub fn gang_members<'a>(
        &'a self,
        key: &'a Text,
    ) -> impl Iterator<Item = (&'a Text, &'a PodState)> {
        let is_member = move |pod: &PodState| {
            pod.record
                .gang
                .as_ref()
                .is_some_and(|mark| mark.key == *key)
        };
        self.pods().filter(move |(_, pod)| is_member(pod))
    }
}
