//! The history of a document tells the same as its events.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The fields that rows tell with values, and that events of a document have.
const COMPARED: [&str; 6] =
    ["calendar_id", "start", "intervention_id", "fiche_id", "state", "deleted"];

/// Checks that the rows of each group, from the first on, give the events of the group.
pub(crate) fn assert_told(document: &Value) {
    for group in document["groups"].as_array().expect("a list") {
        let mut rows: Vec<&Value> = group["history"].as_array().expect("a list").iter().collect();
        rows.sort_by_key(|row| row["id"].as_u64());
        let ids: Vec<u64> = rows.iter().filter_map(|row| row["id"].as_u64()).collect();
        assert!(ids.windows(2).all(|pair| pair[0] + 1 == pair[1]), "no row is missing");
        let mut told: BTreeMap<u64, Map<String, Value>> = BTreeMap::new();
        for row in rows {
            let object = row["object"].as_str().expect("an object");
            let Some(id) = object.strip_prefix("vevent:") else { continue };
            let id = id.parse().expect("an id");
            if row["verb"] == "removed" {
                told.remove(&id);
                continue;
            }
            let event = told.entry(id).or_default();
            for change in row["fields"].as_array().expect("a list") {
                let name = change["field"].as_str().expect("a name");
                if COMPARED.contains(&name) {
                    event.insert(name.to_owned(), change["after"].clone());
                }
            }
        }
        let events = group["vevents"].as_array().expect("a list");
        for event in events.iter().filter(|event| event["intervention_id"].is_u64()) {
            let id = event["id"].as_u64().expect("an id");
            let told = told.get(&id).unwrap_or_else(|| panic!("{id} has no rows: {event}"));
            for name in COMPARED {
                let unset = match name {
                    "state" => json!(0),
                    "deleted" => json!(false),
                    _ => Value::Null,
                };
                let value = |object: &Map<String, Value>| {
                    object.get(name).cloned().unwrap_or_else(|| unset.clone())
                };
                let seen = value(event.as_object().expect("an object"));
                assert_eq!(value(told), seen, "{name} of {id}: {told:?}");
            }
        }
    }
}
