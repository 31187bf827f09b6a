//! Labels and label selectors.

use std::collections::BTreeMap;

use berth_core::filter::facts::Text;
use berth_core::filter::facts::label::{Labels, Requirement, Selector, Test};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use super::{LowerError, text, texts, unknown};

/// Longest part of a key, and longest value.
const NAME_MAX: usize = 63;
/// Longest prefix of a key.
const PREFIX_MAX: usize = 253;

/// The labels of an object.
pub(super) fn labels(from: Option<&BTreeMap<String, String>>) -> Labels {
    let pairs = from.into_iter().flatten();
    Labels::new(pairs.map(|(key, value)| (text(key), text(value))))
}

/// A selector; an absent one matches nothing.
pub(super) fn selector(path: &str, from: Option<&LabelSelector>) -> Result<Selector, LowerError> {
    let Some(LabelSelector {
        match_expressions,
        match_labels,
    }) = from
    else {
        return Ok(Selector::Nothing);
    };
    let mut requirements = Vec::new();
    for (key, value) in match_labels.iter().flatten() {
        if !is_value(value) {
            return Err(refuse(path, "such a value"));
        }
        requirements.push(Requirement::equals(valid_key(path, key)?, text(value)));
    }
    for expression in match_expressions.iter().flatten() {
        requirements.push(requirement(path, expression)?);
    }
    Ok(Selector::All(requirements.into_boxed_slice()))
}

fn requirement(path: &str, from: &LabelSelectorRequirement) -> Result<Requirement, LowerError> {
    let LabelSelectorRequirement {
        key,
        operator,
        values,
    } = from;
    let key = valid_key(path, key)?;
    let values = texts(values.as_ref());
    let test = match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => return Err(refuse(path, "no values here")),
        "Exists" | "DoesNotExist" if !values.is_empty() => return Err(refuse(path, "values here")),
        "In" => Test::In(values),
        "NotIn" => Test::NotIn(values),
        "Exists" => Test::Exists,
        "DoesNotExist" => Test::DoesNotExist,
        other => return Err(unknown(path, other, "In, NotIn, Exists or DoesNotExist")),
    };
    let values = match &test {
        Test::In(values) | Test::NotIn(values) => &**values,
        Test::Exists | Test::DoesNotExist | Test::GreaterThan(_) | Test::LessThan(_) => &[],
    };
    if values.iter().all(|value| is_value(value)) {
        Ok(Requirement { key, test })
    } else {
        Err(refuse(path, "such a value"))
    }
}

fn valid_key(path: &str, key: &str) -> Result<Text, LowerError> {
    if is_qualified_name(key) {
        Ok(text(key))
    } else {
        Err(refuse(path, "such a key"))
    }
}

fn refuse(path: &str, why: &'static str) -> LowerError {
    LowerError::Selector {
        path: path.into(),
        why,
    }
}

/// Whether `name` may be a label's key or a resource's name: a name, after a DNS name and a slash or
/// alone.
pub(super) fn is_qualified_name(name: &str) -> bool {
    match name.split_once('/') {
        None => is_name(name),
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
    }
}

/// Whether `value` may be a label's value.
pub(super) fn is_value(value: &str) -> bool {
    value.is_empty() || is_name(value)
}

fn is_name(name: &str) -> bool {
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.len() <= NAME_MAX
        && ends(name.bytes().next())
        && ends(name.bytes().next_back())
        && name.bytes().all(inside)
}

fn is_subdomain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| {
        label.bytes().all(|byte| plain(byte) || byte == b'-')
            && label.bytes().next().is_some_and(plain)
            && label.bytes().next_back().is_some_and(plain)
    };
    name.len() <= PREFIX_MAX && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_api_server_lets_in() {
        for name in ["a", "a.b/c", "kubernetes.io/os", "A_b-c.d", "x/9"] {
            assert!(is_qualified_name(name), "{name}");
        }
        for name in [
            "",
            "/a",
            "a/",
            "A/b",
            "a/b/c",
            "-a",
            "a-",
            "a b",
            "a..b/c",
            &"a".repeat(64),
        ] {
            assert!(!is_qualified_name(name), "{name}");
        }
        assert!(is_value("") && is_value("a") && !is_value("a/b"));
    }
}
