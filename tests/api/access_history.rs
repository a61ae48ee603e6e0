//! The history of access, and of reads. Reference 16.5, 16.6.

use reqwest::Method;
use serde_json::{Value, json};

use crate::screen_logins::log_in;
use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, EVE, KEY, KEY_OF_ALL, KNOWN_FICHE, OWN_FICHE, PAUL, RITA, clock};

const ACCESS: &str = "/groups/4/history/access";

async fn rows(server: &TestServer, path: &str) -> Vec<Value> {
    let page = server.pro_get(path).await.is(200);
    page["rows"].as_array().expect("a list").clone()
}

/// The rows, once there are so many.
async fn await_rows(server: &TestServer, path: &str, count: usize) -> Vec<Value> {
    for _ in 0..400 {
        let rows = rows(server, path).await;
        if rows.len() >= count {
            return rows;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("{:?}", rows(server, path).await);
}

/// Act, object, author and source of each row.
fn outline(rows: &[Value]) -> Vec<[String; 4]> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| ["verb", "object", "author", "source"].map(|name| text(row, name)))
        .collect()
}

async fn fail(server: &TestServer, email: &str) {
    let path = format!("/api/v1/groups/4/fiches?apikey={KEY_OF_ALL}");
    let request = server.bare(Method::GET, &path).basic_auth(email, Some("wrong"));
    assert_eq!(answer(request).await.status, 401);
}

#[tokio::test]
async fn logins_roles_and_invitations_are_rows_of_their_groups() {
    let server = TestServer::with_team(|_| {}).await;
    log_in(&server, ANN).await;
    log_in(&server, EVE).await;
    let role = json!({"pro": {"role": "reception"}});
    answer(server.by_pro(Method::PUT, "/groups/4/pros/4").json(&role)).await.is(200);
    let invitation = json!({"pro": {"email": "new@example.org"}});
    let invited = answer(server.by_pro(Method::POST, "/groups/4/pros").json(&invitation));
    let number = invited.await.is(201)["id"].clone();
    answer(server.by_pro(Method::DELETE, "/groups/4/pros/5")).await.is(200);
    let seen = rows(&server, ACCESS).await;
    let ann = "professional:1".to_owned();
    let row = |verb: &str, object: &str, source: &str| {
        [verb.to_owned(), object.to_owned(), ann.clone(), source.to_owned()]
    };
    assert_eq!(
        outline(&seen),
        [
            row("left", "pro:5", ""),
            row("invited", &format!("invitation:{number}"), ""),
            row("role", "pro:4", ""),
            row("logged_in", "pro:1", "127.0.0.1"),
        ]
    );
    assert_eq!((&seen[2]["role"], &seen[2]["author_name"]), (&json!("reception"), &json!("Pro A")));
    assert!(seen[2]["key"].is_string() && seen[3]["key"].is_null());
    // Page by page, each once.
    let first = server.pro_get(&format!("{ACCESS}?results=3")).await.is(200);
    let rest = rows(&server, &format!("{ACCESS}?below={}", first["next"])).await;
    assert_eq!(rest, [seen[3].clone()]);
    let later = format!("{ACCESS}?from=2025-06-02%2008:00:01");
    assert!(rows(&server, &later).await.is_empty());
    server.pro_get(&format!("{ACCESS}?from=soon")).await.refused(400, 2, Some("from"));
    answer(server.by(RITA, Method::GET, ACCESS)).await.refused(403, 1, None);
}

#[tokio::test]
async fn failed_logins_of_known_people_are_one_row_an_hour_and_hold_no_address() {
    let server = TestServer::with_team(|_| {}).await;
    for _ in 0..3 {
        fail(&server, PAUL.0).await;
        fail(&server, "nobody@example.org").await;
        fail(&server, "cleo@example.org").await;
    }
    let seen = await_rows(&server, ACCESS, 2).await;
    let mut outlines = outline(&seen);
    outlines.sort();
    let row = |object: &str| ["login_failed", object, "unknown", "127.0.0.1"].map(str::to_owned);
    assert_eq!(outlines, [row(&format!("account:{OWN_FICHE}")), row("pro:4")]);
    assert!(seen.iter().all(|row| !row.to_string().contains("example.org")));
    server.at(clock(9, 0));
    fail(&server, PAUL.0).await;
    await_rows(&server, ACCESS, 3).await;
}

#[tokio::test]
async fn sessions_are_rows_with_their_key() {
    let server = TestServer::with_team(|_| {}).await;
    let sha1 = slotbook::password::sha1_hex(ANN.1);
    let body = json!({"pro": {"email": ANN.0, "password": sha1}});
    let path = format!("/api/v1/sessions/login?apikey={KEY}");
    answer(server.bare(Method::POST, &path).json(&body)).await.is(200);
    let seen = await_rows(&server, ACCESS, 1).await;
    assert_eq!(
        outline(&seen),
        [["logged_in", "pro:1", "professional:1", "127.0.0.1"].map(str::to_owned)]
    );
    assert!(seen[0]["key"].is_string());
}

#[tokio::test]
async fn a_read_of_a_client_is_one_row_an_hour_of_each_professional() {
    let server = TestServer::with_team(|_| {}).await;
    let booking = json!({"appointment": {"calendar_id": CALENDAR, "intervention_ids": [21],
        "fiche": {"id": KNOWN_FICHE}, "date": "2025-06-03 09:00:00"}});
    let made = answer(server.by_pro(Method::POST, "/groups/4/appointments").json(&booking));
    made.await.is(201);
    let one = format!("/groups/4/fiches/{KNOWN_FICHE}");
    let of_one = format!("/groups/4/history?object=fiche:{KNOWN_FICHE}");
    let before = rows(&server, &of_one).await.len();
    for _ in 0..2 {
        for person in [ANN, RITA, PAUL] {
            answer(server.by(person, Method::GET, &one)).await.is(200);
        }
    }
    // He does not read her, so there is no row.
    let other = format!("/groups/4/fiches/{OWN_FICHE}");
    answer(server.by(PAUL, Method::GET, &other)).await.refused(404, 3, None);
    let seen = await_rows(&server, &of_one, before + 3).await;
    let reads = &seen[..3];
    let mut authors: Vec<&str> = reads.iter().filter_map(|row| row["author"].as_str()).collect();
    authors.sort_unstable();
    assert_eq!(authors, ["professional:1", "professional:3", "professional:4"]);
    assert!(reads.iter().all(|row| row["verb"] == "read" && row["fields"] == json!([])));
    assert!(rows(&server, &format!("/groups/4/history?object=fiche:{OWN_FICHE}")).await.is_empty());
    // Her own reading leaves none.
    server.at(clock(9, 0));
    server.account_get(&other).await.is(200);
    answer(server.by(RITA, Method::GET, &one)).await.is(200);
    let seen = await_rows(&server, &of_one, before + 4).await;
    assert_eq!(seen[0]["author"], "professional:3");
    assert!(rows(&server, &format!("/groups/4/history?object=fiche:{OWN_FICHE}")).await.is_empty());
}

#[tokio::test]
async fn a_list_of_clients_is_one_row_with_its_count_and_without_the_words() {
    let server = TestServer::with_team(|_| {}).await;
    for path in ["/groups/4/fiches", "/groups/4/fiches?search=client", "/groups/4/fiches?search=no"]
    {
        answer(server.by(RITA, Method::GET, path)).await.is(200);
    }
    let seen = await_rows(&server, "/groups/4/history?object=fiches:4", 2).await;
    assert_eq!(seen.len(), 2);
    let count = |number: u64| json!({"field": "count", "after": number});
    let mut fields: Vec<&Value> = seen.iter().map(|row| &row["fields"]).collect();
    fields.sort_by_key(|fields| fields.as_array().map(Vec::len));
    assert_eq!(fields[0], &json!([count(2)]));
    assert_eq!(fields[1][1], json!({"field": "search"}));
}
