//! Gangs: how large they are, by whoever says so.

use berth_core::filter::facts::Text;
use berth_core::id::GangId;
use berth_core::model::draft::Draft;
use berth_core::time::Time;

use super::{Apart, Feed};
use crate::live::change::{GangRecord, Kind};
use crate::lower::{GangMark, GroupDialect, PodRecord};

/// What pods wait for whose gang nobody knows: the key of a gang says whose object it takes.
pub(super) const ANY_GROUP: Kind = Kind::PodGroup(GroupDialect::Core);

impl Feed {
    pub(super) fn set_gang_size(
        &mut self,
        draft: &mut Draft,
        key: &Text,
        record: GangRecord,
        now: Time,
    ) {
        let GangRecord { members_min } = record;
        self.gang_sizes.insert(key.clone(), members_min);
        if let Some(&id) = self.gangs.get(key)
            && draft.gang(id).members_min != members_min.max(1)
            && let Err(why) = draft.set_gang_members_min(id, members_min)
        {
            tracing::error!(gang = %key, %why, "its size can't be taken over");
        }
        self.reconsider(draft, ANY_GROUP, key, now);
    }

    /// The gang of a pod that says it is in one.
    pub(super) fn gang_of(
        &mut self,
        draft: &mut Draft,
        mark: &GangMark,
        record: &PodRecord,
    ) -> Result<GangId, Apart> {
        if let Some(&id) = self.gangs.get(&mark.key) {
            return Ok(id);
        }
        let size = mark.members_min;
        let size = size.or_else(|| self.gang_sizes.get(&mark.key).copied());
        let Some(size) = size else {
            return Err(Apart::GangUnknown(mark.key.clone()));
        };
        let gang = draft.add_gang(mark.key.as_str(), size, record.facts.priority);
        let id = gang.map_err(|why| Apart::Full(why.to_string().into()))?;
        self.gangs.insert(mark.key.clone(), id);
        Ok(id)
    }
}
