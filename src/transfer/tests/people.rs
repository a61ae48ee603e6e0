//! Keys, professionals and accounts through an export and an import.

use serde_json::{Value, json};

use super::{assert_same, changed, exported, hash, import, now, shop};
use crate::domain::directory::apikeys::{Apikey, ApikeyHolder};
use crate::domain::directory::roles::ProRole;
use crate::domain::records::ids::{FicheId, GroupId, ProId};
use crate::transfer::import::read_document;
use crate::transfer::{ImportFault, StoreContent};

/// Reads a document with one key, and returns what it says of the key.
fn import_key(key: &Value) -> Result<Apikey, Vec<ImportFault>> {
    let group = json!({"id": 4, "name": "G", "timezone": "Paris"});
    let content = import(&json!({"apikeys": [key], "groups": [group]}))?;
    let (_, apikey) = content.directory.apikeys.iter().next().expect("a key");
    Ok(apikey.clone())
}

fn assert_survives_an_export(content: &StoreContent) {
    let again = read_document(exported(content).as_bytes(), now(), &hash);
    assert_same(content, &again.expect("an export is legal"));
}

#[test]
fn a_key_keeps_its_label_over_an_export() {
    let content = import(&shop()).expect("legal");
    let labels = |content: &StoreContent| {
        let keys = content.directory.apikeys.iter();
        let mut labels: Vec<String> = keys.map(|(_, key)| key.label.as_str().into()).collect();
        labels.sort();
        labels
    };
    assert_eq!(labels(&content), ["", "site"]);
    assert_survives_an_export(&content);
    let faults = import_key(&json!({"key": "k", "label": "x".repeat(256)}));
    assert_eq!(faults.expect_err("too long")[0].path, "apikeys[0].label");
}

#[test]
fn the_marks_of_a_key_say_who_holds_it() {
    for (key, holder) in [
        (json!({"key": "k"}), ApikeyHolder::Public),
        (json!({"key": "k", "server": true}), ApikeyHolder::Server),
        (json!({"key": "k", "server": true, "groups": [4]}), ApikeyHolder::Server),
        (json!({"key": "k", "operator": false, "groups": [4]}), ApikeyHolder::Public),
        (json!({"key": "k", "operator": true}), ApikeyHolder::Operator),
        (json!({"key": "k", "operator": true, "server": true}), ApikeyHolder::Operator),
    ] {
        assert_eq!(import_key(&key).expect("legal").holder, holder, "{key}");
    }
    let of_some = json!({"key": "k", "operator": true, "groups": [4]});
    let faults = import_key(&of_some).expect_err("an operator's key covers all groups");
    assert_eq!(faults[0].path, "apikeys[0].operator");
    assert_survives_an_export(
        &import(&json!({"apikeys": [{"key": "k", "operator": true}], "groups": []}))
            .expect("legal"),
    );
}

#[test]
fn a_new_key_needs_the_contact_and_one_of_an_earlier_export_does_not() {
    let digits = "ab".repeat(32);
    for (key, needs_contact) in [
        (json!({"key": "secret"}), true),
        (json!({"key": "secret", "needs_contact": false}), false),
        (json!({"key_sha256": digits}), false),
        (json!({"key": null, "key_sha256": digits}), false),
        (json!({"key_sha256": digits, "needs_contact": true}), true),
    ] {
        assert_eq!(import_key(&key).expect("legal").needs_contact, needs_contact, "{key}");
    }
}

#[test]
fn a_password_as_sha1_is_forty_hexadecimal_digits() {
    let stored = hash("0123456789abcdef0123456789abcdef01234567");
    for wrong in [
        "0123456789abcdef0123456789abcdef0123456",
        "0123456789abcdef0123456789abcdef012345678",
        "0123456789abcdef0123456789abcdef0123456g",
        stored.as_str(),
    ] {
        let mut document = shop();
        document["groups"][0]["accounts"][0]["password_sha1"] = wrong.into();
        let faults = import(&document).expect_err(wrong);
        assert_eq!(
            faults[0].to_string(),
            "groups[0].accounts[0].password_sha1: must be 40 hexadecimal digits"
        );
    }
    let mut document = shop();
    let account = &mut document["groups"][0]["accounts"][0];
    account["password_sha1"] = "0123456789ABCDEF0123456789abcdef01234567".into();
    let content = import(&document).expect("legal");
    let account = content.group_states[0].accounts.values().next().expect("an account");
    assert_eq!(account.password_hash, stored);
}

#[test]
fn an_account_keeps_its_former_clients_over_an_export() {
    let mut document = shop();
    document["groups"][0]["accounts"][0]["former_fiche_ids"] = json!([9, 8]);
    let content = import(&document).expect("legal");
    let account = content.group_states[0].accounts.values().next().expect("an account");
    let former: Vec<u64> = account.former.iter().map(|id| FicheId::number(*id)).collect();
    assert_eq!(former, [9, 8]);
    assert_survives_an_export(&content);
    for wrong in [json!([8, 99]), json!(["x"]), json!([0]), json!(8)] {
        let paths = changed(|document| {
            document["groups"][0]["accounts"][0]["former_fiche_ids"] = wrong.clone();
        });
        assert_eq!(paths, ["groups[0].accounts[0].former_fiche_ids"], "{wrong}");
    }
}

#[test]
fn the_roles_of_a_group_survive_an_export() {
    let mut document = shop();
    let pros = document["groups"][0]["pros"].as_array_mut().expect("a list");
    for (id, role) in [
        (4, json!({"role": "reception"})),
        (5, json!({"role": "professional", "calendar_ids": ",1,2,", "reads_all": true})),
        (6, json!({"role": "professional", "calendar_ids": "", "reads_all": false})),
    ] {
        let mut pro = json!({"id": id, "email": format!("p{id}@example.org"), "password": "x"});
        let fields = role.as_object().expect("an object").clone();
        pro.as_object_mut().expect("an object").extend(fields);
        pros.push(pro);
    }
    let content = import(&document).expect("legal");
    let group = GroupId::new(4).expect("an id");
    let roles = &content.directory.roles;
    let names = [3, 4, 5, 6].map(|id| roles.role_of(group, ProId::new(id).expect("an id")).name());
    assert_eq!(names, ["administrator", "reception", "professional", "professional"]);
    let fifth = roles.role_of(group, ProId::new(5).expect("an id"));
    let ProRole::Professional(own) = fifth else { panic!("{fifth:?} has no calendars") };
    assert_eq!((own.calendars.len(), own.reads_all), (2, true));
    assert_survives_an_export(&content);
    assert!(
        !exported(&content).contains("\"role\":\"administrator\""),
        "an administrator is exported as before there were roles"
    );
}
