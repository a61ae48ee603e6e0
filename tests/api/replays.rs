//! What known clients of this API send, letter by letter: brackets raw and encoded, ids as texts, booleans as "1".

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use slotbook::domain::records::ids::{InterventionId, InterventionsetId};
use slotbook::domain::records::intervention::Interventionset;
use slotbook::domain::records::text::Name;
use slotbook::password::sha1_hex;

use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, KEY, KNOWN_FICHE, OTHER_CALENDAR, clock};

fn ids(list: &Value) -> Vec<u64> {
    let records = list["records"].as_array().expect("records");
    records.iter().map(|record| record["id"].as_u64().expect("an id")).collect()
}

/// A request with a body as it was captured.
fn raw(server: &TestServer, method: Method, target: &str, body: &str) -> RequestBuilder {
    server.bare(method, target).header("Content-Type", "application/json").body(body.to_owned())
}

fn as_ann(request: RequestBuilder) -> RequestBuilder {
    request.basic_auth(ANN.0, Some(ANN.1))
}

/// Books by the key alone and returns the record.
async fn booked(server: &TestServer, date: &str, email: &str) -> Value {
    let body = format!(
        r#"{{"appointment":{{"date":"{date}","calendar_id":"{CALENDAR}","intervention_ids":["{CUT}"],
            "fiche":{{"lastname":"Durand","email":"{email}"}}}}}}"#
    );
    let made = answer(raw(
        server,
        Method::POST,
        &format!("/api/v1/groups/4/appointments.json?apikey={KEY}"),
        &body,
    ));
    made.await.is(201)["records"][0].clone()
}

#[tokio::test]
async fn a_web_office_logs_in_by_form_and_pages_through_appointments_with_its_cookie() {
    let server = TestServer::start().await;
    for (time, email) in
        [("09:00", "a@x.org"), ("09:30", "b@x.org"), ("10:00", "c@x.org"), ("11:00", "d@x.org")]
    {
        booked(&server, &format!("2025-06-02 {time}:00"), email).await;
    }
    // The last is still to come; the others are past.
    server.at(clock(10, 45));
    let hash = sha1_hex(ANN.1);
    let mut cookies = Vec::new();
    for (target, form) in [
        (
            format!("/api/v1/sessions/login.json?apikey={KEY}"),
            format!("pro[email]=ann@example.org&pro[password]={hash}&apikey={KEY}"),
        ),
        (
            "/api/v1/sessions/login".to_owned(),
            format!("apikey={KEY}&pro%5Bemail%5D=ann%40example.org&pro%5Bpassword%5D={hash}"),
        ),
        (
            format!(
                "/api/v1/sessions/login?apikey={KEY}&pro[email]=ann%40example.org&pro[password]={hash}"
            ),
            String::new(),
        ),
    ] {
        let login = server
            .bare(Method::POST, &target)
            .header("Content-Type", "application/x-www-form-urlencoded");
        let logged_in = answer(login.body(form)).await;
        assert_eq!(logged_in.is(200)["pro"]["group_id"], 4, "{target}");
        let set = logged_in.headers["set-cookie"].to_str().unwrap();
        cookies.push(set.split(';').next().unwrap().to_owned());
    }
    let get = |path: &str| server.bare(Method::GET, path).header("Cookie", cookies[1].clone());
    let (mut seen, mut total) = (Vec::new(), u64::MAX);
    while (seen.len() as u64) < total {
        let start = seen.len();
        let path = format!(
            "/api/v1/groups/4/appointments.json?include_past=1&sort=start&dir=asc&results=3&startIndex={start}"
        );
        let page = answer(get(&path)).await.is(200);
        total = page["totalRecords"].as_u64().unwrap();
        assert_eq!(page["recordsReturned"], page["records"].as_array().unwrap().len());
        assert!(!ids(&page).is_empty(), "a page before the end has records");
        seen.extend(
            page["records"].as_array().unwrap().iter().map(|record| record["start"].clone()),
        );
    }
    assert_eq!(
        seen,
        ["09:00", "09:30", "10:00", "11:00"].map(|time| json!(format!("2025-06-02 {time}:00")))
    );
    let upcoming = answer(get("/api/v1/groups/4/appointments?results=all")).await.is(200);
    assert_eq!(upcoming["totalRecords"], 1);
    assert_eq!(ids(&answer(get("/api/v1/groups/4/fiches?results=all")).await.is(200)).len(), 5);
    let fiche = r#"{"fiche":{"group_id":"4","lastname":"Martin","firstname":"Léa","email":"","birthdate":"","firstphone":"0601020304","rappel_sms":"1","num0":"","str0":""}}"#;
    let made = raw(&server, Method::POST, "/api/v1/groups/4/fiches.json", fiche)
        .header("Cookie", cookies[0].clone());
    let made = answer(made).await.is(201);
    assert_eq!(
        (&made["rappel_sms"], &made["str0"], &made["birthdate"]),
        (&json!(true), &Value::Null, &Value::Null)
    );
    answer(get("/api/v1/calendars")).await.is(200);
}

#[tokio::test]
async fn a_vendor_puts_the_key_into_the_body_of_older_paths() {
    let server = TestServer::start().await;
    let send = |method: Method, target: &str, body: &str| {
        answer(as_ann(raw(&server, method, target, body)))
    };
    let body = format!(
        r#"{{"apikey":"{KEY}","fiche":{{"group_id":"4","lastname":"Petit","firstname":"Luc","firstphone":"0102030405","email":"luc@example.org","rappel_email":"1","externid":"77"}}}}"#
    );
    let made = send(Method::POST, "/api/v1/fiches", &body).await.is(201);
    let id = made["id"].as_u64().unwrap();
    assert_eq!((&made["externid"], &made["rappel_email"]), (&json!(77), &json!(true)));
    let body = format!(
        r#"{{"apikey":"{KEY}","fiche":{{"id":"{id}","lastname":"Petit-Jean","rappel_email":"0"}}}}"#
    );
    let put = send(Method::PUT, &format!("/api/v1/fiches/{id}"), &body).await.is(200);
    assert_eq!(
        (&put["lastname"], &put["firstname"], &put["rappel_email"]),
        (&json!("Petit-Jean"), &json!("Luc"), &json!(false))
    );
    let got = as_ann(server.bare(Method::GET, &format!("/api/v1/fiches/{id}.json?apikey={KEY}")));
    assert_eq!(answer(got).await.is(200), put);
    send(Method::DELETE, &format!("/api/v1/fiches/{id}"), &format!(r#"{{"apikey":"{KEY}"}}"#))
        .await
        .refused(405, 2, None);
    let body =
        format!(r#"{{"apikey":"{KEY}","calendar":{{"group_id":4,"name":"Room 2","sort":"9"}}}}"#);
    let calendar = send(Method::POST, "/api/v1/calendars", &body).await.is(201);
    let path = format!("/api/v1/calendars/{}", calendar["id"]);
    let gone = send(Method::DELETE, &path, &format!(r#"{{"apikey":"{KEY}"}}"#)).await.is(200);
    assert_eq!((&gone["deleted"], &gone["sort"]), (&json!(true), &json!(9)));
    let body = format!(r#"{{"apikey":"{KEY}","calendar":{{"deleted":false}}}}"#);
    assert_eq!(send(Method::PUT, &path, &body).await.is(200)["deleted"], false);
}

#[expect(clippy::too_many_lines, reason = "one list of cases, read from top to bottom")]
#[tokio::test]
async fn an_agenda_synchronises_both_ways() {
    let server = TestServer::start().await;
    let path = |rest: &str| format!("/api/v1/groups/4/{rest}apikey={KEY}&format=json");
    let get = |rest: &str| answer(as_ann(server.bare(Method::GET, &path(rest))));
    let send = |method: Method, rest: &str, body: &str| {
        answer(as_ann(raw(&server, method, &path(rest), body)))
    };
    let offered = get(&format!("interventions?calendar_ids[]={CALENDAR}&")).await.is(200);
    assert_eq!(ids(&offered), [CUT, COLOUR]);
    assert_eq!(
        get(&format!("interventions?calendar_ids%5B%5D={CALENDAR}&")).await.is(200),
        offered
    );

    // A client and an appointment leave the other agenda; then a plage that names a service but no client.
    let fiche = r#"{"fiche":{"lastname":"Roux","firstname":"Zoé","email":"zoe@example.org","firstphone":""}}"#;
    let fiche = send(Method::POST, "fiches?", fiche).await.is(201)["id"].as_u64().unwrap();
    let body = format!(
        r#"{{"vevent":{{"calendar_id":"{CALENDAR}","fiche_id":"{fiche}","intervention_id":"{CUT}","start":"2025-06-03 14:00:00","end":"2025-06-03 14:30:00","taker":"sync","comments":"","type":"","note":"0"}}}}"#
    );
    let appointment = send(Method::POST, "vevents?", &body).await.is(201);
    assert_eq!(
        (&appointment["fiche_id"], &appointment["text"]),
        (&json!(fiche), &json!("Roux Zoé"))
    );
    let body = format!(
        r#"{{"vevent":{{"calendar_id":{CALENDAR},"fiche_id":0,"intervention_id":{CUT},"start":"2025-06-03 16:00:00","end":"2025-06-03 17:00:00","text":"Dentist","taker":"x"}}}}"#
    );
    let plage = send(Method::POST, "vevents?", &body).await.is(201);
    assert_eq!(
        (&plage["fiche_id"], &plage["intervention_id"], &plage["text"]),
        (&json!(0), &json!(CUT), &json!("Dentist"))
    );

    // It moves in time, then to another calendar, where it is deleted.
    server.at(clock(9, 0));
    let id = &appointment["id"];
    let body =
        r#"{"vevent":{"start":"2025-06-03 15:00:00","end":"2025-06-03 15:30:00","taker":"sync"}}"#;
    let moved = send(Method::PUT, &format!("vevents/{id}?"), body).await.is(200);
    assert_eq!(
        (&moved["start"], &moved["end"]),
        (&json!("2025-06-03 15:00:00"), &json!("2025-06-03 15:30:00"))
    );
    let body = format!(r#"{{"vevent":{{"calendar_id":"{OTHER_CALENDAR}","deleted":"1"}}}}"#);
    let gone = send(Method::PUT, &format!("vevents/{id}?"), &body).await.is(200);
    assert_eq!((&gone["calendar_id"], &gone["deleted"]), (&json!(OTHER_CALENDAR), &json!(true)));

    // What has changed here since the last time, but availabilities and what this client wrote itself.
    server.at(clock(9, 30));
    let web =
        booked(&server, "2025-06-03 10:00:00", "web@example.org").await["id"].as_u64().unwrap();
    let conditions = |field: &str, op: &str, value: &str, n: usize| {
        format!(
            "conditions[{n}][field]={field}&conditions[{n}][op]={op}&conditions[{n}][value]={value}&"
        )
    };
    let common = conditions("type", "!=", "VfreebusyEvent", 0)
        + &conditions("start", ">=", "2025-06-01+00:00:00", 1)
        + &conditions("end", "<=", "2025-06-30%2023:59:59", 2);
    let since = conditions("updated_at", ">=", "2025-06-02%2009%3A30%3A00", 3);
    let all = get(&format!("vevents?{common}sort=id&")).await.is(200);
    assert_eq!(
        ids(&all),
        [id.as_u64().unwrap(), plage["id"].as_u64().unwrap(), web],
        "deleted ones too"
    );
    let not_own = get(&format!("vevents?{common}{}sort=id&", conditions("taker", "!=", "sync", 3)))
        .await
        .is(200);
    assert_eq!(ids(&not_own), [plage["id"].as_u64().unwrap(), web]);
    let encoded = format!("vevents?{common}{since}")
        .replace('[', "%5B")
        .replace(']', "%5D")
        .replace("!=", "%21=");
    assert_eq!(ids(&get(&encoded).await.is(200)), [web]);
    let clients =
        get(&format!("fiches?{}", conditions("updated_at", ">=", "2025-06-02+09:30:00", 0)))
            .await
            .is(200);
    assert!(!ids(&clients).contains(&KNOWN_FICHE) && ids(&clients).len() == 1);

    // The client of that plage is known by now: it becomes an appointment of the service it named.
    let body = format!(r#"{{"vevent":{{"fiche_id":"{fiche}","taker":"sync"}}}}"#);
    let arranged = send(Method::PUT, &format!("vevents/{}?", plage["id"]), &body).await.is(200);
    assert_eq!(
        (&arranged["fiche_id"], &arranged["intervention_id"], &arranged["text"]),
        (&json!(fiche), &json!(CUT), &json!("Roux Zoé"))
    );
}

#[tokio::test]
async fn a_booking_module_walks_from_services_to_an_appointment_by_its_key_alone() {
    let server = TestServer::with(|catalogue| {
        let id = InterventionsetId::new(71).expect("an id");
        let mut set = Interventionset::new(id, clock(6, 0));
        set.name = Name::new("inside").expect("a name");
        set.publicname = Name::new("For everybody").expect("a name");
        catalogue.interventionsets.insert(id, set.into());
        let cut = catalogue
            .interventions
            .get_mut(&InterventionId::new(CUT).expect("an id"))
            .expect("it is there");
        std::sync::Arc::make_mut(cut).interventionset_id = Some(id);
    })
    .await;
    let get = |rest: &str| {
        answer(server.bare(Method::GET, &format!("/api/v1/groups/4{rest}apikey={KEY}")))
    };
    let group = get(".json?").await.is(200);
    assert_eq!((&group["openData"], group.get("sendmail")), (&json!(true), None));
    let sets = get("/interventionsets.json?").await.is(200);
    assert_eq!((ids(&sets), sets["records"][0].get("name")), (vec![71], None));
    let services = get("/interventions.json?interventionset_id=71&").await.is(200);
    assert_eq!(
        (ids(&services), &services["records"][0]["publicname"]),
        (vec![CUT], &json!("shown name"))
    );
    let calendars = get(&format!("/calendars.json?intervention_ids%5B%5D={CUT}&")).await.is(200);
    assert_eq!(ids(&calendars), [CALENDAR, OTHER_CALENDAR]);
    let search =
        format!("intervention_ids[]={CUT}&calendar_id=&start=2025-06-03+00%3A00%3A00&nDays=2&");
    let slots = get(&format!("/availabletimeslots.json?{search}")).await.is(200);
    assert_eq!(
        (&slots["firstSlot"], &slots["availabletimeslots"][0]["capacity"]),
        (&json!("2025-06-03 09:00:00"), &json!(2))
    );
    let body = format!(
        r#"{{"appointment":{{"date":"2025-06-03 09:00:00","calendar_id":"","intervention_ids":[{CUT}],"comments":"","websource":"site","from_web":"1","smsreminder":"1","fiche":{{"lastname":"Blanc","firstname":"Eva","firstphone":"0102030405","email":"eva@example.org","birthdate":""}}}}}}"#
    );
    let target = format!("/api/v1/groups/4/appointments.json?apikey={KEY}");
    let made = answer(raw(&server, Method::POST, &target, &body)).await.is(201);
    let record = &made["records"][0];
    assert_eq!(
        (&record["start"], &record["websource"]),
        (&json!("2025-06-03 09:00:00"), &json!("site"))
    );
    let again = get(&format!("/availabletimeslots.json?{search}")).await.is(200);
    assert_eq!(again["availabletimeslots"][0]["capacity"], 1, "one calendar is left");
    let one =
        format!("/appointments/{}.json?key={}&", record["id"], record["key"].as_str().unwrap());
    assert_eq!(get(&one).await.is(200)["state"], 0);
}

#[tokio::test]
async fn an_old_client_glues_the_format_to_its_last_value() {
    let server = TestServer::start().await;
    let get = |target: &str| answer(server.bare(Method::GET, target));
    let calendars = format!("/api/v1/groups/4/calendars?apikey={KEY}");
    let plain = get(&calendars).await.is(200);
    assert_eq!(get(&format!("{calendars}?format=json")).await.is(200), plain);
    let all = get(&format!("{calendars}&results=all?format=json")).await.is(200);
    assert_eq!(all["records"], plain["records"]);
    get(&format!("{calendars}?format=xml")).await.refused(406, 2, None);
}

#[tokio::test]
async fn a_form_library_sends_a_list_as_the_value_of_a_condition() {
    let server = TestServer::start().await;
    let list = |op: &str, values: &str| {
        format!("/groups/4/calendars?conditions[0][field]=id&conditions[0][op]={op}{values}")
    };
    let value = |id: u64| format!("&conditions[0][value][]={id}");
    let both = value(CALENDAR) + &value(OTHER_CALENDAR);
    assert_eq!(ids(&server.get(&list("in", &both)).await.is(200)), [CALENDAR, OTHER_CALENDAR]);
    let encoded = list("=", &value(CALENDAR)).replace('[', "%5B").replace(']', "%5D");
    assert_eq!(ids(&server.get(&encoded).await.is(200)), [CALENDAR]);
    let field = Some("conditions[0][value]");
    server.get(&list("=", &both)).await.refused(400, 2, field);
}

#[tokio::test]
async fn a_desk_searches_and_sorts_without_accents() {
    let server = TestServer::start().await;
    let mut made = Vec::new();
    for (lastname, firstname) in [("Émile", "Zoé"), ("Eve", "zora"), ("dupont", "ZOE")] {
        let fiche = json!({"fiche": {"lastname": lastname, "firstname": firstname}});
        let made_one = server.by_pro(Method::POST, "/groups/4/fiches").json(&fiche);
        made.push(answer(made_one).await.is(201)["id"].as_u64().expect("an id"));
    }
    let found = server.pro_get("/groups/4/fiches?search=zoe&sort=lastname").await.is(200);
    assert_eq!(ids(&found), [made[2], made[0]]);
    let sorted = server.pro_get("/groups/4/fiches?search=zo&sort=lastname").await.is(200);
    assert_eq!(ids(&sorted), [made[2], made[0], made[1]]);
    let like = "conditions[0][field]=lastname&conditions[0][op]=like&conditions[0][value]=emi%25";
    let found = server.pro_get(&format!("/groups/4/fiches?{like}")).await.is(200);
    assert_eq!(ids(&found), [made[0]]);
}

#[tokio::test]
async fn a_form_sends_numbers_with_spaces_and_a_library_escapes_every_letter() {
    let server = TestServer::start().await;
    let definition = json!({"customfield": {"model": "Fiche", "name": "num3"}});
    answer(server.by_pro(Method::POST, "/groups/4/customfields").json(&definition)).await.is(201);
    let put = |number: &str| {
        let body = format!(r#"{{"fiche":{{"num3":{number}}}}}"#);
        let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
        let request = server.by_pro(Method::PUT, &path).header("Content-Type", "application/json");
        answer(request.body(body))
    };
    for (given, shown) in [
        (r#""12 345""#, "12345"),
        (r#""1 85 05 75 123 456 78""#, "185057512345678"),
        ("9007199254740991", "9007199254740991"),
        ("2.50", "2.5"),
        ("-3.0", "-3"),
    ] {
        let answer = put(given).await;
        let field = format!("\"num3\":{shown}}}");
        assert!(answer.status == 200 && answer.text.contains(&field), "{given}: {}", answer.text);
    }
    put("\"9007199254740993\"").await.refused(400, 2, Some("num3"));

    // 60,000 letters, each as six bytes.
    let escaped = "\\u00e9".repeat(60_000);
    let body = format!(r#"{{"fiche":{{"comments":"{escaped}"}}}}"#);
    let path = format!("/groups/4/fiches/{KNOWN_FICHE}");
    let request = server.by_pro(Method::PUT, &path).header("Content-Type", "application/json");
    let changed = answer(request.body(body)).await.is(200);
    assert_eq!(changed["comments"].as_str().expect("a text").chars().count(), 60_000);
}
