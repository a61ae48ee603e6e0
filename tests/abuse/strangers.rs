//! What strangers learn of a practice's clients, by the answers to the public key.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{ANNA, Answer, Practice, Visitor, answer};

const APPOINTMENTS: &str = "/groups/1/appointments";
/// A client with an account.
const ACCOUNT: &str = "louise.thomas@example.org";
/// A client without an account.
const KNOWN: &str = "ines.mathieu@example.org";
const UNKNOWN: &str = "zoe.quidam@example.org";

/// A booking far beyond every lead time.
fn far_booking(fiche: Value) -> Value {
    json!({"appointment": {"date": "2099-03-02 09:00:00", "intervention_ids": [1], "fiche": fiche}})
}

async fn post(visitor: &Visitor, path: &str, body: &Value) -> Answer {
    answer(visitor.request(Method::POST, path).json(body)).await
}

/// The status and the body of an answer, with the address that was sent taken out.
fn without_address(answer: &Answer, email: &str) -> (u16, String) {
    (answer.status.as_u16(), answer.text.replace(email, "<address>"))
}

fn require_insurance(document: &mut Value) {
    document["groups"][0]["customfields"][0]["user_required"] = json!(true);
}

#[tokio::test]
async fn an_address_alone_does_not_tell_known_from_unknown() {
    let practice = Practice::with(require_insurance, |server| server).await;
    let stranger = practice.visitor("127.0.0.2");
    for (fiche, fields) in [
        (json!({}), &["fiche.lastname", "fiche.str0"][..]),
        (json!({"lastname": "X"}), &["fiche.str0"]),
        (json!({"str0": "X"}), &["fiche.lastname"]),
        (json!({"lastname": "X", "str0": "X", "str9": "X"}), &["fiche.str9"]),
    ] {
        let mut answers = Vec::new();
        for email in [ACCOUNT, KNOWN, UNKNOWN] {
            let mut fiche = fiche.clone();
            fiche["email"] = json!(email);
            let refused = post(&stranger, APPOINTMENTS, &far_booking(fiche)).await;
            refused.refused(400, 2);
            answers.push(refused.text);
        }
        assert!(fields.iter().any(|field| answers[0].contains(field)), "{}", answers[0]);
        assert_eq!((&answers[0], &answers[0]), (&answers[1], &answers[2]));
    }
    let mut answers = Vec::new();
    for email in [KNOWN, UNKNOWN] {
        let fiche = json!({"lastname": "X", "str0": "X", "email": email});
        let refused = post(&stranger, APPOINTMENTS, &far_booking(fiche)).await;
        refused.refused(400, 8);
        answers.push(refused.text);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn a_booking_for_a_known_client_is_answered_as_for_an_unknown_one() {
    let mut answers = Vec::new();
    for email in [KNOWN, UNKNOWN] {
        // The same practice with the same randomness, so that every byte can be compared.
        let practice = Practice::open().await;
        let (start, calendar) = practice.free_starts().await.pop_front().expect("a free start");
        let stranger = practice.visitor("127.0.0.2");
        let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
            "intervention_ids": [1], "fiche": {"lastname": "X", "email": email}}});
        let booked = post(&stranger, APPOINTMENTS, &wish).await;
        let record = booked.is(201)["records"][0].clone();
        let hidden = [&record["fiche_id"], &record["fiche"]["id"], &record["state"]];
        assert_eq!(hidden, [&json!(0), &json!(0), &json!(0)], "{record}");
        let key = record["key"].as_str().expect("a key");
        let one = format!("{APPOINTMENTS}/{}?key={key}", record["id"]);
        let read = stranger.get(&one).await;
        let cancelled = answer(stranger.request(Method::DELETE, &one)).await;
        answers.push([booked, read, cancelled].map(|answer| without_address(&answer, email)));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn refusals_that_tell_of_a_client_run_out() {
    let only_known = |document: &mut Value| document["groups"][0]["open"] = json!(false);
    let practice = Practice::with(only_known, |server| server).await;
    let [first, second] = ["127.0.0.2", "127.0.0.3"].map(|source| practice.visitor(source));
    let guess = async |stranger: &Visitor, email: &str| {
        let fiche = json!({"lastname": "X", "email": email});
        post(stranger, APPOINTMENTS, &far_booking(fiche)).await
    };
    for _ in 0..10 {
        guess(&first, ACCOUNT).await.refused(400, 11);
    }
    guess(&first, ACCOUNT).await.refused(429, 4);
    // No stranger keeps the owner out: another source has a count of its own.
    guess(&second, ACCOUNT).await.refused(400, 11);
    for number in 0..5 {
        guess(&first, &format!("g{number}@example.org")).await.refused(400, 13);
        guess(&first, KNOWN).await.refused(400, 8);
    }
    let refused = guess(&first, UNKNOWN).await;
    refused.refused(429, 4);
    assert_eq!(refused.headers["retry-after"], "3600");
    guess(&second, UNKNOWN).await.refused(400, 13);
    practice.pass(3_600);
    guess(&first, ACCOUNT).await.refused(400, 11);
}

#[tokio::test]
async fn a_56_guesses_clients_40_times_and_a_48_80_times_in_an_hour() {
    let only_known = |document: &mut Value| document["groups"][0]["open"] = json!(false);
    let practice = Practice::with(only_known, |server| server).await;
    let mut told = 0;
    let mut of_site = 0;
    for (site, stranger) in practice.neighbours() {
        for _ in 0..21 {
            let fiche = json!({"lastname": "X", "email": format!("g{told}@example.org")});
            let answer = post(&stranger, APPOINTMENTS, &far_booking(fiche)).await;
            told += u32::from(answer.status == 400);
        }
        if site == 0 {
            of_site = told;
        }
    }
    assert_eq!([of_site, told], [40, 80]);
}

#[tokio::test]
async fn guesses_with_a_key_of_a_server_count_by_address_and_not_by_source() {
    let practice = Practice::with(
        |document| {
            document["apikeys"][0]["server"] = json!(true);
            document["groups"][0]["open"] = json!(false);
        },
        |server| server,
    )
    .await;
    let site = practice.visitor("127.0.0.2");
    let guess = async |email: &str| {
        let fiche = json!({"lastname": "X", "email": email});
        post(&site, APPOINTMENTS, &far_booking(fiche)).await
    };
    for _ in 0..10 {
        guess(ACCOUNT).await.refused(400, 11);
    }
    guess(ACCOUNT).await.refused(429, 4);
    for number in 0..30 {
        guess(&format!("client{number}@example.org")).await.refused(400, 13);
    }
}

#[tokio::test]
async fn a_secret_shows_no_remarks_of_professionals() {
    let practice = Practice::open().await;
    let (start, calendar) = practice.free_starts().await.pop_front().expect("a free start");
    let stranger = practice.visitor("127.0.0.2");
    let wish = json!({"appointment": {"date": start, "calendar_id": calendar,
        "intervention_ids": [1], "comments": "door code 7", "internal_comments": "from outside",
        "fiche": {"lastname": "X", "email": UNKNOWN}}});
    let record = post(&stranger, APPOINTMENTS, &wish).await.is(201)["records"][0].clone();
    assert_eq!(
        (&record["comments"], record.get("internal_comments")),
        (&json!("door code 7"), None)
    );
    let row = format!("/groups/1/vevents/{}", record["id"]);
    let one =
        format!("{APPOINTMENTS}/{}?key={}", record["id"], record["key"].as_str().expect("a key"));
    let by_anna = |method: Method, path: &str| {
        stranger.request(method, path).basic_auth(ANNA.0, Some(ANNA.1))
    };
    let kept = answer(by_anna(Method::GET, &row)).await.is(200);
    assert_eq!(kept["internal_comments"], "", "strangers write none");
    let remarks = json!({"vevent": {"comments": "pays late", "internal_comments": "see file",
        "state": 2}});
    answer(by_anna(Method::PUT, &row).json(&remarks)).await.is(200);
    let seen = stranger.get(&one).await.is(200);
    assert_eq!((&seen["comments"], &seen["state"]), (&json!("door code 7"), &json!(0)));
    assert!(seen.get("internal_comments").is_none(), "{seen}");
    let pros = answer(by_anna(Method::GET, &one)).await.is(200);
    assert_eq!(
        (&pros["comments"], &pros["internal_comments"], &pros["state"]),
        (&json!("pays late"), &json!("see file"), &json!(2))
    );
    let given_away = json!({"vevent": {"fiche_id": 2}});
    answer(by_anna(Method::PUT, &row).json(&given_away)).await.is(200);
    let anew = answer(by_anna(Method::GET, &row)).await.is(200);
    let one =
        format!("{APPOINTMENTS}/{}?key={}", record["id"], anew["key"].as_str().expect("a key"));
    assert_eq!(stranger.get(&one).await.is(200)["comments"], "", "those of another client");
}

#[tokio::test]
async fn the_past_is_explained_by_its_lead_time_alone() {
    let practice = Practice::open().await;
    let stranger = practice.visitor("127.0.0.2");
    let by_anna = stranger
        .request(Method::GET, "/groups/1/vevents?results=all")
        .basic_auth(ANNA.0, Some(ANNA.1));
    let vevents = answer(by_anna).await.is(200);
    let past = vevents["records"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|vevent| vevent["fiche_id"] != json!(0) && vevent["deleted"] == json!(false))
        .expect("an appointment");
    let (start, calendar) = (past["start"].as_str().expect("a time"), &past["calendar_id"]);
    let path = format!(
        "/groups/1/availabletimeslots?intervention_ids[]=1&calendar_id={calendar}&explain={start}"
    );
    let explained = stranger.get(&path).await.is(200);
    let reasons = explained["calendars"][0]["reasons"].as_array().expect("a list");
    let rules: Vec<&Value> = reasons.iter().map(|reason| &reason["rule"]).collect();
    assert_eq!(rules, ["MintimeRdv"], "{explained}");
}

#[tokio::test]
async fn asking_for_an_account_tells_nobody_known_from_unknown() {
    let mut answers = Vec::new();
    for email in [ACCOUNT, KNOWN, UNKNOWN] {
        let practice = Practice::open().await;
        let stranger = practice.visitor("127.0.0.2");
        let body = json!({"account": {"email": email, "group_id": 1}});
        let mut asked = Vec::new();
        for _ in 0..7 {
            asked.push(without_address(&post(&stranger, "/accounts", &body).await, email));
        }
        answers.push(asked);
    }
    assert_eq!((&answers[0], &answers[0]), (&answers[1], &answers[2]));
}
