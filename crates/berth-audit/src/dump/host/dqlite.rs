//! The dqlite store of a host: members, own identity, and the files of its folder.

use super::Host;
use super::files::HostFile;
use crate::dump::place::Place;

/// What a host knows of its store; every part may be missing.
#[derive(Debug, Clone, Default)]
pub struct Dqlite<'a> {
    /// Members as this host last saw them.
    pub members: Vec<Member<'a>>,
    /// This host's own member.
    pub own: Option<Member<'a>>,
    /// Files of the folder.
    pub files: Vec<StoreFile<'a>>,
}

/// A raft member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Member<'a> {
    /// `host:port`.
    pub address: &'a str,
    /// Identity.
    pub id: &'a str,
    /// 0 voter, 1 standby, 2 spare.
    pub role: Option<u8>,
    /// Where it stands.
    pub place: Place,
}

/// A file of the store's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreFile<'a> {
    /// Name.
    pub name: &'a str,
    /// Size as `ls -lh` prints it: `8.0M`, `0`.
    pub size: &'a str,
    /// Where it stands.
    pub place: Place,
}

impl<'a> Dqlite<'a> {
    pub(super) fn of(host: &'a Host) -> Self {
        let members = host.file(HostFile::DqliteCluster);
        let own = host
            .file(HostFile::DqliteInfo)
            .or_else(|| host.file(HostFile::DqliteLocalNode));
        let list = host.file(HostFile::DqliteList);
        Self {
            members: members
                .map(|text| members_of(&text.text, text.place))
                .unwrap_or_default(),
            own: own.and_then(|text| members_of(&text.text, text.place).into_iter().next()),
            files: list
                .map(|text| files_of(&text.text, text.place))
                .unwrap_or_default(),
        }
    }
}

impl<'a> Member<'a> {
    /// The address without its port.
    #[must_use]
    pub fn host(&self) -> &'a str {
        self.address
            .rsplit_once(':')
            .map_or(self.address, |(host, _)| host.trim_matches(['[', ']']))
    }
}

/// Members as `- Address: a`, `ID: n`, `Role: r` in any order; the first key of an item has a dash.
fn members_of(text: &str, place: Place) -> Vec<Member<'_>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let (is_first, pair) = match text.trim_start().strip_prefix("- ") {
            Some(rest) => (true, rest),
            None => (members.is_empty(), text),
        };
        let Some((key, value)) = pair.split_once(':') else {
            continue;
        };
        let value = value.trim().trim_matches(['"', '\'']);
        if is_first {
            members.push(Member {
                place: Place { line, ..place },
                ..Member::default()
            });
        }
        let Some(member) = members.last_mut() else {
            continue;
        };
        match key.trim() {
            "Address" => member.address = value,
            "ID" => member.id = value,
            "Role" => member.role = value.parse().ok(),
            _ => {}
        }
    }
    members.retain(|member| !member.address.is_empty());
    members
}

/// Lines of `ls -lh`: rights, links, owner, group, size, month, day, time, name.
fn files_of(text: &str, place: Place) -> Vec<StoreFile<'_>> {
    (1..)
        .zip(text.lines())
        .filter_map(|(line, text)| {
            let mut words = text.split_whitespace();
            let size = words.nth(4)?;
            let name = words.nth(3)?;
            Some(StoreFile {
                name,
                size,
                place: Place { line, ..place },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_files_are_read() {
        let members = members_of(
            "- Address: 10.0.0.1:19001\n  ID: 3297041220608546238\n  Role: 0\n- Address: '[fd00::2]:19001'\n  ID: 2\n  Role: 2\n",
            Place::default(),
        );
        assert_eq!(members.len(), 2);
        assert_eq!((members[0].host(), members[0].role), ("10.0.0.1", Some(0)));
        assert_eq!((members[1].host(), members[1].role), ("fd00::2", Some(2)));
        assert_eq!(members[1].place.line, 4);
        let own = members_of(
            "Address: 10.0.0.1:19001\nID: 3\nRole: 0\n",
            Place::default(),
        );
        assert_eq!((own.len(), own[0].id), (1, "3"));
        let files = files_of(
            "total 12M\n-rw-rw---- 1 root microk8s 8.0M Jan  1 10:00 0000000000000001-0000000000000100\n",
            Place::default(),
        );
        assert_eq!(
            (files.len(), files[0].size, files[0].place.line),
            (1, "8.0M", 2)
        );
    }
}
