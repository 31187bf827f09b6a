//! The line of MicroK8s in `snap list`.

use crate::dump::host::Host;
use crate::dump::host::files::HostFile;
use crate::dump::place::Place;

/// MicroK8s as a snap.
pub(super) struct Snap<'a> {
    /// Version, such as `v1.28.3`.
    pub(super) version: &'a str,
    /// Revision of the build.
    pub(super) revision: &'a str,
    /// Channel that it follows.
    pub(super) channel: &'a str,
    /// Notes, divided by commas.
    pub(super) notes: &'a str,
    /// Where the line stands.
    pub(super) place: Place,
}

/// MicroK8s on a host, where the list has it.
pub(super) fn microk8s(host: &Host) -> Option<Snap<'_>> {
    let file = host.file(HostFile::SnapList)?;
    file.lines().find_map(|(line, text)| {
        let words: Vec<&str> = text.split_whitespace().collect();
        // Name, version, revision, channel, publisher, notes.
        let [name, version, revision, channel, .., notes] = words[..] else {
            return None;
        };
        (name == "microk8s").then_some(Snap {
            version,
            revision,
            channel,
            notes,
            place: file.at(line),
        })
    })
}
