//! Space on disk and in memory that strangers take.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::directory::confirmation_code::ConfirmationCode;
use slotbook::domain::directory::link_secret::LinkSecret;
use slotbook::domain::records::hold::HoldToken;
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::state::space_quota::KEY_ALONE_PERCENT;
use slotbook::domain::time::DAY;
use slotbook::notify::Gateways;
use slotbook::notify::links::unsubscribe_url;

use crate::fixture::{ANNA, Practice, Visitor, answer};
use crate::mailbox::Mailbox;
use crate::moves::Held;

/// A client with an account.
const LOUISE: (&str, &str) = ("louise.thomas@example.org", "demo-password");
const APPOINTMENTS: &str = "/groups/1/appointments";

#[tokio::test]
async fn the_texts_of_a_booking_have_2_000_characters_together() {
    let practice = Practice::open().await;
    let (start, calendar) = practice.free_starts().await.pop_front().expect("a free start");
    let stranger = practice.visitor("127.0.0.2");
    let book = async |comments: usize, motive: usize, insurance: usize| {
        let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
            "intervention_ids": [1], "comments": "é".repeat(comments), "str0": "x".repeat(motive),
            "fiche": {"lastname": "X", "str0": "x".repeat(insurance)}}});
        answer(stranger.request(Method::POST, APPOINTMENTS).json(&wish)).await
    };
    for (comments, motive, insurance, field) in
        [(2_001, 0, 0, "comments"), (1_999, 1, 1, "comments"), (65_000, 255, 255, "comments")]
    {
        let refused = book(comments, motive, insurance).await;
        refused.refused(400, 2);
        let entry: Value = refused.json()["errors"][0].clone();
        let message = entry["message"].as_str().expect("a text");
        assert!(entry["field"] == field && message.contains("2000 characters"), "{entry}");
    }
    book(1_490, 255, 255).await.is(201);
}

/// A practice whose space an application may fill by about `kib` KiB.
async fn narrow(kib: u64) -> Practice {
    let mut bytes_max = 0;
    let practice = Practice::with(
        |_| {},
        |server| {
            let group = GroupId::new(1).expect("an id");
            let used = server.space_bytes(group);
            bytes_max = (used + (kib << 10)) * 100 / KEY_ALONE_PERCENT;
            server.with_group_bytes_max(Some(bytes_max))
        },
    )
    .await;
    assert!(bytes_max > 0);
    practice
}

#[tokio::test]
async fn a_full_group_takes_entries_of_professionals_only() {
    let practice = narrow(8).await;
    // Starts on one calendar may overlap; a few hours later they do not.
    let mut starts = practice.free_starts().await.into_iter().step_by(20);
    let mut book = async |stranger: &Visitor, login: Option<(&str, &str)>| {
        let (start, calendar) = starts.next().expect("a free start");
        let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
            "intervention_ids": [1], "comments": "x".repeat(2_000), "fiche": {"lastname": "X"}}});
        let request = stranger.request(Method::POST, APPOINTMENTS).json(&wish);
        answer(match login {
            Some((email, password)) => request.basic_auth(email, Some(password)),
            None => request,
        })
        .await
    };
    let mut taken = 0;
    let refused = loop {
        let stranger = practice.visitor(&format!("127.0.1.{taken}"));
        let answered = book(&stranger, None).await;
        if answered.status != 201 {
            break answered;
        }
        taken += 1;
        assert!(taken < 5, "8 KiB hold no more");
    };
    refused.refused(503, 4);
    assert_eq!((taken, &refused.headers["retry-after"]), (3, &"3600".parse().expect("a value")));
    let stranger = practice.visitor("127.0.0.2");
    let account = json!({"account": {"email": "zoe@example.org", "group_id": 1}});
    answer(stranger.request(Method::POST, "/accounts").json(&account)).await.refused(503, 4);
    assert!(stranger.get("/groups/1/calendars").await.status.is_success(), "reads go on");
    for login in [LOUISE, ANNA] {
        book(&stranger, Some(login)).await.is(201);
    }
}

#[tokio::test]
async fn a_group_over_its_quota_takes_cancellations_of_clients_and_entries_of_professionals() {
    let practice = Practice::with(
        |_| {},
        |server| {
            let used = server.space_bytes(GroupId::new(1).expect("an id"));
            server.with_group_bytes_max(Some(used))
        },
    )
    .await;
    let (start, calendar) = practice.free_starts().await.pop_back().expect("a free start");
    let visitor = practice.visitor("127.0.0.2");
    let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
        "intervention_ids": [1], "fiche": {"id": 1}}});
    let book = |(email, password): (&str, &str)| {
        let request = visitor.request(Method::POST, APPOINTMENTS).json(&wish);
        answer(request.basic_auth(email, Some(password)))
    };
    let used = practice.engine.largest_group_bytes();
    assert_eq!(
        practice.engine.find_nearly_full(used).await,
        [(GroupId::new(1).expect("an id"), used)]
    );
    assert_eq!(practice.engine.find_nearly_full(2 * used).await, []);
    book(LOUISE).await.refused(503, 4);
    let booked = book(ANNA).await.is(201)["records"][0].clone();
    let secret = booked["key"].as_str().expect("a key");
    let one = format!("{APPOINTMENTS}/{}?key={secret}", booked["id"]);
    answer(visitor.request(Method::DELETE, &one)).await.is(200);
}

#[tokio::test]
async fn a_booking_that_was_cancelled_leaves_no_text_after_30_days() {
    let practice = Practice::open().await;
    let (start, calendar) = practice.free_starts().await.pop_back().expect("a free start");
    let stranger = practice.visitor("127.0.0.2");
    let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
        "intervention_ids": [1], "comments": "x".repeat(1_000), "str0": "y",
        "fiche": {"lastname": "Quidam", "email": "zoe@example.org", "str0": "z"}}});
    let request = stranger.request(Method::POST, APPOINTMENTS).json(&wish);
    let booked = answer(request).await.is(201)["records"][0].clone();
    let secret = booked["key"].as_str().expect("a key");
    let one = format!("{APPOINTMENTS}/{}?key={secret}", booked["id"]);
    answer(stranger.request(Method::DELETE, &one)).await.is(200);
    let kept = async |path: &str| {
        let request = stranger.request(Method::GET, path).basic_auth(ANNA.0, Some(ANNA.1));
        answer(request).await.is(200)
    };
    let row = format!("/groups/1/vevents/{}", booked["id"]);
    let fiche = format!("/groups/1/fiches/{}", kept(&row).await["fiche_id"]);
    practice.pass(30 * DAY);
    practice.engine.empty_cancelled(30).await;
    assert_eq!(kept(&fiche).await["email"], "zoe@example.org", "not a second too early");
    practice.pass(1);
    assert!(practice.engine.empty_cancelled(30).await >= 1);
    let (appointment, client) = (kept(&row).await, kept(&fiche).await);
    assert_eq!(appointment["start"], booked["start"], "the row stays");
    let texts = [&appointment["comments"], &client["lastname"], &client["email"]];
    assert!(texts.iter().all(|text| **text == ""), "{texts:?}");
    assert_eq!((&appointment["str0"], &client["str0"]), (&Value::Null, &Value::Null));
    assert_eq!(stranger.get(&one).await.is(200)["comments"], "");
    assert_eq!(practice.engine.empty_cancelled(30).await, 0);
}

#[tokio::test]
async fn an_unsubscription_keeps_no_client_of_cancelled_bookings() {
    let secret = || LinkSecret::new([3; 32]);
    let gateways = Gateways { link_secret: Some(secret()), ..Gateways::unconfigured("") };
    let practice = Practice::with(|_| {}, |server| server.with_gateways(Arc::new(gateways))).await;
    let group = GroupId::new(1).expect("an id");
    let stranger = practice.visitor("127.0.0.2");
    let mut free = practice.hourly_starts().await;
    let mut clients = Vec::new();
    // The second is then changed by the shop, which cares for the record.
    for (email, is_changed) in [("first@example.org", false), ("second@example.org", true)] {
        let booked = stranger.book(&free.pop_back().expect("a start"), email).await.is(201);
        let booked = &booked["records"][0];
        practice.pass(10);
        let client = practice.state().fiche_of_email(email).expect("a client").clone();
        let link = unsubscribe_url("", &secret(), group, &client);
        let url = format!("http://{}{link}", practice.address());
        let done = reqwest::Client::new().post(url).send().await.expect("an answer");
        assert_eq!(done.status(), 200);
        let fiche = format!("/groups/1/fiches/{}", client.id);
        if is_changed {
            let change = json!({"fiche": {"comments": "calls back"}});
            let change = stranger.request(Method::PUT, &fiche).json(&change);
            answer(change.basic_auth(ANNA.0, Some(ANNA.1))).await.is(200);
        }
        let secret = booked["key"].as_str().expect("a key");
        let one = format!("{APPOINTMENTS}/{}?key={secret}", booked["id"]);
        answer(stranger.request(Method::DELETE, &one)).await.is(200);
        clients.push((fiche, if is_changed { email } else { "" }));
    }
    practice.pass(30 * DAY + 1);
    assert!(practice.engine.empty_cancelled(30).await >= 2);
    for (fiche, email) in clients {
        let kept = stranger.request(Method::GET, &fiche).basic_auth(ANNA.0, Some(ANNA.1));
        let kept = answer(kept).await.is(200);
        assert_eq!(kept["email"], email);
        assert_eq!(kept["rappel_email"], json!(false), "the unsubscription stays");
    }
}

/// Fills a practice by long entries of a professional.
async fn fill(practice: &Practice, starts: &[(String, u64)]) {
    let anna = practice.visitor("127.0.0.9");
    for (start, calendar) in starts {
        let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
            "intervention_ids": [1], "comments": "x".repeat(2_000), "fiche": {"id": 1}}});
        let request = anna.request(Method::POST, APPOINTMENTS).json(&wish);
        answer(request.basic_auth(ANNA.0, Some(ANNA.1))).await.is(201);
    }
}

#[tokio::test]
async fn a_full_group_takes_no_moves_of_strangers_by_the_api_or_by_the_page() {
    let practice = narrow(8).await;
    let mut starts: Vec<_> = practice.hourly_starts().await.into();
    starts.retain(|(_, calendar)| *calendar == 1);
    let stranger = practice.visitor("127.0.0.2");
    let own = starts.pop().expect("a free start");
    let held = Held::of(&stranger.book(&own, "zoe@example.org").await.is(201));
    held.move_to(&stranger, &starts[0].0).await.is(200);
    assert_eq!(held.move_by_page(&stranger, &starts[1].0).await.status, 303);
    fill(&practice, &starts[2..6]).await;
    held.move_to(&stranger, &starts[0].0).await.refused(503, 4);
    let refused = held.move_by_page(&stranger, &starts[0].0).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    assert_eq!(refused.headers["retry-after"], "3600");
    // A lost answer is given again, and the time may be given back.
    assert_eq!(held.move_by_page(&stranger, &starts[1].0).await.status, 303);
    assert_eq!(held.cancel_by_page(&stranger).await.status, 200);
}

#[tokio::test]
async fn a_full_group_takes_no_confirmation_of_a_strangers_booking_on_the_page() {
    let (mailbox, secret) = (Mailbox::open().await, LinkSecret::new([3; 32]));
    let gateways = Gateways {
        mail: Some(mailbox.client()),
        link_secret: Some(secret.clone()),
        ..Gateways::unconfigured("")
    };
    let practice = Practice::with(
        |document| document["groups"][0]["verify_bookings"] = json!("mail"),
        |server| {
            let used = server.space_bytes(GroupId::new(1).expect("an id"));
            let bytes_max = (used + (8 << 10)) * 100 / KEY_ALONE_PERCENT;
            server.with_gateways(Arc::new(gateways)).with_group_bytes_max(Some(bytes_max))
        },
    )
    .await;
    let mut starts: Vec<_> = practice.hourly_starts().await.into();
    let stranger = practice.visitor("127.0.0.2");
    let book = async |(start, calendar): &(String, u64), more: &[(&str, &str)]| {
        let (start, calendar) = (start[..16].replace(' ', "T"), calendar.to_string());
        let mut form = vec![
            ("s", "1"),
            ("c", &calendar),
            ("t", &start),
            ("k", "00112233445566778899aabbccddeeff"),
            ("fiche.lastname", "Quidam"),
            ("fiche.firstname", "Zoe"),
            ("fiche.firstphone", "0639980001"),
            ("fiche.email", "zoe@example.org"),
        ];
        form.extend_from_slice(more);
        answer(stranger.form("/b/cabinet-de-sante-des-tilleuls/you", &form)).await
    };
    let own = starts.pop().expect("a free start");
    let asked = book(&own, &[]).await;
    let (_, rest) = asked.text.split_once("name=\"h\" value=\"").expect(&asked.text);
    let token = rest.split('"').next().expect("a value");
    let hold = HoldToken::new(token).expect("a token").id();
    let code = ConfirmationCode::derive(&secret, GroupId::new(1).expect("an id"), hold);
    fill(&practice, &starts[..5]).await;
    let rows = practice.state().rows.len();
    let refused = book(&own, &[("h", token), ("code", code.as_str())]).await;
    assert_eq!(refused.status, 503, "{}", refused.text);
    let body = json!({"token": token, "code": code.as_str()});
    let by_key = stranger.request(Method::POST, "/groups/1/appointments/confirm").json(&body);
    answer(by_key).await.refused(503, 4);
    assert_eq!(practice.state().rows.len(), rows);
}
