//! The contact that a group needs of those who book by themselves, by keys of now and of before.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use slotbook::domain::records::group::ContactNeeded;
use slotbook::domain::state::group_state::GroupState;
use slotbook::engine::admission::AdmissionLimits;

use crate::server::{TestServer, answer};
use crate::shop::{self, CLEO, CUT, KEY, OWN_FICHE};

const BOOKINGS: &str = "/groups/4/appointments";

/// The shop with a setting, where the key of group 4 was made since there is such a setting, or
/// before.
async fn shop_needing(needed: ContactNeeded, is_key_new: bool) -> TestServer {
    let mut four: GroupState =
        shop::group_four(|catalogue| catalogue.group.contact_needed = needed);
    shop::open_account(&mut four, OWN_FICHE, CLEO.0);
    let mut directory = shop::directory();
    let hash: [u8; 32] = Sha256::digest(KEY).into();
    let mut apikey = directory.apikeys.get(&hash).expect("the key of group 4").clone();
    apikey.needs_contact = is_key_new;
    directory.apikeys.insert(hash, apikey);
    let limits = AdmissionLimits::default();
    TestServer::begin(limits, directory, vec![four, shop::group_five()], |server| server).await
}

/// A booking of a client with these fields, at a time by its number.
fn booking(number: usize, fields: Value) -> Value {
    let mut fiche = json!({"lastname": "Durand"});
    let fiche_fields = fiche.as_object_mut().expect("an object");
    fiche_fields.extend(fields.as_object().expect("an object").clone());
    let (day, half) = (3 + number / 6, number % 6);
    let date = format!("2025-06-{day:02} {:02}:{}0:00", 9 + half / 2, half % 2 * 3);
    json!({"appointment": {"date": date, "intervention_ids": [CUT], "fiche": fiche}})
}

#[tokio::test]
async fn a_booking_without_the_needed_contact_is_refused_by_field_and_rule() {
    let email = || json!({"email": "zoe@example.org"});
    let phone = || json!({"firstphone": "06 39 98 00 01"});
    let second = || json!({"secondphone": "06 39 98 00 01"});
    let none = || json!({"firstphone": "by bell", "email": ""});
    let cases = [
        (ContactNeeded::None, vec![(none(), None)]),
        (
            ContactNeeded::Email,
            vec![
                (email(), None),
                (phone(), Some(("fiche.email", "by e-mail"))),
                (none(), Some(("fiche.email", "by e-mail"))),
            ],
        ),
        (
            ContactNeeded::Phone,
            vec![
                (phone(), None),
                (second(), None),
                (email(), Some(("fiche.firstphone", "telephone number"))),
                (none(), Some(("fiche.firstphone", "telephone number"))),
            ],
        ),
        (
            ContactNeeded::Either,
            vec![
                (email(), None),
                (phone(), None),
                (second(), None),
                (none(), Some(("fiche.email", "or firstphone"))),
            ],
        ),
    ];
    for (needed, given) in cases {
        let server = shop_needing(needed, true).await;
        for (number, (fields, refused)) in given.into_iter().enumerate() {
            let booked = server.by_key(Method::POST, BOOKINGS).json(&booking(number, fields));
            let booked = answer(booked).await;
            let Some((field, rule)) = refused else {
                booked.is(201);
                continue;
            };
            booked.refused(400, 2, Some(field));
            let message = booked.json()["errors"][0]["message"].to_string();
            assert!(message.contains(rule) && message.contains("contact_needed"), "{message}");
        }
    }
}

#[tokio::test]
async fn a_key_of_before_an_account_and_a_professional_are_not_bound() {
    let before = shop_needing(ContactNeeded::Either, false).await;
    let bare = json!({});
    answer(before.by_key(Method::POST, BOOKINGS).json(&booking(0, bare.clone()))).await.is(201);
    let server = shop_needing(ContactNeeded::Phone, true).await;
    let refused = server.by_key(Method::POST, BOOKINGS).json(&booking(0, bare.clone()));
    assert_eq!(answer(refused).await.status, 400);
    // Cleo has no telephone number.
    let own = json!({"appointment": {"date": "2025-06-03 09:00:00", "intervention_ids": [CUT]}});
    answer(server.by(CLEO, Method::POST, BOOKINGS).json(&own)).await.is(201);
    answer(server.by_pro(Method::POST, BOOKINGS).json(&booking(3, bare))).await.is(201);
}
