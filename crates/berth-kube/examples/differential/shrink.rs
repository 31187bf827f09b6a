//! Makes a case on which two sides disagree as small as it gets, by leaving parts out.

use serde_json::Value;

use crate::oracle::Oracle;
use crate::question;

/// Questions that one case may cost.
const STEPS_MAX: usize = 600;

/// The smallest case found on which both sides have an answer and disagree.
pub(crate) fn shrink(oracle: &mut Oracle, case: Value) -> Result<Value, String> {
    let (mut best, mut steps) = (case, 0);
    if !differs(oracle, &best)? {
        return Ok(best);
    }
    loop {
        let before = best.to_string().len();
        for path in paths(&best) {
            let mut smaller = best.clone();
            if !cut(&mut smaller, &path) {
                continue;
            }
            steps += 1;
            if steps > STEPS_MAX {
                return Ok(best);
            }
            if differs(oracle, &smaller)? {
                best = smaller;
            }
        }
        if best.to_string().len() == before {
            return Ok(best);
        }
    }
}

fn differs(oracle: &mut Oracle, case: &Value) -> Result<bool, String> {
    let (Ok(ours), Ok(theirs)) = (question::ours(case), oracle.ask(case)?) else {
        return Ok(false);
    };
    Ok(ours != theirs)
}

/// The parts of a value, large ones first, later ones first, so that paths stay valid.
fn paths(value: &Value) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    collect(value, &mut Vec::new(), &mut found);
    found.sort_by_key(Vec::len);
    found.reverse();
    found.sort_by_key(Vec::len);
    found
}

fn collect(value: &Value, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    let mut visit = |key: String, inner: &Value| {
        path.push(key);
        found.push(path.clone());
        collect(inner, path, found);
        path.pop();
    };
    match value {
        Value::Object(map) => map
            .iter()
            .for_each(|(key, inner)| visit(key.clone(), inner)),
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(index, inner)| visit(index.to_string(), inner));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Keys without which an object is another one, or is given what the other side makes up.
const KEPT: [&str; 6] = ["metadata", "name", "namespace", "uid", "phase", "spec"];

/// Leaves one part out; false if it is not there any more.
fn cut(value: &mut Value, path: &[String]) -> bool {
    let [key, rest @ ..] = path else {
        return false;
    };
    match value {
        Value::Object(_) if rest.is_empty() && KEPT.contains(&key.as_str()) => false,
        Value::Object(map) if rest.is_empty() => map.remove(key).is_some(),
        Value::Object(map) => map.get_mut(key).is_some_and(|inner| cut(inner, rest)),
        Value::Array(list) => {
            let index: usize = key.parse().unwrap_or(usize::MAX);
            if index >= list.len() {
                return false;
            }
            if rest.is_empty() {
                list.remove(index);
                return true;
            }
            cut(&mut list[index], rest)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
