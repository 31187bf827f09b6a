//! containerd's settings: which runtime handlers are declared, and which is the default.
//!
//! Read line by line instead of as TOML: templates carry variables that are no TOML, and a line
//! number is wanted for each handler.

use super::HostText;
use crate::dump::place::Place;

/// A declared runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Runtime<'a> {
    /// Its handler name.
    pub handler: &'a str,
    /// Where it is declared.
    pub place: Place,
}

/// Handlers that the settings declare, in order.
#[must_use]
pub fn runtimes(settings: &HostText) -> Vec<Runtime<'_>> {
    let mut found: Vec<Runtime<'_>> = Vec::new();
    for (line, text) in settings.lines() {
        let Some(at) = text
            .find(".runtimes.")
            .filter(|_| text.trim_start().starts_with('['))
        else {
            continue;
        };
        let rest = text[at + ".runtimes.".len()..].trim_end_matches(']');
        let handler = match rest.strip_prefix(['"', '\'']) {
            Some(quoted) => quoted.split(['"', '\'']).next().unwrap_or_default(),
            None => rest.split(['.', ']']).next().unwrap_or_default(),
        };
        if !handler.is_empty() && found.iter().all(|runtime| runtime.handler != handler) {
            found.push(Runtime {
                handler,
                place: settings.at(line),
            });
        }
    }
    found
}

/// The value of `default_runtime_name`, where it is given.
#[must_use]
pub fn default_runtime(settings: &HostText) -> Option<(&str, Place)> {
    settings.lines().find_map(|(line, text)| {
        let value = text
            .trim()
            .strip_prefix("default_runtime_name")?
            .trim_start()
            .strip_prefix('=')?;
        Some((value.trim().trim_matches('"'), settings.at(line)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handlers_are_found_with_and_without_quotes() {
        let text = "version = 2\n  default_runtime_name = \"${RUNTIME}\"\n\
            [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n\
            [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia-container-runtime]\n\
            [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia-container-runtime.options]\n\
            [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.'kata.fc']\n";
        let settings = HostText {
            text: text.to_owned(),
            place: Place::default(),
        };
        let handlers: Vec<_> = runtimes(&settings)
            .iter()
            .map(|runtime| runtime.handler)
            .collect();
        assert_eq!(handlers, ["runc", "nvidia-container-runtime", "kata.fc"]);
        assert_eq!(
            default_runtime(&settings).map(|(name, place)| (name, place.line)),
            Some(("${RUNTIME}", 2))
        );
    }
}
