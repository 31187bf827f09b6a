//! The value of `--trace`: which workload is run.

use std::fmt;
use std::path::PathBuf;

/// Which workload is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trace {
    /// A pod list of the published experiment, by name.
    Openb(String),
    /// A generated list with the mix of the published default list.
    OpenbLike,
    /// A file in Berth's own format.
    Native(PathBuf),
    /// A generated site, by the name of its preset.
    Site(String),
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Openb(name) => write!(f, "openb:{name}"),
            Self::OpenbLike => f.write_str("openb-like"),
            Self::Native(path) => write!(f, "native:{}", path.display()),
            Self::Site(preset) => write!(f, "site:{preset}"),
        }
    }
}

/// Reads `KIND` or `KIND:NAME`.
pub(super) fn parse(text: &str) -> Result<Trace, String> {
    let (kind, name) = match text.split_once(':') {
        Some((kind, name)) => (kind, Some(name)),
        None => (text, None),
    };
    match (kind, name) {
        ("openb", Some(name)) if is_list_name(name) => Ok(Trace::Openb(name.to_owned())),
        ("openb", _) => Err("name the pod list, such as openb:default".to_owned()),
        ("openb-like", None) => Ok(Trace::OpenbLike),
        ("openb-like", Some(_)) => Err("openb-like takes no name".to_owned()),
        ("native", Some(path)) if !path.is_empty() => Ok(Trace::Native(path.into())),
        ("native", _) => Err("name the file, such as native:work.csv".to_owned()),
        ("site", Some(preset)) if !preset.is_empty() => Ok(Trace::Site(preset.to_owned())),
        ("site", _) => Err("name the preset, such as site:small".to_owned()),
        _ => Err("give openb:NAME, openb-like, native:FILE or site:PRESET".to_owned()),
    }
}

/// A name becomes a part of a file's name, so it must not lead anywhere else.
fn is_list_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read() {
        let check = |text: &str, expected| assert_eq!(parse(text), Ok(expected));
        check("openb:default", Trace::Openb("default".to_owned()));
        check("openb-like", Trace::OpenbLike);
        check("native:a/b:c.csv", Trace::Native("a/b:c.csv".into()));
        check("site:site-1000", Trace::Site("site-1000".to_owned()));
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for wrong in [
            "",
            "openb",
            "openb:",
            "openb:../x",
            "native:",
            "site:",
            "philly:x",
            "default",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
