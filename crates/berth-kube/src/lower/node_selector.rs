//! Node selectors: terms that can't be parsed match no node, as in kube-scheduler.

use berth_core::filter::facts::Text;
use berth_core::filter::facts::label::{Requirement, Test};
use berth_core::filter::facts::node_selector::{NameTest, NodeSelector, NodeTerm, TermTests};
use k8s_openapi::api::core::v1 as api;

use super::label::{is_qualified_name, is_value};
use super::{list, text, texts};

/// The one field of a node that can be selected by.
const NAME_FIELD: &str = "metadata.name";

/// A selector of nodes.
pub(super) fn node_selector(from: &api::NodeSelector) -> NodeSelector {
    let api::NodeSelector {
        node_selector_terms,
    } = from;
    NodeSelector {
        terms: node_selector_terms.iter().map(term).collect(),
    }
}

fn term(from: &api::NodeSelectorTerm) -> NodeTerm {
    let api::NodeSelectorTerm {
        match_expressions,
        match_fields,
    } = from;
    let (expressions, fields) = (
        list(match_expressions.as_ref()),
        list(match_fields.as_ref()),
    );
    let is_empty = expressions.is_empty() && fields.is_empty();
    NodeTerm {
        tests: if is_empty {
            None
        } else {
            tests(expressions, fields)
        },
        named: names(fields),
    }
}

fn tests(
    expressions: &[api::NodeSelectorRequirement],
    fields: &[api::NodeSelectorRequirement],
) -> Option<TermTests> {
    let labels: Option<Box<[Requirement]>> = expressions.iter().map(requirement).collect();
    let mut names = Vec::new();
    for field in fields {
        names.extend(name_test(field)?);
    }
    Some(TermTests {
        labels: labels?,
        names: names.into_boxed_slice(),
    })
}

/// A test of a label; `None` where it can't be parsed.
fn requirement(from: &api::NodeSelectorRequirement) -> Option<Requirement> {
    let api::NodeSelectorRequirement {
        key,
        operator,
        values,
    } = from;
    let all = texts(values.as_ref());
    let test = match operator.as_str() {
        "In" if !all.is_empty() => Test::In(all),
        "NotIn" if !all.is_empty() => Test::NotIn(all),
        "Exists" if all.is_empty() => Test::Exists,
        "DoesNotExist" if all.is_empty() => Test::DoesNotExist,
        "Gt" if all.len() == 1 => Test::GreaterThan(all[0].parse().ok()?),
        "Lt" if all.len() == 1 => Test::LessThan(all[0].parse().ok()?),
        _ => return None,
    };
    let is_valid = is_qualified_name(key) && values.iter().flatten().all(|value| is_value(value));
    is_valid.then(|| Requirement {
        key: text(key),
        test,
    })
}

/// A test of the name, or `Some(None)` for one of another field that holds, since other fields are
/// empty; `None` where it can't be parsed or never holds.
fn name_test(from: &api::NodeSelectorRequirement) -> Option<Option<NameTest>> {
    let [value] = list(from.values.as_ref()) else {
        return None;
    };
    let is_name = from.key == NAME_FIELD;
    match from.operator.as_str() {
        "In" if is_name => Some(Some(NameTest::Is(text(value)))),
        "NotIn" if is_name => Some(Some(NameTest::IsNot(text(value)))),
        "In" => value.is_empty().then_some(None),
        "NotIn" => (!value.is_empty()).then_some(None),
        _ => None,
    }
}

/// The names that are left over by every `In` test on the name.
fn names(fields: &[api::NodeSelectorRequirement]) -> Option<Box<[Text]>> {
    let tests = fields
        .iter()
        .filter(|field| field.key == NAME_FIELD && field.operator == "In");
    let mut left: Option<Vec<Text>> = None;
    for test in tests {
        let values = texts(test.values.as_ref());
        left = Some(match left {
            None => values.into_vec(),
            Some(mut before) => {
                before.retain(|name| values.contains(name));
                before
            }
        });
    }
    left.map(Vec::into_boxed_slice)
}
