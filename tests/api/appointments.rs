//! Booking, reading and cancelling.

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::http::BookingLimits;

use crate::server::{Answer, TestServer, answer};
use crate::shop::{CALENDAR, CUT, KNOWN_FICHE, OTHER_CALENDAR, clock};

const PATH: &str = "/groups/4/appointments";

fn booking(time: &str) -> Value {
    json!({
        "date": format!("2025-06-02 {time}:00"),
        "intervention_ids": [CUT],
        "calendar_id": CALENDAR,
        "fiche": {"lastname": "Durand", "email": "d@example.org", "firstphone": "0102030405"},
    })
}

async fn book(server: &TestServer, appointment: &Value) -> Answer {
    answer(server.by_key(Method::POST, PATH).json(&json!({ "appointment": appointment }))).await
}

async fn pro_books(server: &TestServer, appointment: &Value) -> Answer {
    answer(server.by_pro(Method::POST, PATH).json(&json!({ "appointment": appointment }))).await
}

#[tokio::test]
async fn a_booking_is_answered_with_its_record_and_its_slot_is_gone() {
    let server = TestServer::start().await;
    let made = book(&server, &booking("09:30")).await.is(201);
    let records = made["records"].as_array().unwrap();
    assert_eq!(records.len(), 1);
    let record = &records[0];
    assert_eq!(
        (&record["start"], &record["end"]),
        (&json!("2025-06-02 09:30:00"), &json!("2025-06-02 10:00:00"))
    );
    assert_eq!(record["key"].as_str().map(str::len), Some(20));
    assert_eq!(record["group"], json!({"id": 4, "name": "Cut & Co", "urlname": "cut-co"}));
    assert_eq!(record["calendar"], json!({"id": CALENDAR, "publicname": "Ann"}));
    assert_eq!(
        record["intervention"],
        json!({"id": CUT, "publicname": "shown name", "interventionset_id": null, "length": 30})
    );
    assert_eq!(
        (&record["capacity"], &record["resource_id"], &record["state"]),
        (&json!(1), &json!(0), &json!(0))
    );
    assert_eq!((&record["from_web"], &record["deleted"]), (&json!(true), &json!(false)));
    assert_eq!((&record["created_since"], &record["calendar_name"]), (&json!(0), &json!("Ann")));
    let fiche = json!({"id": record["fiche_id"], "lastname": "Durand", "email": "d@example.org", "firstphone": "0102030405"});
    assert_eq!(record["fiche"], fiche, "the id, and what was sent");
    let slots =
        server.get("/groups/4/availabletimeslots?intervention_ids=21&calendar_id=11&nDays=1").await;
    assert!(!slots.text.contains("09:30:00") && !slots.text.contains("09:15:00"), "{}", slots.text);
    book(&server, &booking("09:45")).await.refused(400, 12, Some("date"));
    let mut other = booking("09:45");
    other["fiche"]["email"] = json!("other@example.org");
    let refused = book(&server, &other).await;
    refused.refused(400, 14, Some("date"));
    assert!(!refused.text.contains("09:30"), "a key alone is not told whose time it is");
}

#[tokio::test]
async fn the_secret_reads_and_cancels_one_appointment_and_nothing_else() {
    let server = TestServer::start().await;
    server.at(clock(7, 0));
    let mut wanted = booking("09:00");
    wanted["date"] = json!("2025-06-10 09:00:00");
    let made = book(&server, &wanted).await.is(201)["records"][0].clone();
    let (id, key) = (made["id"].as_u64().unwrap(), made["key"].as_str().unwrap());
    let path = format!("{PATH}/{id}");
    server.get(&path).await.refused(403, 1, None);
    server.get(&format!("{path}?key=wrong")).await.refused(404, 3, None);
    let absent = server.get(&format!("{PATH}/999999?key={key}")).await;
    assert!(absent.text.contains("\"no appointment 999999 in this group\""), "{}", absent.text);
    for unseen in [format!("{path}?key=wrong"), format!("{PATH}/51?key={key}")] {
        let unseen = server.get(&unseen).await;
        assert_eq!(unseen.text_without_numbers(), absent.text_without_numbers());
    }
    let shown = server.get(&format!("{path}?key={key}")).await.is(200);
    assert_eq!(shown["fiche"], json!({"id": made["fiche_id"]}));
    let delete = |query: String| answer(server.by_key(Method::DELETE, &format!("{path}{query}")));
    delete(String::new()).await.refused(403, 1, None);
    delete("?key=wrong".into()).await.refused(404, 3, None);
    let cancelled = delete(format!("?key={key}")).await.is(200);
    assert_eq!((&cancelled["id"], &cancelled["deleted"]), (&json!(id), &json!(true)));
    assert_eq!(delete(format!("?key={key}")).await.is(200)["deleted"], true, "again: unchanged");
    assert_eq!(server.get(&format!("{path}?key={key}")).await.is(200)["deleted"], true);
    book(&server, &wanted).await.is(201);
}

#[tokio::test]
async fn clients_cancel_in_time_and_professionals_at_any_time() {
    let server = TestServer::start().await;
    let made = book(&server, &booking("09:00")).await.is(201)["records"][0].clone();
    let path = format!("{PATH}/{}", made["id"]);
    let late = format!("{path}?key={}", made["key"].as_str().unwrap());
    let refused = answer(server.by_key(Method::DELETE, &late)).await;
    refused.refused(400, 10, None);
    assert!(refused.text.contains("2025-05-31 09:00:00"), "{}", refused.text);
    assert_eq!(answer(server.by_pro(Method::DELETE, &path)).await.is(200)["deleted"], true);
}

#[tokio::test]
async fn a_refusal_as_too_soon_names_a_start_that_a_booking_takes() {
    let server = TestServer::start().await;
    book(&server, &booking("09:15")).await.is(201);
    server.at(clock(9, 7));
    let refused = book(&server, &booking("09:00")).await;
    refused.refused(400, 9, Some("date"));
    let first = "the first start that can be booked now is 2025-06-02 09:45:00";
    assert!(refused.text.contains(first), "{}", refused.text);
    let mut other = booking("09:45");
    other["fiche"] = json!({"lastname": "Martin", "email": "m@example.org"});
    book(&server, &other).await.is(201);

    // A group that does not show its free starts to the public shows none in a refusal.
    let mut later = booking("09:00");
    later["date"] = json!("2025-06-10 09:00:00");
    later["fiche"]["email"] = json!("l@example.org");
    let made = book(&server, &later).await.is(201)["records"][0].clone();
    let closed = json!({"group": {"openData": false}});
    answer(server.by_pro(Method::PUT, "/groups/4").json(&closed)).await.is(200);
    let path = format!("{PATH}/{}?key={}", made["id"], made["key"].as_str().expect("a secret"));
    let moved = json!({"appointment": {"date": "2025-06-02 09:00:00"}});
    let refused = answer(server.by_key(Method::PUT, &path).json(&moved)).await;
    refused.refused(400, 9, Some("date"));
    let bound = "too soon: no start before 2025-06-02 09:07:00 can be booked now";
    assert!(refused.text.contains(bound), "{}", refused.text);
}

#[tokio::test]
async fn professionals_see_the_client_and_list_what_is_ahead() {
    let server = TestServer::start().await;
    book(&server, &booking("09:00")).await.is(201);
    book(&server, &booking("10:00")).await.is(201);
    server.at(clock(9, 30));
    let list = server.pro_get(PATH).await.is(200);
    assert_eq!(
        (&list["totalRecords"], &list["records"][0]["start"]),
        (&json!(1), &json!("2025-06-02 10:00:00"))
    );
    assert_eq!(list["records"][0]["fiche"]["lastname"], "Durand");
    assert_eq!(list["records"][0]["calendar_name"], "agenda");
    let all = server.pro_get(&format!("{PATH}?include_past=1&dir=desc")).await.is(200);
    assert_eq!(
        (&all["totalRecords"], &all["records"][0]["start"]),
        (&json!(2), &json!("2025-06-02 10:00:00"))
    );
    let id = &all["records"][1]["id"];
    assert_eq!(server.pro_get(&format!("{PATH}/{id}")).await.is(200)["id"], *id);
    server.pro_get(&format!("{PATH}?include_past=maybe")).await.refused(
        400,
        2,
        Some("include_past"),
    );
}

#[tokio::test]
async fn without_a_calendar_one_that_is_free_is_taken() {
    let server = TestServer::start().await;
    let mut anywhere = booking("09:00");
    anywhere.as_object_mut().unwrap().remove("calendar_id");
    let mut taken = Vec::new();
    for email in ["a@example.org", "b@example.org"] {
        anywhere["fiche"]["email"] = json!(email);
        taken.push(
            book(&server, &anywhere).await.is(201)["records"][0]["calendar_id"].as_u64().unwrap(),
        );
    }
    taken.sort_unstable();
    assert_eq!(taken, [CALENDAR, OTHER_CALENDAR]);
    anywhere["fiche"]["email"] = json!("c@example.org");
    book(&server, &anywhere).await.refused(400, 14, Some("date"));
}

#[tokio::test]
async fn a_known_client_is_booked_for_and_stays_as_it_is() {
    let server = TestServer::start().await;
    let mut again = booking("09:00");
    again["fiche"] = json!({"lastname": "Changed", "email": "KNOWN@example.org", "comments": "x"});
    let record = book(&server, &again).await.is(201)["records"][0].clone();
    assert_eq!(record["fiche_id"], 0, "a key alone does not learn whose client it is");
    assert_eq!(
        record["fiche"],
        json!({"id": 0, "lastname": "Changed", "email": "KNOWN@example.org"})
    );
    let seen = server.pro_get(&format!("{PATH}/{}", record["id"])).await.is(200);
    assert_eq!(seen["fiche_id"], KNOWN_FICHE);
    assert_eq!(
        (&seen["fiche"]["lastname"], &seen["fiche"]["comments"]),
        (&json!("Known"), &json!(""))
    );
}

#[tokio::test]
async fn both_spellings_of_a_mail_domain_are_one_client() {
    let server = TestServer::start().await;
    let mut clients = Vec::new();
    for (time, email) in [("09:00", "d@b\u{fc}cher.example"), ("10:00", "D@xn--bcher-kva.example")]
    {
        let mut wish = booking(time);
        wish["fiche"]["email"] = json!(email);
        let record = book(&server, &wish).await.is(201)["records"][0].clone();
        assert_eq!(record["fiche"]["email"], email);
        let seen = server.pro_get(&format!("{PATH}/{}", record["id"])).await.is(200);
        assert_eq!(seen["fiche"]["email"], "d@b\u{fc}cher.example", "as it was entered first");
        clients.push(seen["fiche_id"].clone());
    }
    assert_eq!(clients[0], clients[1]);
}

#[tokio::test]
async fn what_a_key_alone_may_not_book() {
    let server = TestServer::start().await;
    let mut back_office = booking("09:00");
    back_office["from_web"] = json!(0);
    back_office["date"] = json!("nonsense");
    book(&server, &back_office).await.refused(403, 1, None);
    let mut named = booking("09:00");
    named["fiche"]["id"] = json!(999);
    book(&server, &named).await.refused(403, 1, None);
    let closed = TestServer::with(|catalogue| catalogue.group.validate_email = true).await;
    book(&closed, &json!(null)).await.refused(403, 1, None);
    pro_books(&closed, &json!(null)).await.refused(400, 2, Some("appointment"));
}

#[tokio::test]
async fn professionals_book_for_a_fiche_and_change_it() {
    let server = TestServer::start().await;
    let mut given = booking("20:07");
    given["from_web"] = json!("0");
    given["intervention_ids"] = json!("21,22");
    given["fiche"] = json!({"id": KNOWN_FICHE.to_string(), "firstname": "Noa", "comments": "likes tea", "deleted": 1});
    let made = pro_books(&server, &given).await.is(201);
    assert_eq!(made["records"].as_array().unwrap().len(), 2);
    assert_eq!(made["records"][1]["start"], "2025-06-02 20:37:00");
    let fiche = &made["records"][1]["fiche"];
    assert_eq!(
        (&fiche["lastname"], &fiche["firstname"], &fiche["comments"]),
        (&json!("Known"), &json!("Noa"), &json!("likes tea"))
    );
    given["fiche"]["id"] = json!(999);
    pro_books(&server, &given).await.refused(400, 2, Some("fiche.id"));
}

#[tokio::test]
async fn what_a_record_shows_its_readers_sort_and_filter_by() {
    let server = TestServer::with_account(|_| {}).await;
    book(&server, &booking("09:30")).await.is(201);
    let own = json!({"appointment": {"date": "2025-06-02 11:00:00", "intervention_ids": [CUT], "calendar_id": CALENDAR}});
    answer(server.by_account(Method::POST, PATH).json(&own)).await.is(201);
    let sought = |field: &str, value: &Value| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!(
            "{PATH}?sort={field}&conditions[0][field]={field}&conditions[0][op]==&conditions[0][value]={value}"
        )
    };
    let key = server.account_get(PATH).await.is(200)["records"][0]["key"].clone();
    assert_eq!(server.pro_get(&sought("key", &key)).await.is(200)["records"][0]["key"], key);
    for field in [
        "capacity",
        "resource_id",
        "calendar_name",
        "intervention_name",
        "intervention_length",
        "location",
    ] {
        let seen = server.account_get(PATH).await.is(200)["records"][0][field].clone();
        assert_eq!(
            server.account_get(&sought(field, &seen)).await.is(200)["totalRecords"],
            1,
            "{field} {seen}"
        );
        let seen = server.pro_get(PATH).await.is(200)["records"][0][field].clone();
        assert_eq!(
            server.pro_get(&sought(field, &seen)).await.is(200)["totalRecords"],
            2,
            "{field} {seen}"
        );
    }
    let inside = server.pro_get(PATH).await.is(200)["records"][0]["intervention_name"].clone();
    assert_eq!(
        server.account_get(&sought("intervention_name", &inside)).await.is(200)["totalRecords"],
        0,
        "{inside}"
    );
}

#[tokio::test]
async fn appointments_are_sorted_and_found_by_their_age() {
    let server = TestServer::start().await;
    let mut ids = Vec::new();
    for (made_at, time) in
        [(clock(7, 0), "11:00"), (clock(7, 10), "09:00"), (clock(7, 20), "10:00")]
    {
        server.at(made_at);
        let mut wanted = booking(time);
        wanted["fiche"]["email"] = json!(format!("c{}@example.org", ids.len()));
        ids.push(book(&server, &wanted).await.is(201)["records"][0]["id"].clone());
    }
    server.at(clock(7, 30));
    let listed = async |query: &str| {
        let list = server.pro_get(&format!("{PATH}?{query}")).await.is(200);
        list["records"].as_array().expect("a list").clone()
    };
    let by_age = listed("sort=created_since").await;
    let ages: Vec<(&Value, &Value)> =
        by_age.iter().map(|record| (&record["id"], &record["created_since"])).collect();
    assert_eq!(ages, [(&ids[2], &json!(600)), (&ids[1], &json!(1_200)), (&ids[0], &json!(1_800))]);
    let oldest = listed("sort=created_since&dir=desc&results=1").await;
    assert_eq!(oldest[0]["id"], ids[0]);
    for (op, value, found) in [
        ("<", "1200", 1),
        ("<=", "1200", 2),
        ("=", "1800", 1),
        ("in", "600,1800", 2),
        ("like", "1%25", 2),
    ] {
        let condition = format!(
            "conditions[0][field]=created_since&conditions[0][op]={op}&conditions[0][value]={value}"
        );
        assert_eq!(listed(&condition).await.len(), found, "{op} {value}");
    }
    let wrong = "conditions[0][field]=created_since&conditions[0][op]=<&conditions[0][value]=soon";
    server.pro_get(&format!("{PATH}?{wrong}")).await.refused(400, 2, Some("conditions[0][value]"));
}

#[tokio::test]
async fn a_booking_says_how_many_more_the_source_may_make() {
    let limits = BookingLimits { source_hourly_max: 2, source_daily_max: 9, ..BookingLimits::NONE };
    let groups = vec![crate::shop::group_four(|_| {}), crate::shop::group_five()];
    let server = TestServer::serving(groups, |server| server.limit_bookings(limits)).await;
    let book = |hour: u32| {
        let body = json!({"appointment": {"date": format!("2025-06-02 {hour}:00:00"),
            "calendar_id": CALENDAR, "intervention_ids": [CUT],
            "fiche": {"lastname": "Durand", "email": format!("c{hour}@example.org")}}});
        answer(server.by_key(Method::POST, "/groups/4/appointments").json(&body))
    };
    for (hour, left) in [(10, 1), (11, 0)] {
        let booked = book(hour).await;
        booked.is(201);
        let shown = format!("\"source_hourly\";r={left};t=3600");
        assert_eq!(booked.headers["ratelimit"], shown.as_str());
    }
    let refused = book(14).await;
    refused.refused(429, 4, None);
    assert_eq!(refused.headers["ratelimit"], "\"default\";r=0;t=3600");
    assert_eq!(refused.headers["retry-after"], "3600");
}
