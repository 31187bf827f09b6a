//! Bounds, and the own policy beside FGD, on a tiny cluster.

use serde_json::Value;

use crate::support::{berth, berth_on, small_openb};

fn rows(json: &Value) -> Vec<Value> {
    json["rows"].as_array().unwrap().clone()
}

#[test]
fn no_policy_exceeds_the_bound() {
    let arguments = "simulate bound --trace openb:tiny --until 60,100,130 --seeds 7..8 \
                     --policy all --output json";
    let ended = berth_on(&small_openb(), arguments.split_whitespace());
    assert_eq!(ended.code, 0, "{}", ended.err);
    let rows = rows(&ended.json());
    assert_eq!(rows.len(), 3);
    let mut last = 0.0;
    for row in rows {
        let bound = row["bound"].as_f64().unwrap();
        assert!((last..=100.0).contains(&bound), "{row}");
        last = bound;
        assert_eq!(row["certificate"]["ending"], "converged");
        let policies = row["policies"].as_array().unwrap();
        assert!(policies.len() > 5, "{row}");
        for policy in policies {
            let allocation = policy["allocation"].as_f64().unwrap();
            // The measure rounds each event to hundredths, as published.
            assert!(allocation <= bound + 0.005, "{row}");
            let gap = policy["gap"].as_f64().unwrap();
            assert!((bound - allocation - gap).abs() < 1e-9, "{row}");
        }
    }
}

#[test]
fn bounds_are_for_lists_of_the_published_experiment() {
    let ended = berth(["simulate", "bound", "--trace", "site:small"]);
    assert_eq!(ended.code, 2);
    assert!(ended.err.contains("--trace openb:default"), "{}", ended.err);
}

#[test]
fn the_own_policy_stands_beside_fgd_and_shards_add_up() {
    let suite = |more: &str| {
        let line = format!("simulate suite quality --seeds 7..8 --output json {more}");
        let ended = berth_on(&small_openb(), line.split_whitespace());
        assert_eq!(ended.code, 0, "{}", ended.err);
        rows(&ended.json())
    };
    let whole = suite("--traces tiny,tiny");
    let key = |row: &Value| format!("{} {} {}", row["trace"], row["percent"], row["policy"]);
    let keys: Vec<String> = whole.iter().map(key).collect();
    assert_eq!(
        keys[..2],
        ["\"tiny\" 100 \"fgd\"", "\"tiny\" 100 \"berth\""]
    );
    for row in &whole {
        let figure = |name: &str| row[name].as_f64().unwrap();
        assert!(figure("mean") <= figure("bound") + 0.005, "{row}");
        assert!(
            figure("min") <= figure("mean") && figure("sd") >= 0.0,
            "{row}"
        );
        assert!((1.0..=200.0).contains(&figure("pods_placed")), "{row}");
    }
    let mut parts = suite("--traces tiny --shard 1/2");
    parts.extend(suite("--traces tiny --shard 2/2"));
    assert_eq!(parts, whole);
}

#[test]
fn flags_of_another_suite_are_refused() {
    for line in [
        "suite fgd --shard 1/2",
        "suite fgd --traces default",
        "suite quality --curves",
    ] {
        let ended = berth(["simulate"].into_iter().chain(line.split(' ')));
        assert_eq!(ended.code, 2, "{line}: {}", ended.err);
        assert!(ended.err.contains("belongs to `suite"), "{}", ended.err);
    }
}
