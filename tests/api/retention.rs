//! The retention of a group. Reference 17.5.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::GroupId;
use slotbook::domain::time::{DAY, Instant};
use slotbook::engine::Retained;
use slotbook::store::state::write_group;

use crate::server::{TestServer, answer};
use crate::shop::{CALENDAR, CLEO, CUT, KNOWN_FICHE, OWN_FICHE, clock};

const SETTINGS: [&str; 3] =
    ["retention_appointments_months", "retention_clients_months", "retention_accounts_months"];

fn days(days: i64) -> Instant {
    clock(8, 0).plus_seconds(days * DAY)
}

async fn set(server: &TestServer, months: [u32; 3]) {
    let mut fields = serde_json::Map::new();
    for (name, number) in SETTINGS.into_iter().zip(months) {
        fields.insert(name.to_owned(), number.into());
    }
    let change = server.by_pro(Method::PUT, "/groups/4").json(&json!({"group": fields}));
    answer(change).await.is(200);
}

async fn due(server: &TestServer, query: &str) -> [u64; 3] {
    let due = server.pro_get(&format!("/groups/4/retention{query}")).await.is(200);
    ["appointments", "clients", "accounts"].map(|name| due[name].as_u64().expect("a number"))
}

async fn appoint(server: &TestServer, fiche: u64, start: &str) -> u64 {
    let body = json!({"vevent": {"calendar_id": CALENDAR, "intervention_id": CUT,
        "fiche_id": fiche, "start": start, "end": start.replace(":00:00", ":30:00"),
        "comments": "Canary-text"}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/vevents").json(&body)).await;
    made.is(201)["id"].as_u64().expect("an id")
}

fn holds(server: &TestServer, text: &str) -> bool {
    let group = GroupId::new(4).expect("an id");
    let state = server.engine.published().group_state(group).expect("a group");
    let mut bytes = Vec::new();
    let written: Result<(), ()> = write_group(&state, |frame| {
        bytes.extend_from_slice(frame);
        Ok(())
    });
    written.expect("memory takes all");
    bytes.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
}

#[tokio::test]
async fn what_is_over_is_emptied_erased_and_closed_after_its_months() {
    let server = TestServer::with_account(|_| {}).await;
    assert_eq!(server.engine.retain().await, Retained::default(), "the count begins");
    let past = appoint(&server, KNOWN_FICHE, "2025-06-02 09:00:00").await;
    server.at(days(100));
    assert_eq!(server.engine.retain().await, Retained::default(), "all is kept at first");
    assert_eq!(due(&server, "").await, [0, 0, 0]);
    let query = "?retention_appointments_months=3&retention_clients_months=3\
                 &retention_accounts_months=3";
    assert_eq!(due(&server, query).await, [1, 2, 1], "a preview of other settings");
    assert_eq!(due(&server, &query.replace("=3", "=4")).await, [0, 0, 0]);
    let wrong = server.pro_get("/groups/4/retention?retention_clients_months=601").await;
    wrong.refused(400, 2, Some("retention_clients_months"));
    server.get("/groups/4/retention").await.refused(403, 1, None);

    set(&server, [3, 0, 0]).await;
    assert_eq!(due(&server, "").await, [1, 0, 0]);
    let emptied = server.engine.retain().await;
    assert_eq!(emptied, Retained { appointments: 1, ..Retained::default() });
    let row = server.pro_get(&format!("/groups/4/vevents/{past}")).await.is(200);
    assert_eq!((&row["start"], &row["comments"]), (&json!("2025-06-02 09:00:00"), &json!("")));
    let placeholder = row["fiche_id"].as_u64().expect("an id");
    assert_ne!(placeholder, KNOWN_FICHE);
    let nameless = server.pro_get(&format!("/groups/4/fiches/{placeholder}")).await.is(200);
    assert_eq!((&nameless["lastname"], nameless["erased_at"].is_null()), (&json!("$"), false));
    assert!(!holds(&server, "Canary-text") && holds(&server, "known@example.org"));
    let history = server.pro_get(&format!("/groups/4/history?object=vevent:{past}")).await.is(200);
    assert_eq!(
        (&history["rows"][0]["verb"], &history["rows"][0]["author"]),
        (&json!("emptied"), &json!("server"))
    );
    assert_eq!(server.engine.retain().await, Retained::default(), "once");

    // The client with an account logs in, and another one gets an appointment.
    server.account_get("/groups/4/fiches").await.is(200);
    set(&server, [3, 3, 3]).await;
    let next = appoint(&server, KNOWN_FICHE, "2025-12-30 09:00:00").await;
    assert_eq!(server.engine.retain().await, Retained::default(), "both are active");
    assert!(holds(&server, CLEO.0));
    server.at(days(195));
    let over = server.engine.retain().await;
    assert_eq!(over, Retained { appointments: 0, clients: 1, accounts: 0 });
    assert!(!holds(&server, CLEO.0), "the account goes with its client");
    assert!(holds(&server, "known@example.org"), "the other one has an appointment to come");
    server.at(days(400));
    let over = server.engine.retain().await;
    assert_eq!(over, Retained { appointments: 1, clients: 1, accounts: 0 });
    assert!(!holds(&server, "known@example.org"));
    let row = server.pro_get(&format!("/groups/4/vevents/{next}")).await.is(200);
    assert_eq!(row["fiche_id"], placeholder, "all belong to one record of no person");
    let list = std::fs::read_to_string(server.data.path().join("forgotten")).expect("a list");
    let listed: Vec<&str> = list.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(listed, [OWN_FICHE.to_string(), KNOWN_FICHE.to_string()]);
}

#[tokio::test]
async fn an_unused_account_is_closed_and_one_that_is_used_stays() {
    let server = TestServer::with_account(|_| {}).await;
    set(&server, [0, 0, 2]).await;
    server.at(days(90));
    assert_eq!(server.engine.retain().await, Retained::default(), "it counts from now on");
    server.at(days(120));
    server.account_get("/groups/4/fiches").await.is(200);
    let last_login = async || {
        let path = format!("/groups/4/fiches/{OWN_FICHE}/export");
        server.pro_get(&path).await.is(200)["accounts"][0]["last_login"].clone()
    };
    while last_login().await == Value::Null {
        tokio::task::yield_now().await;
    }
    assert_eq!(last_login().await, "2025-09-30");
    server.at(days(179));
    assert_eq!(server.engine.retain().await, Retained::default());
    server.at(days(183));
    let closed = server.engine.retain().await;
    assert_eq!(closed, Retained { accounts: 1, ..Retained::default() });
    server.account_get("/groups/4/fiches").await.refused(401, 5, None);
    let kept = server.pro_get(&format!("/groups/4/fiches/{OWN_FICHE}")).await.is(200);
    assert_eq!(kept["email"], CLEO.0, "the client stays");
    let rows = server.pro_get(&format!("/groups/4/history?object=account:{OWN_FICHE}")).await;
    assert_eq!(rows.is(200)["rows"][0]["verb"], "removed");
}
