//! Rules of a merge: spent ids, roles, and the rows that it refuses.

use serde_json::{Value, json};
use strum::IntoEnumIterator as _;

use super::{import, merged, shop};
use crate::domain::directory::id_blocks::{BLOCK, Block, IdKind};
use crate::domain::directory::roles::ProRole;
use crate::domain::records::ids::{GroupId, ProId};

fn group(id: u64) -> GroupId {
    GroupId::new(id).expect("an id")
}

#[test]
fn ids_that_a_replaced_group_has_spent_are_not_assigned_again() {
    let existing = import(&shop()).expect("legal");
    let spent = |content: &super::StoreContent| {
        IdKind::iter().map(|kind| content.group_states[0].highest_id(kind)).collect::<Vec<_>>()
    };
    let before = spent(&existing);
    assert!(before.iter().all(|highest| *highest > 0), "{before:?}");
    let older = json!({"groups": [{"id": 4, "name": "Older", "timezone": "Paris"}]});
    let merged = merged(existing, &older).expect("its own id");
    assert_eq!(spent(&merged), before);
}

#[test]
fn rows_without_an_id_take_none_of_a_block_that_was_granted() {
    let mut existing = import(&shop()).expect("legal");
    for kind in [IdKind::Fiche, IdKind::Calendar] {
        existing.directory.blocks.insert(kind, 2, Block::Granted(group(4)));
    }
    let document = json!({"groups": [{"name": "Other", "timezone": "Paris",
        "fiches": [{"lastname": "A"}], "calendars": [{"name": "C"}]}]});
    let merged = merged(existing, &document).expect("free ids");
    let other = &merged.group_states[2];
    for kind in [IdKind::Fiche, IdKind::Calendar] {
        assert_eq!(other.highest_id(kind), 3 * BLOCK, "{kind:?}");
    }
}

#[test]
fn a_used_id_is_reported_if_no_other_list_has_one() {
    let document = |fiche: u64, vevent: u64| {
        json!({"groups": [{"id": 900, "name": "New", "timezone": "Paris",
            "calendars": [{"id": 901, "name": "C"}],
            "fiches": [{"id": fiche, "lastname": "A"}],
            "vevents": [{"id": vevent, "calendar_id": 901, "start": "2025-06-12 10:00:00",
                "end": "2025-06-12 11:00:00"}]}]})
    };
    for (fiche, vevent, path) in
        [(7, 906, "groups[0].fiches[0].id"), (906, 90, "groups[0].vevents[0].id")]
    {
        let existing = import(&shop()).expect("legal");
        let faults = merged(existing, &document(fiche, vevent)).expect_err("an id is taken");
        let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
        assert_eq!(paths, [path]);
    }
}

#[test]
fn a_merge_replaces_the_roles_of_its_groups_and_leaves_all_others() {
    let mut document = shop();
    let bob = json!({"id": 5, "email": "bob@example.org", "password": "b", "role": "reception"});
    for place in [0, 1] {
        let pros = document["groups"][place]["pros"].as_array_mut().expect("a list");
        pros.push(bob.clone());
    }
    let existing = import(&document).expect("legal");
    let pro = |email: &str, role: Value| json!({"email": email, "password": "demo", "role": role});
    let arriving = json!({"groups": [{"id": 4, "name": "New", "timezone": "Paris", "pros": [
        pro("anna@example.org", "reception".into()),
        pro("bob@example.org", "administrator".into()),
    ]}]});
    let roles = merged(existing, &arriving).expect("its own id").directory.roles;
    let role = |id: u64, pro: u64| roles.role_of(group(id), ProId::new(pro).expect("an id"));
    let (anna, bob) = (3, 5);
    assert_eq!([role(4, anna), role(4, bob)], [&ProRole::Reception, &ProRole::Administrator]);
    assert_eq!([role(5, anna), role(5, bob)], [&ProRole::Administrator, &ProRole::Reception]);
    assert_eq!(roles.iter().count(), 2, "a role belongs to someone who is there");
}
