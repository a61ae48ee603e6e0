//! Entity tags of single objects, and changes of the form that a caller knows. Reference 1.7.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, CUT, KNOWN_FICHE, OWN_FICHE};

fn tag(answer: &Answer) -> String {
    let tag = answer.headers.get("etag").unwrap_or_else(|| panic!("a tag: {}", answer.text));
    tag.to_str().expect("a text").to_owned()
}

fn based_on(request: RequestBuilder, tag: &str) -> RequestBuilder {
    request.header("If-Match", tag)
}

/// Checks that a change was refused for another tag, and returns the object that came along.
#[track_caller]
fn overtaken(answer: &Answer) -> Value {
    answer.refused(412, 2, Some("If-Match"));
    answer.json()["current"].clone()
}

/// An appointment that the professional books.
async fn book(server: &TestServer, hour: u32) -> Value {
    let body = json!({"appointment": {
        "date": format!("2025-06-10 {hour:02}:00:00"), "calendar_id": CALENDAR,
        "intervention_ids": [CUT], "fiche": {"id": KNOWN_FICHE},
    }});
    let path = "/groups/4/appointments";
    answer(server.by_pro(Method::POST, path).json(&body)).await.is(201)["records"][0].clone()
}

#[tokio::test]
async fn each_kind_of_object_is_changed_only_in_the_form_that_the_caller_knows() {
    let server = TestServer::start().await;
    let appointment = book(&server, 10).await;
    let id = &appointment["id"];
    for (path, change) in [
        ("/groups/4".to_owned(), json!({"group": {"phone": "1"}})),
        (format!("/groups/4/fiches/{KNOWN_FICHE}"), json!({"fiche": {"comments": "one"}})),
        (format!("/fiches/{KNOWN_FICHE}"), json!({"fiche": {"comments": "two"}})),
        (format!("/groups/4/calendars/{CALENDAR}"), json!({"calendar": {"name": "one"}})),
        (format!("/groups/4/interventions/{CUT}"), json!({"intervention": {"price": 5}})),
        ("/groups/4/calendarsets/31".to_owned(), json!({"calendarset": {"name": "one"}})),
        (format!("/groups/4/vevents/{id}"), json!({"vevent": {"comments": "one"}})),
        (
            format!("/groups/4/appointments/{id}"),
            json!({"appointment": {"date": "2025-06-10 11:00:00"}}),
        ),
    ] {
        let known = tag(&server.pro_get(&path).await);
        assert!(known.starts_with('"') && known.ends_with('"'), "{path}: {known}");
        let put = || server.by_pro(Method::PUT, &path).json(&change);
        let before = server.pro_get(&path).await.is(200);
        let current = overtaken(&answer(based_on(put(), "\"nonsense\"")).await);
        assert_eq!(current, before, "{path}");
        let changed = answer(based_on(put(), &known)).await;
        assert_eq!(changed.status, 200, "{path}: {}", changed.text);
        let later = tag(&server.pro_get(&path).await);
        assert_eq!(tag(&changed), later, "{path}");
        assert_ne!(later, known, "{path}");
        let refused = answer(based_on(put(), &known)).await;
        assert_eq!(overtaken(&refused), server.pro_get(&path).await.is(200), "{path}");
        assert_eq!(tag(&refused), later, "{path}");
        for any in ["*", &format!("\"other\", W/{later}")] {
            assert_eq!(answer(based_on(put(), any)).await.status, 200, "{path}: {any}");
        }
    }
    for path in [
        format!("/groups/4/vevents/{id}"),
        format!("/groups/4/appointments/{}", book(&server, 10).await["id"]),
        format!("/groups/4/calendars/{CALENDAR}"),
        format!("/groups/4/interventions/{CUT}"),
    ] {
        let before = server.pro_get(&path).await;
        let delete = |tag: &str| answer(based_on(server.by_pro(Method::DELETE, &path), tag));
        assert_eq!(overtaken(&delete("\"nonsense\"").await), before.json(), "{path}");
        let deleted = delete(&tag(&before)).await.is(200);
        assert_eq!(deleted["deleted"], true, "{path}");
    }
}

#[tokio::test]
async fn of_64_editors_with_one_tag_exactly_one_wins_each_revision() {
    let server = TestServer::start().await;
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    for round in 0..4 {
        let known = tag(&server.pro_get(&path).await);
        let editors = (0..64).map(|editor| {
            let change = json!({"fiche": {"comments": format!("{round} by {editor}")}});
            answer(based_on(server.by_pro(Method::PUT, &path).json(&change), &known))
        });
        let answers = futures_util::future::join_all(editors).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
        assert_eq!((won.len(), lost.len()), (1, 63), "{round}");
        let present = server.pro_get(&path).await.is(200);
        assert_eq!(won[0].json(), present, "{round}");
        for lost in lost {
            assert_eq!(overtaken(lost), present, "{round}");
        }
    }
}

#[tokio::test]
async fn a_wrong_tag_shows_an_object_to_no_caller_without_the_right() {
    let server = TestServer::with_account(|_| {}).await;
    let appointment = book(&server, 10).await;
    let (id, key) = (&appointment["id"], appointment["key"].as_str().expect("a secret"));
    let body = json!({"appointment": {"date": "2025-06-10 10:00:00"}});
    let path = |secret: &str| format!("/groups/4/appointments/{id}?key={secret}");
    for method in [Method::PUT, Method::DELETE] {
        let request = server.by_key(method.clone(), &path("0123456789abcdef0123")).json(&body);
        let refused = answer(based_on(request, "\"nonsense\"")).await;
        refused.refused(404, 3, None);
        assert!(!refused.headers.contains_key("etag"));
        // With its secret, the public sees what a GET shows it, though the start stays the same.
        let request = server.by_key(method, &path(key)).json(&body);
        let current = overtaken(&answer(based_on(request, "\"nonsense\"")).await);
        assert_eq!(current, server.get(&path(key)).await.is(200));
        assert_eq!(current["fiche"], json!({"id": 0}));
    }
    let foreign = format!("/groups/4/fiches/{KNOWN_FICHE}");
    let change = json!({"fiche": {"firstphone": "1"}});
    let request = server.by_account(Method::PUT, &foreign).json(&change);
    answer(based_on(request, "\"nonsense\"")).await.refused(404, 3, None);
    // An account that knows an older form sees no more of the present one than it may.
    let own = format!("/groups/4/fiches/{OWN_FICHE}");
    let known = tag(&server.account_get(&own).await);
    let request = server.by_account(Method::PUT, &own).json(&change);
    assert_eq!(answer(based_on(request, &known)).await.status, 200);
    let request = server.by_account(Method::PUT, &own).json(&change);
    let current = overtaken(&answer(based_on(request, &known)).await);
    assert_eq!(current, server.account_get(&own).await.is(200));
    assert_eq!(current.get("comments"), None);
}

#[tokio::test]
async fn a_new_object_comes_with_its_tag_and_a_removed_one_needs_the_present_one() {
    let server = TestServer::start().await;
    let path = "/groups/4/calendarsets";
    let body = json!({"calendarset": {"name": "new"}});
    let made = answer(server.by_pro(Method::POST, path).json(&body)).await;
    let id = made.is(201)["id"].clone();
    let one = format!("{path}/{id}");
    assert_eq!(tag(&server.pro_get(&one).await), tag(&made));
    let again = json!({"calendarset": {"name": "newer"}});
    assert_eq!(answer(server.by_pro(Method::PUT, &one).json(&again)).await.status, 200);
    let refused = answer(based_on(server.by_pro(Method::DELETE, &one), &tag(&made))).await;
    assert_eq!(overtaken(&refused)["name"], "newer");
    let removed = answer(based_on(server.by_pro(Method::DELETE, &one), &tag(&refused))).await;
    assert_eq!(removed.is(200)["name"], "newer");
    let pros = server.pro_get("/groups/4/pros").await.is(200);
    let one = format!("/groups/4/pros/{}", pros["records"][0]["id"]);
    let refused = answer(based_on(server.by_pro(Method::DELETE, &one), "\"other\"")).await;
    assert_eq!(overtaken(&refused), server.pro_get(&one).await.is(200));
}
