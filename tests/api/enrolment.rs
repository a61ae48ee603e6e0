//! How clients get an account, another password and another address.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::records::message::{LinkPurpose, MessageContent};
use slotbook::password::sha1_hex;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CLEO, EVE, KEY_OF_ALL, KNOWN_FICHE, OWN_FICHE, clock};

async fn ask(server: &TestServer, account: Value) -> Answer {
    answer(server.by_key(Method::POST, "/accounts").json(&json!({ "account": account }))).await
}

async fn confirm(server: &TestServer, token: &str, password: &str) -> Answer {
    let body = json!({"token": token, "password": password});
    answer(server.by_key(Method::POST, "/accounts/confirm").json(&body)).await
}

/// The links mailed so far: to whom, what for, the token.
fn mailed(server: &TestServer) -> Vec<(String, LinkPurpose, String)> {
    let group_state =
        server.engine.published().group_state(GroupId::new(4).expect("an id")).expect("group 4");
    let link = |message: &slotbook::domain::records::message::Message| match &message.content {
        MessageContent::AccountLink { purpose, token, .. } => {
            Some((message.recipient.as_str().to_owned(), *purpose, token.as_str().to_owned()))
        }
        MessageContent::Confirmation(_)
        | MessageContent::Change { .. }
        | MessageContent::Cancellation(_)
        | MessageContent::Reminder(..)
        | MessageContent::Withdrawal(_)
        | MessageContent::BookingCode { .. }
        | MessageContent::AccountNotice(_)
        | MessageContent::ShopWarning(_)
        | MessageContent::Restoration(_) => None,
    };
    group_state.outbox.messages().filter_map(|message| link(message)).collect()
}

/// The token of the newest link.
fn token(server: &TestServer) -> String {
    mailed(server).pop().expect("a link was mailed").2
}

async fn as_client(server: &TestServer, (email, password): (&str, &str), path: &str) -> Answer {
    answer(server.by_key(Method::GET, path).basic_auth(email, Some(password))).await
}

const FICHES: &str = "/groups/4/fiches";

#[tokio::test]
async fn an_unknown_address_gets_a_link_an_account_and_a_fiche() {
    let server = TestServer::start().await;
    let pending =
        json!({"date": "2025-06-03 09:00:00", "intervention_ids": [21], "words": "é\n\"x\""});
    let asked =
        ask(&server, json!({"email": "New@Example.org", "group_id": 4, "pendingRdv": pending}))
            .await;
    assert_eq!(asked.is(201), json!({"account": {"email": "New@Example.org", "group_id": 4}}));
    let links = mailed(&server);
    assert_eq!(
        (links.len(), &links[0].0[..], links[0].1),
        (1, "New@Example.org", LinkPurpose::Confirm)
    );
    let sealed = links[0].2.strip_prefix("4-").expect("the group stands first");
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    assert!(sealed.bytes().all(is_token), "{sealed}");
    as_client(&server, ("new@example.org", "a chosen word"), FICHES).await.refused(401, 5, None);
    let confirmed = confirm(&server, &links[0].2, "a chosen word").await.is(200);
    let account = &confirmed["account"];
    assert_eq!((&account["email"], &account["group_id"]), (&json!("New@Example.org"), &json!(4)));
    assert_eq!((&account["pendingRdv"], &confirmed["pendingRdv"]), (&pending, &pending));
    let own = as_client(&server, ("new@example.org", "a chosen word"), FICHES).await.is(200);
    assert_eq!((&own["totalRecords"], &own["records"][0]["id"]), (&json!(1), &account["fiche_id"]));
    let fiche = server.pro_get(&format!("{FICHES}/{}", account["fiche_id"])).await.is(200);
    assert_eq!(
        (&fiche["email"], &fiche["lastname"], &fiche["from_web"]),
        (&json!("New@Example.org"), &json!("New"), &json!(true))
    );
    confirm(&server, &links[0].2, "a word again").await.refused(400, 2, Some("token"));
    as_client(&server, ("new@example.org", "a chosen word"), FICHES).await.is(200);
}

#[tokio::test]
async fn the_fiche_of_the_address_becomes_the_accounts_own() {
    let server = TestServer::start().await;
    ask(&server, json!({"email": "KNOWN@example.org", "group_id": "4"})).await.is(201);
    let of_link = token(&server);
    // A digest would hide the password from the rules.
    for digest in [sha1_hex("1"), sha1_hex("a chosen word").to_uppercase()] {
        confirm(&server, &of_link, &digest).await.refused(400, 2, Some("password"));
    }
    let confirmed = confirm(&server, &of_link, "a chosen word").await.is(200);
    assert_eq!(
        (&confirmed["account"]["fiche_id"], &confirmed["pendingRdv"]),
        (&json!(KNOWN_FICHE), &Value::Null)
    );
    let own = as_client(&server, ("known@example.org", "a chosen word"), FICHES).await.is(200);
    assert_eq!(own["records"][0]["lastname"], "Known");
    let booking = json!({"appointment": {"date": "2025-06-02 09:00:00", "intervention_ids": [21],
        "fiche": {"lastname": "K", "email": "known@example.org"}}});
    answer(server.by_key(Method::POST, "/groups/4/appointments").json(&booking)).await.refused(
        400,
        11,
        Some("fiche.email"),
    );
}

#[tokio::test]
async fn an_active_account_gets_another_password_which_ends_its_sessions() {
    let server = TestServer::with_account(|_| {}).await;
    let login = json!({"account": {"email": CLEO.0, "password": sha1_hex(CLEO.1)}});
    let logged_in = answer(server.by_key(Method::POST, "/sessions/login").json(&login)).await;
    let cookie = logged_in.headers["set-cookie"]
        .to_str()
        .expect("text")
        .split(';')
        .next()
        .expect("a pair")
        .to_owned();
    let by_session =
        || answer(server.bare(Method::GET, &format!("/api/v1{FICHES}")).header("Cookie", &cookie));
    by_session().await.is(200);
    for _ in 0..2 {
        let asked = ask(&server, json!({"email": CLEO.0, "group_id": 4})).await;
        assert_eq!(asked.is(201), json!({"account": {"email": CLEO.0, "group_id": 4}}));
    }
    let links = mailed(&server);
    assert!(links.iter().all(|(_, purpose, _)| *purpose == LinkPurpose::NewPassword));
    by_session().await.is(200);
    let confirmed = confirm(&server, &links[0].2, "another word").await.is(200);
    assert_eq!(confirmed["account"]["fiche_id"], OWN_FICHE);
    by_session().await.refused(403, 1, None);
    as_client(&server, CLEO, FICHES).await.refused(401, 5, None);
    as_client(&server, (CLEO.0, "another word"), FICHES).await.is(200);
    confirm(&server, &links[1].2, "a third word").await.refused(400, 2, Some("token"));
}

#[tokio::test]
async fn where_only_clients_may_book_nobody_else_is_mailed_and_everybody_is_told_the_same() {
    let server = TestServer::with_account(|catalogue| catalogue.group.open = false).await;
    for email in ["nobody@example.org", "known@example.org", CLEO.0] {
        let asked = ask(&server, json!({"email": email, "group_id": 4})).await;
        assert_eq!(asked.is(201), json!({"account": {"email": email, "group_id": 4}}));
    }
    let to: Vec<String> = mailed(&server).into_iter().map(|(to, ..)| to).collect();
    assert_eq!(to, ["known@example.org", CLEO.0]);
    let delete = server
        .by_pro(Method::PUT, &format!("{FICHES}/{KNOWN_FICHE}"))
        .json(&json!({"fiche": {"deleted": 1}}));
    answer(delete).await.is(200);
    let of_known = mailed(&server)[0].2.clone();
    confirm(&server, &of_known, "a chosen word").await.refused(400, 13, Some("fiche.email"));
}

#[tokio::test]
async fn a_link_is_followed_within_a_day_under_a_key_of_its_group() {
    let server = TestServer::start().await;
    ask(&server, json!({"email": "a@example.org", "group_id": 4})).await.is(201);
    let token = token(&server);
    for wrong in [
        "",
        "4-",
        "4-00",
        "x",
        "99-00",
        &token[1..],
        &format!("5{}", &token[1..]),
        &token.to_uppercase(),
    ] {
        confirm(&server, wrong, "a chosen word").await.refused(400, 2, Some("token"));
    }
    for refused in ["", "nine char", "Password2026", "aaaaaaaaaaaa"] {
        confirm(&server, &token, refused).await.refused(400, 2, Some("password"));
    }
    let with_no_key = server
        .bare(Method::POST, "/api/v1/accounts/confirm")
        .json(&json!({"token": token, "password": "p"}));
    answer(with_no_key).await.refused(403, 1, None);
    server.at(slotbook::domain::time::Instant(clock(8, 0).0 + 86_400));
    confirm(&server, &token, "a chosen word").await.refused(400, 2, Some("token"));
    ask(&server, json!({"email": "a@example.org", "group_id": 4})).await.is(201);
    let token = self::token(&server);
    server.at(slotbook::domain::time::Instant(clock(8, 0).0 + 2 * 86_400 - 1));
    confirm(&server, &token, "a chosen word").await.is(200);
}

#[tokio::test]
async fn what_is_wrong_with_asking_is_told_by_its_field() {
    let server = TestServer::start().await;
    let long = "x".repeat(10_000);
    for (account, fields) in [
        (json!({"group_id": 4}), vec!["email"]),
        (
            json!({"email": "nonsense", "group_id": 9, "pendingRdv": long}),
            vec!["email", "group_id", "pendingRdv"],
        ),
    ] {
        let refused = ask(&server, account).await;
        let found: Vec<_> = refused.errors().into_iter().filter_map(|(_, field)| field).collect();
        assert_eq!(
            (refused.status.as_u16(), found),
            (400, fields.iter().map(|f| (*f).to_owned()).collect())
        );
    }
    let foreign = ask(&server, json!({"email": "a@example.org", "group_id": 5})).await;
    foreign.refused(400, 2, Some("group_id"));
    assert_eq!(
        ask(&server, json!({"email": "a@example.org", "group_id": 99})).await.text,
        foreign.text
    );
    ask(&server, json!({"email": "a@example.org"})).await.is(201);
    let of_all = |account: Value| {
        let path = format!("/api/v1/accounts?apikey={KEY_OF_ALL}");
        answer(server.bare(Method::POST, &path).json(&json!({ "account": account })))
    };
    of_all(json!({"email": "a@example.org"})).await.refused(400, 2, Some("group_id"));
    of_all(json!({"email": EVE.0, "group_id": 5})).await.is(201);
    answer(server.by_key(Method::POST, "/accounts").json(&json!({"email": "a@example.org"})))
        .await
        .refused(400, 2, Some("account"));
    answer(server.by_key(Method::GET, "/accounts")).await.refused(405, 2, None);
}

#[tokio::test]
async fn nobodys_mailbox_is_filled() {
    let server = TestServer::start().await;
    for minute in 0..7 {
        server.at(clock(8, minute));
        ask(&server, json!({"email": "a@example.org", "group_id": 4})).await.is(201);
    }
    assert_eq!(mailed(&server).len(), 5);
    server.at(clock(13, 59));
    ask(&server, json!({"email": "A@example.org", "group_id": 4})).await.is(201);
    assert_eq!(mailed(&server).len(), 5, "five within six hours");
    server.at(clock(14, 0));
    ask(&server, json!({"email": "a@example.org", "group_id": 4})).await.is(201);
    assert_eq!(mailed(&server).len(), 6);
    let (first, last) = (mailed(&server)[0].2.clone(), token(&server));
    confirm(&server, &first, "a chosen word").await.is(200);
    for used in [first, last] {
        confirm(&server, &used, "another word").await.refused(400, 2, Some("token"));
    }
}

#[tokio::test]
async fn another_address_counts_once_its_owner_has_followed_a_link() {
    let server = TestServer::with_account(|_| {}).await;
    let login = json!({"account": {"email": CLEO.0, "password": sha1_hex(CLEO.1)}});
    let logged_in = answer(server.by_key(Method::POST, "/sessions/login").json(&login)).await;
    let cookie = logged_in.headers["set-cookie"]
        .to_str()
        .expect("text")
        .split(';')
        .next()
        .expect("a pair")
        .to_owned();
    let own = format!("{FICHES}/{OWN_FICHE}");
    let put = |fiche: Value| {
        answer(server.by_account(Method::PUT, &own).json(&json!({ "fiche": fiche })))
    };
    let changed = put(json!({"firstname": "Cleo", "email": "new@example.org"})).await.is(200);
    assert_eq!((&changed["firstname"], &changed["email"]), (&json!("Cleo"), &json!(CLEO.0)));
    assert_eq!(
        mailed(&server),
        [("new@example.org".to_owned(), LinkPurpose::NewEmail, token(&server))]
    );
    put(json!({"email": ""})).await.refused(400, 2, Some("email"));
    put(json!({"email": "nonsense", "birthdate": "soon"}))
        .await
        .errors()
        .iter()
        .for_each(|(code, _)| assert_eq!(*code, 2));
    put(json!({"email": "CLEO@example.org"})).await.is(200);
    assert_eq!(mailed(&server).len(), 1, "it is the same address");
    let body = json!({ "token": token(&server) });
    let confirmed =
        answer(server.by_key(Method::POST, "/accounts/confirm").json(&body)).await.is(200);
    assert_eq!(
        (&confirmed["account"]["email"], &confirmed["account"]["fiche_id"]),
        (&json!("new@example.org"), &json!(OWN_FICHE))
    );
    as_client(&server, CLEO, FICHES).await.refused(401, 5, None);
    assert_eq!(
        as_client(&server, ("new@example.org", CLEO.1), &own).await.is(200)["email"],
        "new@example.org"
    );
    let by_session = server.bare(Method::GET, &format!("/api/v1{own}")).header("Cookie", &cookie);
    assert_eq!(answer(by_session).await.is(200)["email"], "new@example.org", "the session goes on");
    answer(server.by_key(Method::POST, "/accounts/confirm").json(&body)).await.refused(
        400,
        2,
        Some("token"),
    );
}

#[tokio::test]
async fn an_address_that_has_an_account_is_nobody_elses() {
    let server = TestServer::with_account(|_| {}).await;
    let own = format!("{FICHES}/{OWN_FICHE}");
    answer(
        server
            .by_account(Method::PUT, &own)
            .json(&json!({"fiche": {"email": "known@example.org"}})),
    )
    .await
    .is(200);
    let of_change = token(&server);
    ask(&server, json!({"email": "known@example.org", "group_id": 4})).await.is(201);
    confirm(&server, &token(&server), "a chosen word").await.is(200);
    confirm(&server, &of_change, "x").await.refused(400, 11, Some("fiche.email"));
    server.account_get(FICHES).await.is(200);
}

#[tokio::test]
async fn an_account_whose_fiche_is_deleted_begins_anew_and_keeps_what_it_had() {
    let server = TestServer::with_account(|_| {}).await;
    let own = format!("{FICHES}/{OWN_FICHE}");
    answer(server.by_pro(Method::PUT, &own).json(&json!({"fiche": {"deleted": true}})))
        .await
        .is(200);
    ask(&server, json!({"email": CLEO.0, "group_id": 4})).await.is(201);
    let confirmed = confirm(&server, &token(&server), "a chosen word").await.is(200);
    let fiche = &confirmed["account"]["fiche_id"];
    assert_ne!(fiche, &json!(OWN_FICHE));
    let list = as_client(&server, (CLEO.0, "a chosen word"), FICHES).await.is(200);
    let ids: Vec<&Value> =
        list["records"].as_array().expect("a list").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(OWN_FICHE), fiche]);
}

#[tokio::test]
async fn one_source_asks_for_200_accounts_an_hour() {
    let server = TestServer::start().await;
    for number in 0..200 {
        ask(&server, json!({"email": format!("a{number}@example.org"), "group_id": 4}))
            .await
            .is(201);
    }
    let refused = ask(&server, json!({"email": "b@example.org", "group_id": 4})).await;
    refused.refused(429, 4, None);
    assert_eq!(refused.headers["retry-after"], "3600");
    server.at(clock(9, 0));
    ask(&server, json!({"email": "b@example.org", "group_id": 4})).await.is(201);
}

/// Has Cleo's account ask for another address.
async fn moves(server: &TestServer, email: &str) -> Answer {
    let own = format!("{FICHES}/{OWN_FICHE}");
    answer(server.by_account(Method::PUT, &own).json(&json!({"fiche": {"email": email}}))).await
}

#[tokio::test]
async fn a_session_alone_changes_no_address() {
    let server = TestServer::with_account(|_| {}).await;
    let login = json!({"account": {"email": CLEO.0, "password": sha1_hex(CLEO.1)}});
    let logged_in = answer(server.by_key(Method::POST, "/sessions/login").json(&login)).await;
    let cookie = logged_in.headers["set-cookie"].to_str().expect("text").to_owned();
    let path = format!("{FICHES}/{OWN_FICHE}");
    let put = |fiche: Value| {
        let request = server.by_key(Method::PUT, &path).header("Cookie", &cookie);
        answer(request.json(&json!({ "fiche": fiche })))
    };
    put(json!({"firstname": "C"})).await.is(200);
    put(json!({"email": CLEO.0})).await.is(200);
    put(json!({"email": "new@example.org"})).await.refused(403, 1, None);
    let with_password =
        |given: &str| put(json!({"email": "new@example.org", "current_password": given}));
    with_password("wrong").await.refused(401, 5, None);
    assert!(mailed(&server).is_empty());
    with_password(CLEO.1).await.is(200);
    with_password(&sha1_hex(CLEO.1)).await.is(200);
    assert_eq!(mailed(&server)[0].0, "new@example.org");
}

#[tokio::test]
async fn another_password_ends_what_the_one_before_had_asked_for() {
    let server = TestServer::with_account(|_| {}).await;
    moves(&server, "thief@example.org").await.is(200);
    let of_thief = token(&server);
    ask(&server, json!({"email": CLEO.0, "group_id": 4})).await.is(201);
    confirm(&server, &token(&server), "another word").await.is(200);
    confirm(&server, &of_thief, "x").await.refused(400, 2, Some("token"));
    as_client(&server, (CLEO.0, "another word"), FICHES).await.is(200);
}

#[tokio::test]
async fn changes_to_an_accounts_address_are_not_mailed_and_keep_no_password_from_it() {
    let server = TestServer::with_account(|_| {}).await;
    ask(&server, json!({"email": "other@example.org", "group_id": 4})).await.is(201);
    confirm(&server, &token(&server), "a chosen word").await.is(200);
    let before = mailed(&server).len();
    let free = moves(&server, "free@example.org").await;
    for _ in 0..6 {
        assert_eq!(
            moves(&server, "Other@example.org").await.is(200),
            free.is(200),
            "nobody is told"
        );
    }
    assert_eq!(mailed(&server).len(), before + 1);
    ask(&server, json!({"email": "other@example.org", "group_id": 4})).await.is(201);
    assert_eq!(mailed(&server).len(), before + 2);
    assert_eq!(mailed(&server)[before + 1].1, LinkPurpose::NewPassword);
}

#[tokio::test]
async fn an_account_asks_for_five_addresses_and_a_source_for_200_links() {
    let server = TestServer::with_account(|_| {}).await;
    for number in 0..7 {
        moves(&server, &format!("a{number}@example.org")).await.is(200);
    }
    assert_eq!(mailed(&server).len(), 5);
    for number in 7..200 {
        ask(&server, json!({"email": format!("a{number}@example.org"), "group_id": 4}))
            .await
            .is(201);
    }
    let refused = moves(&server, "b@example.org").await;
    refused.refused(429, 4, None);
    assert_eq!(refused.headers["retry-after"], "3600");
    let own = format!("{FICHES}/{OWN_FICHE}");
    answer(
        server
            .by_account(Method::PUT, &own)
            .json(&json!({"fiche": {"firstname": "C", "email": CLEO.0}})),
    )
    .await
    .is(200);
}

#[tokio::test]
async fn no_number_of_requests_ends_the_enrolment_of_others() {
    let server = TestServer::with_account(|_| {}).await;
    for hour in 0..6 {
        server.at(clock(8 + hour, 0));
        for number in 0..170 {
            ask(&server, json!({"email": format!("a{hour}-{number}@example.org"), "group_id": 4}))
                .await
                .is(201);
        }
    }
    for email in ["b@example.org", "known@example.org", CLEO.0] {
        ask(&server, json!({"email": email, "group_id": 4})).await.is(201);
        assert_eq!(mailed(&server).pop().expect("a link").0, email);
        confirm(&server, &token(&server), "a chosen word").await.is(200);
    }
    let group = GroupId::new(4).expect("an id");
    let group_state = server.engine.published().group_state(group).expect("group 4");
    assert_eq!(group_state.links.iter().count(), 0, "nothing is stored for them");
}

#[tokio::test]
async fn a_link_goes_to_the_address_on_record_and_no_lookalike_is_that_address() {
    let server = TestServer::with_account(|_| {}).await;
    for (given, recorded) in
        [("KNOWN@Example.org", "known@example.org"), ("Cleo@EXAMPLE.org", CLEO.0)]
    {
        let asked = ask(&server, json!({"email": given, "group_id": 4})).await;
        assert_eq!(
            asked.is(201),
            json!({"account": {"email": given, "group_id": 4}}),
            "nobody is told"
        );
        assert_eq!(mailed(&server).pop().expect("a link").0, recorded);
    }
    let lookalike = "\u{212a}nown@example.org";
    ask(&server, json!({"email": lookalike, "group_id": 4})).await.is(201);
    assert_eq!(mailed(&server).pop().expect("a link").0, lookalike);
    let confirmed = confirm(&server, &token(&server), "a chosen word").await.is(200);
    assert_ne!(confirmed["account"]["fiche_id"], json!(KNOWN_FICHE));
    as_client(&server, ("known@example.org", "a chosen word"), FICHES).await.refused(401, 5, None);
    as_client(&server, (lookalike, "a chosen word"), FICHES).await.is(200);
}
