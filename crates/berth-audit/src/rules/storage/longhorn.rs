//! Longhorn's settings and what several rules ask of its objects.

use crate::dump::kind::longhorn::{Replica, Setting};
use crate::rule::prelude::*;

/// The setting `name`, in whatever namespace Longhorn is installed.
pub(super) fn setting<'a>(cx: &Cx<'a>, name: &str) -> Option<&'a Setting> {
    let mut settings = cx.dump.objects.longhorn_settings.iter();
    settings.find(|setting| setting.meta().name == name)
}

/// A setting as a whole number; newer releases write one value an engine: `{"v1":"12","v2":"1250"}`.
pub(super) fn number(setting: &Setting) -> Option<i64> {
    let text = setting.value.trim();
    let v1 = text.split("\"v1\"").nth(1).map(|rest| {
        let rest = rest.trim_start_matches([':', ' ', '"']);
        rest.split(['"', ',', '}']).next().unwrap_or_default()
    });
    v1.unwrap_or(text).trim().parse().ok()
}

/// Replicas of a volume that hold its data.
pub(super) fn healthy<'a>(
    cx: &Cx<'a>,
    namespace: &'a str,
    volume: &'a str,
) -> impl Iterator<Item = &'a Replica> {
    let replicas = cx.dump.objects.longhorn_replicas.iter();
    replicas.filter(move |replica| {
        replica.meta().namespace == namespace
            && replica.spec.volume_name == volume
            && !replica.spec.healthy_at.is_empty()
            && replica.spec.failed_at.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_in_both_forms() {
        let of = |value: &str| {
            number(&Setting {
                value: value.into(),
                ..Setting::default()
            })
        };
        assert_eq!(of("12"), Some(12));
        assert_eq!(of("{\"v1\":\"12\",\"v2\":\"1250\"}"), Some(12));
        assert_eq!(of("{ \"v2\": \"1250\", \"v1\": \"5\" }"), Some(5));
        assert_eq!(of(""), None);
    }
}
