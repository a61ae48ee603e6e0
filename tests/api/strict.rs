//! Requests that want unknown names refused, ids of requests, and marks of older paths.
//! Reference 1.5, 1.6, 1.8.

use reqwest::{Method, RequestBuilder};
use serde_json::json;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, COLOUR, CUT, KNOWN_FICHE, OTHER_CALENDAR};

fn strict(request: RequestBuilder) -> RequestBuilder {
    request.header("Prefer", "handling=strict")
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.headers.get(name).map(|value| value.to_str().expect("a text"))
}

#[tokio::test]
async fn an_unknown_parameter_or_field_is_refused_with_the_nearest_known_one() {
    let server = TestServer::start().await;
    let get = |path: &'static str| strict(server.by_pro(Method::GET, path));
    for (path, field, meant) in [
        ("/groups/4/appointments?calender_id=11", "calender_id", "calendar_id"),
        ("/groups/4/appointments?group_id=4", "group_id", "leave it out"),
        ("/groups/4/fiches?condition[0][field]=id", "condition[0][field]", "conditions"),
        ("/groups/4/calendars/11?include_past=1", "include_past", "leave it out"),
        ("/fiches?grup_id=4", "grup_id", "group_id"),
        ("/groups?startindex=1", "startindex", "startIndex"),
    ] {
        let refused = answer(get(path)).await;
        refused.refused(400, 2, Some(field));
        assert!(refused.text.contains(meant), "{path}: {}", refused.text);
        assert_eq!(header(&refused, "preference-applied"), Some("handling=strict"), "{path}");
        let lenient = server.pro_get(path).await;
        assert_eq!((lenient.status.as_u16(), header(&lenient, "preference-applied")), (200, None));
    }
    for path in [
        "/groups/4/fiches?conditions[0][field]=id&conditions[0][op]=in&conditions[0][value][]=41",
        "/groups/4/fiches?results=5&startIndex=0&sort=id&dir=asc&search=a&format=json",
        "/groups/4/appointments?include_past=1&calendar_id=11",
        "/groups/4/interventions?calendar_ids[]=11&calendar_ids[1]=12",
    ] {
        let listed = answer(get(path)).await;
        assert_eq!(listed.status, 200, "{path}: {}", listed.text);
        assert_eq!(header(&listed, "preference-applied"), Some("handling=strict"), "{path}");
    }
    let put = |body| {
        let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
        strict(server.by_pro(Method::PUT, &path)).json(&body)
    };
    let before = server.pro_get(&format!("/groups/4/fiches/{KNOWN_FICHE}")).await.text;
    let refused = answer(put(json!({"fiche": {"comments": "x", "lastnam": "x"}}))).await;
    refused.refused(400, 2, Some("fiche.lastnam"));
    assert!(refused.text.contains("lastname"), "{}", refused.text);
    answer(put(json!({"fiche": {"comments": "x"}, "Fiche": {}}))).await.refused(
        400,
        2,
        Some("Fiche"),
    );
    assert_eq!(server.pro_get(&format!("/groups/4/fiches/{KNOWN_FICHE}")).await.text, before);
    let mut whole: serde_json::Value = serde_json::from_str(&before).expect("an object");
    whole["comments"] = "x".into();
    assert_eq!(answer(put(json!({"fiche": whole}))).await.status, 200, "as it was read");
    let book = |fiche| {
        let body = json!({"appointment": {
            "date": "2025-06-10 10:00:00", "intervention_ids": [CUT], "fiche": fiche,
        }});
        strict(server.by_key(Method::POST, "/groups/4/appointments")).json(&body)
    };
    let fiche = json!({"lastname": "New", "emial": "new@example.org"});
    let refused = answer(book(fiche)).await;
    refused.refused(400, 2, Some("appointment.fiche.emial"));
    assert!(refused.text.contains("did you mean email"), "{}", refused.text);
    let fiche = json!({"lastname": "New", "email": "new@example.org"});
    assert_eq!(answer(book(fiche)).await.status, 201);
    // Missing rights come first.
    answer(strict(server.by_key(Method::GET, "/groups/4/fiches?x=1"))).await.refused(403, 1, None);
}

#[tokio::test]
async fn a_refusal_lists_fifty_unknown_names() {
    let server = TestServer::start().await;
    let names: Vec<String> = (0..1_900).map(|n| format!("intervention_calender{n}=")).collect();
    let path = format!("/groups/4/interventions?{}", names.join("&"));
    let refused = answer(strict(server.by_pro(Method::GET, &path))).await.is(400);
    assert_eq!(refused["errors"].as_array().map(Vec::len), Some(50));
    let fields: serde_json::Map<String, serde_json::Value> =
        (0..1_900).map(|n| (format!("nmae{n}"), json!(1))).collect();
    let body = json!({ "fiche": fields });
    let put = server.by_pro(Method::PUT, &format!("/groups/4/fiches/{KNOWN_FICHE}"));
    let refused = answer(strict(put).json(&body)).await.is(400);
    assert_eq!(refused["errors"].as_array().map(Vec::len), Some(50));
}

#[tokio::test]
async fn appointments_are_listed_by_calendar_client_service_and_time() {
    let server = TestServer::start().await;
    let book = async |date: &str, calendar: u64, service: u64, name: &str| {
        let body = json!({"appointment": {
            "date": date, "calendar_id": calendar, "intervention_ids": [service],
            "fiche": {"lastname": name},
        }});
        let made = answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&body)).await;
        made.is(201)["records"][0].clone()
    };
    let one = book("2025-06-10 10:00:00", CALENDAR, CUT, "One").await;
    let two = book("2025-06-10 11:00:00", CALENDAR, COLOUR, "Two").await;
    let three = book("2025-06-11 10:00:00", OTHER_CALENDAR, CUT, "Three").await;
    for (query, wanted) in [
        (format!("calendar_id={CALENDAR}"), vec![&one, &two]),
        (format!("calendar_id={OTHER_CALENDAR}"), vec![&three]),
        (format!("fiche_id={}", two["fiche_id"]), vec![&two]),
        (format!("intervention_id={CUT}"), vec![&one, &three]),
        ("start_from=2025-06-10 11:00:00".to_owned(), vec![&two, &three]),
        ("start_to=2025-06-10 11:00:00".to_owned(), vec![&one]),
        ("start_from=2025-06-10T09:00:00Z&start_to=2025-06-11".to_owned(), vec![&two]),
        (format!("intervention_id={CUT}&calendar_id={CALENDAR}"), vec![&one]),
    ] {
        let list = server.pro_get(&format!("/groups/4/appointments?{query}")).await.is(200);
        let listed: Vec<_> = list["records"].as_array().expect("a list").iter().collect();
        let ids: Vec<_> = listed.iter().map(|row| &row["id"]).collect();
        let wanted: Vec<_> = wanted.iter().map(|row| &row["id"]).collect();
        assert_eq!((ids, &list["totalRecords"]), (wanted.clone(), &json!(wanted.len())), "{query}");
    }
    let list = server.pro_get("/groups/4/appointments?sort=updated_at").await.is(200);
    let at = list["records"][0]["updated_at"].as_str().expect("a time").to_owned();
    let query =
        format!("conditions[0][field]=updated_at&conditions[0][op]=>&conditions[0][value]={at}");
    let list = server.pro_get(&format!("/groups/4/appointments?{query}")).await.is(200);
    assert_eq!(list["totalRecords"], 0, "the clock stands still");
    for (query, field) in [
        ("calendar_id=99", "calendar_id"),
        ("fiche_id=99", "fiche_id"),
        ("intervention_id=x", "intervention_id"),
        ("start_from=soon", "start_from"),
    ] {
        let refused = server.pro_get(&format!("/groups/4/appointments?{query}")).await;
        refused.refused(400, 2, Some(field));
    }
}

#[tokio::test]
async fn an_account_lists_by_its_own_fiches_only() {
    let server = TestServer::with_account(|_| {}).await;
    let own = format!("/groups/4/appointments?fiche_id={}", crate::shop::OWN_FICHE);
    assert_eq!(server.account_get(&own).await.is(200)["totalRecords"], 0);
    let foreign = format!("/groups/4/appointments?fiche_id={KNOWN_FICHE}");
    let foreign = server.account_get(&foreign).await;
    let absent = server.account_get("/groups/4/appointments?fiche_id=9999").await;
    foreign.refused(400, 2, Some("fiche_id"));
    assert_eq!(foreign.text, absent.text);
}

#[tokio::test]
async fn every_answer_has_an_id_which_is_the_callers_own_if_it_is_legal() {
    let server = TestServer::start().await;
    let mut seen = std::collections::BTreeSet::new();
    for path in ["/healthz", "/no/such/path", "/docs", "/api/v1/groups/4?apikey=wrong", "/"] {
        let id_given = |id: &'static str| {
            let request = server.bare(Method::GET, path).header("X-Request-Id", id);
            async move { answer(request).await.headers["x-request-id"].clone() }
        };
        assert_eq!(id_given("3f2b-1.a_Z").await, "3f2b-1.a_Z", "{path}");
        for illegal in ["a b", "\"", "request=1", ""] {
            let id = id_given(illegal).await.to_str().expect("a text").to_owned();
            assert!(seen.insert(id.clone()) && id != illegal, "{path}: {id}");
        }
    }
    let answers = (0..50).map(|_| answer(server.by_key(Method::GET, "/groups/4")));
    for answer in futures_util::future::join_all(answers).await {
        assert!(seen.insert(header(&answer, "x-request-id").expect("an id").to_owned()));
    }
}

#[tokio::test]
async fn answers_on_older_paths_say_so() {
    let server = TestServer::start().await;
    for path in ["/calendars", "/calendars/11", "/fiches/9999", "/fiches?results=0"] {
        let older = server.pro_get(path).await;
        assert_eq!(header(&older, "deprecation"), Some("@1795392000"), "{path}");
        let links: Vec<_> = older.headers.get_all("link").iter().collect();
        assert!(links.iter().any(|link| *link == "</docs>; rel=\"deprecation\""), "{path}");
        let present = server.pro_get(&format!("/groups/4{path}")).await;
        assert_eq!(header(&present, "deprecation"), None, "{path}");
    }
}

#[tokio::test]
async fn each_error_links_its_entry_in_the_catalogue() {
    let server = TestServer::start().await;
    let page = answer(server.bare(Method::GET, "/docs/errors")).await;
    assert_eq!(page.status, 200);
    for (request, status) in [
        (server.bare(Method::GET, "/api/v1/groups"), 403),
        (server.by_key(Method::GET, "/groups/4/fiches"), 403),
        (server.by_key(Method::GET, "/groups/4/calendars/99"), 404),
        (server.by_key(Method::GET, "/groups/4/calendars?results=0"), 400),
        (server.by_key(Method::GET, "/groups/4/calendars?format=xml"), 406),
        (server.by_key(Method::DELETE, "/groups/4/calendars"), 405),
        (server.by_key(Method::GET, "/groups/4").basic_auth("a@example.org", Some("x")), 401),
        (server.by_key(Method::POST, "/sessions/login?pro[email]=a@b&pro[password]=x"), 401),
        (server.by_pro(Method::DELETE, "/groups/4/calendars/11").header("If-Match", "\"\""), 412),
    ] {
        let refused = answer(request).await;
        assert_eq!(refused.status, status, "{}", refused.text);
        let link = header(&refused, "link").expect("a link");
        let place = link.strip_prefix("</docs/errors#").and_then(|rest| rest.split('>').next());
        let place = place.unwrap_or_else(|| panic!("a place: {link}"));
        assert!(place.starts_with(&status.to_string()), "{link}");
        assert!(page.text.contains(&format!("id=\"{place}\"")), "{link}");
    }
}
