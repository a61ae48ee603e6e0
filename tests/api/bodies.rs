//! Bodies that cannot be used, and that none of them changes anything.

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{TestServer, answer};
use crate::shop::{CALENDAR, CUT, KEY};

const PATH: &str = "/groups/4/appointments";

fn booking() -> Value {
    json!({
        "date": "2025-06-02 09:00:00",
        "intervention_ids": [CUT],
        "calendar_id": CALENDAR,
        "fiche": {"lastname": "Durand", "email": "d@example.org"},
    })
}

#[tokio::test]
async fn bodies_that_are_no_json_object_are_400() {
    let server = TestServer::start().await;
    let deep = format!("{{\"appointment\":{}{}}}", "[".repeat(40), "]".repeat(40));
    for body in ["", "{", "[]", "nonsense", "{\"appointment\":}", &deep, "\u{0}"] {
        let request = server
            .by_key(Method::POST, PATH)
            .header("Content-Type", "application/json")
            .body(body.to_owned());
        answer(request).await.refused(400, 2, None);
    }
    for body in ["{}", "{\"appointment\":[]}", "{\"appointment\":null}", "{\"appointment\":\"x\"}"]
    {
        answer(server.by_key(Method::POST, PATH).body(body.to_owned())).await.refused(
            400,
            2,
            Some("appointment"),
        );
    }
}

#[tokio::test]
async fn the_optional_body_of_a_delete_may_be_null() {
    let server = TestServer::start().await;
    let remove = |body: &'static str| {
        let request = server.by_key(Method::DELETE, &format!("{PATH}/1"));
        request.header("Content-Type", "application/json").body(body)
    };
    answer(remove("[]")).await.refused(400, 2, None);
    for body in ["", "{}", "null", " null\n"] {
        assert_ne!(answer(remove(body)).await.status, 400, "{body:?}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_the_connection_goes_on_where_it_can() {
    let server = TestServer::start().await;
    for size in [256 * 1024 + 1, 600 * 1024, 900 * 1024] {
        answer(server.by_key(Method::POST, PATH).body(" ".repeat(size)))
            .await
            .refused(413, 2, None);
    }
    let within = format!("{}{}", " ".repeat(200 * 1024), json!({ "appointment": booking() }));
    answer(server.by_key(Method::POST, PATH).body(within)).await.is(201);
}

#[tokio::test]
async fn a_declared_type_that_is_not_json_is_415_after_the_limit_and_before_the_rest() {
    let server = TestServer::start().await;
    let typed = |kind: &str, body: String| {
        answer(server.by_key(Method::POST, PATH).header("Content-Type", kind).body(body))
    };
    typed("text/plain", "{".into()).await.refused(415, 2, None);
    typed("text/plain", " ".repeat(300 * 1024)).await.refused(413, 2, None);
    typed("application/json; charset=utf-8", json!({ "appointment": booking() }).to_string())
        .await
        .is(201);
    let foreign = format!("/api/v1/groups/99/appointments?apikey={KEY}");
    let request =
        server.bare(Method::POST, &foreign).header("Content-Type", "text/plain").body("{");
    answer(request).await.refused(404, 3, None);
}

#[tokio::test]
async fn each_wrong_field_is_named_and_nothing_changes() {
    let server = TestServer::start().await;
    let cases = [
        ("date", json!(null)),
        ("date", json!("")),
        ("date", json!(5)),
        ("date", json!("2025-02-30 09:00:00")),
        ("date", json!("1969-06-02 09:00:00")),
        ("date", json!("2025-06-02T09:00:00.5")),
        ("date", json!("2025-06-02T09:00")),
        ("intervention_ids", json!([])),
        ("intervention_ids", json!(null)),
        ("intervention_ids", json!([999])),
        ("intervention_ids", json!([{}])),
        ("intervention_ids", json!([21, 21])),
        ("calendar_id", json!(999)),
        ("calendar_id", json!("x")),
        ("calendar_id", json!(1.5)),
        ("group_id", json!(5)),
        ("from_web", json!("maybe")),
        ("smsreminder", json!(7)),
        ("comments", json!("a\u{0}b")),
        ("comments", json!({})),
        ("websource", json!("x".repeat(256))),
        ("str0", json!("a custom of no appointment")),
        ("num0", json!("many")),
        ("fiche", json!([])),
        ("fiche", json!("Durand")),
    ];
    for (field, value) in cases {
        let mut wrong = booking();
        wrong[field] = value.clone();
        let refused =
            answer(server.by_key(Method::POST, PATH).json(&json!({ "appointment": wrong }))).await;
        assert_eq!(
            refused.errors(),
            [(2, Some(field.to_owned()))],
            "{field} = {value}: {}",
            refused.text
        );
    }
    let of_fiche = [
        ("lastname", json!("x".repeat(65))),
        ("lastname", json!("a\nb")),
        ("email", json!("no address")),
        ("birthdate", json!("1799-12-31")),
        ("rappel_sms", json!("maybe")),
        ("str2", json!("undefined")),
        ("group_id", json!(5)),
    ];
    for (field, value) in of_fiche {
        let mut wrong = booking();
        wrong["fiche"][field] = value;
        let refused =
            answer(server.by_key(Method::POST, PATH).json(&json!({ "appointment": wrong }))).await;
        refused.refused(400, 2, Some(&format!("fiche.{field}")));
    }
    let mut nameless = booking();
    nameless["fiche"] = json!({"email": "d@example.org"});
    let refused =
        answer(server.by_key(Method::POST, PATH).json(&json!({ "appointment": nameless }))).await;
    refused.refused(400, 2, Some("fiche.lastname"));
    let group = slotbook::domain::records::ids::GroupId::new(4).unwrap();
    assert_eq!(server.engine.published().group_state(group).unwrap().sequence, 0);
}

#[tokio::test]
async fn several_wrong_fields_are_named_together_in_short_messages() {
    let server = TestServer::start().await;
    let long = "x".repeat(5_000);
    let wrong = json!({"date": long, "intervention_ids": long, "calendar_id": long, "fiche": {"email": long}});
    let refused =
        answer(server.by_key(Method::POST, PATH).json(&json!({ "appointment": wrong }))).await;
    let fields: Vec<_> = refused.errors().into_iter().map(|(_, field)| field.unwrap()).collect();
    assert_eq!(fields, ["date", "intervention_ids", "calendar_id", "fiche.email"]);
    assert!(!refused.text.contains(&"x".repeat(101)));
    // Without an address it can only be a new client, who has no name.
    let refused =
        answer(server.by_key(Method::POST, PATH).json(&json!({"appointment": {"fiche": {}}})))
            .await;
    let fields: Vec<_> = refused.errors().into_iter().map(|(_, field)| field.unwrap()).collect();
    assert_eq!(fields, ["date", "intervention_ids", "fiche.lastname"]);
}

#[tokio::test]
async fn a_group_that_is_not_the_paths_is_refused_wherever_the_body_says_it() {
    let server = TestServer::start().await;
    for wrong in [json!(5), json!("5"), json!("x"), json!([4])] {
        let within = json!({"calendar": {"name": "Ann", "group_id": wrong}});
        let beside = json!({"calendar": {"name": "Ann"}, "group_id": wrong});
        for body in [within, beside] {
            let path = "/groups/4/calendars";
            answer(server.by_pro(Method::POST, path).json(&body)).await.refused(
                400,
                2,
                Some("group_id"),
            );
        }
        let group = json!({"group": {"city": "Lyon", "group_id": wrong}});
        answer(server.by_pro(Method::PUT, "/groups/4").json(&group)).await.refused(
            400,
            2,
            Some("group_id"),
        );
        let older = json!({"fiche": {"lastname": "Durand"}, "group_id": wrong});
        answer(server.by_pro(Method::POST, "/fiches?group_id=4").json(&older)).await.refused(
            400,
            2,
            Some("group_id"),
        );
    }
    for right in [json!(4), json!("4"), json!(""), json!(null)] {
        let body = json!({"calendar": {"name": "Ann", "group_id": right}, "group_id": right});
        answer(server.by_pro(Method::POST, "/groups/4/calendars").json(&body)).await.is(201);
    }
}

#[tokio::test]
async fn unknown_and_system_fields_are_ignored() {
    let server = TestServer::start().await;
    let mut odd = booking();
    for field in ["id", "key", "created_at", "calendar_name", "nonsense", "state", "deleted"] {
        odd[field] = json!("99");
    }
    odd["fiche"]["externid"] = json!("not even a number");
    odd["fiche"]["from_web"] = json!("nor a boolean");
    odd["fiche"]["str1"] = json!("not for web callers");
    let made = answer(server.by_key(Method::POST, PATH).json(&json!({ "appointment": odd })))
        .await
        .is(201);
    assert_eq!(
        (&made["records"][0]["state"], &made["records"][0]["deleted"]),
        (&json!(0), &json!(false))
    );
}

#[tokio::test]
async fn the_newline_of_forms_is_one_and_other_control_characters_are_none() {
    let server = TestServer::start().await;
    let post = async |fiche: Value| {
        answer(server.by_pro(Method::POST, "/groups/4/fiches").json(&json!({ "fiche": fiche })))
            .await
    };
    let made = post(json!({"lastname": "Durand", "comments": "one\r\ntwo\n\tthree"})).await.is(201);
    assert_eq!(made["comments"], "one\ntwo\n\tthree");
    post(json!({"lastname": "Durand", "comments": "one\rtwo"})).await.refused(
        400,
        2,
        Some("comments"),
    );
    for email in ["d@example.org\n", "\td@example.org", "d@example.org\r\n"] {
        post(json!({"lastname": "Durand", "email": email})).await.refused(400, 2, Some("email"));
    }
    let trimmed = post(json!({"lastname": "Durand", "email": " d@example.org "})).await.is(201);
    assert_eq!(trimmed["email"], "d@example.org");
}
