//! Groups, calendars and interventions, as lists and one by one.

use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use slotbook::domain::records::ids::{CalendarId, InterventionId};
use slotbook::domain::records::intervention::Intervention;
use slotbook::domain::records::text::{Name, Text};

use crate::server::{TestServer, answer};
use crate::shop::{ANN, CALENDAR, COLOUR, CUT, HIDDEN_CALENDAR, KEY_OF_ALL, OTHER_CALENDAR, clock};

fn ids(list: &Value) -> Vec<u64> {
    list["records"]
        .as_array()
        .expect("records")
        .iter()
        .map(|record| record["id"].as_u64().expect("an id"))
        .collect()
}

#[tokio::test]
async fn a_key_lists_the_groups_it_names_and_a_professional_its_own() {
    let server = TestServer::start().await;
    let list = server.get("/groups").await.is(200);
    assert_eq!(
        (ids(&list), &list["totalRecords"], &list["pageSize"]),
        (vec![4], &json!(1), &json!(25))
    );
    assert!(list["records"][0].get("sendmail").is_none());
    let path = format!("/api/v1/groups?apikey={KEY_OF_ALL}");
    answer(server.bare(Method::GET, &path)).await.refused(403, 1, None);
    let own = answer(server.bare(Method::GET, &path).basic_auth(ANN.0, Some(ANN.1))).await.is(200);
    assert_eq!((ids(&own), &own["records"][0]["sendmail"]), (vec![4], &json!(true)));
}

#[tokio::test]
async fn a_key_alone_sees_what_the_module_shows() {
    let server = TestServer::start().await;
    let list = server.get("/groups/4/calendars").await.is(200);
    assert_eq!(ids(&list), [CALENDAR, OTHER_CALENDAR]);
    assert!(list["records"][0].get("name").is_none() && list["records"][0]["publicname"] == "Ann");
    let all = server.pro_get("/groups/4/calendars?sort=name&dir=desc&results=2").await.is(200);
    assert_eq!((ids(&all), &all["totalRecords"]), (vec![CALENDAR, OTHER_CALENDAR], &json!(3)));
    let hidden = format!("/groups/4/calendars/{HIDDEN_CALENDAR}");
    server.get(&hidden).await.refused(404, 3, None);
    assert_eq!(server.pro_get(&hidden).await.is(200)["name"], "agenda");
    assert_eq!(server.get("/groups/4/interventions/21").await.is(200)["length"], 30);
    server.get("/groups/4/interventions/99").await.refused(404, 3, None);
}

#[tokio::test]
async fn lists_are_narrowed_by_what_is_offered_and_by_sets() {
    let server = TestServer::start().await;
    let calendars =
        async |query: &str| ids(&server.get(&format!("/groups/4/calendars?{query}")).await.is(200));
    assert_eq!(
        calendars("intervention_ids[]=21&intervention_ids[]=22").await,
        [CALENDAR, OTHER_CALENDAR]
    );
    assert_eq!(calendars("calendarset_ids%5B%5D=31").await, [CALENDAR]);
    let interventions = async |query: &str| {
        ids(&server.get(&format!("/groups/4/interventions?{query}")).await.is(200))
    };
    assert_eq!(interventions("calendar_ids[]=11").await, [CUT, COLOUR]);
    assert_eq!(
        interventions("calendar_ids[]=13").await,
        [0_u64; 0],
        "the module does not show the calendar"
    );
    server.get("/groups/4/calendars?intervention_ids[]=99").await.refused(
        400,
        2,
        Some("intervention_ids"),
    );
    server.get("/groups/4/interventions?interventionset_id=99").await.refused(
        400,
        2,
        Some("interventionset_id"),
    );
    let several = server.get("/groups/4/calendars?calendarset_ids=x&results=0&sort=nothing").await;
    assert_eq!(several.errors().len(), 3, "{}", several.text);
}

#[tokio::test]
async fn professionals_list_events_by_calendar_client_and_start() {
    let server = TestServer::start().await;
    let vevents = async |query: &str| {
        ids(&server.pro_get(&format!("/groups/4/vevents?{query}")).await.is(200))
    };
    assert_eq!(vevents("").await, [51, 52, 53]);
    assert_eq!(vevents("calendar_id=12").await, [52]);
    assert_eq!(vevents("fiche_id=41").await, [0_u64; 0]);
    assert_eq!(
        vevents("start_from=2025-06-01+09:00:00&start_to=2025-06-01+09:00:01").await,
        [51, 52, 53]
    );
    assert_eq!(vevents("start_to=2025-06-01+09:00:00").await, [0_u64; 0]);
    let several =
        server.pro_get("/groups/4/vevents?calendar_id=99&fiche_id=99&start_from=x&sort=x").await;
    assert_eq!(several.errors().len(), 4, "{}", several.text);
    let one = server.pro_get("/groups/4/vevents/51").await.is(200);
    assert_eq!(
        (&one["type"], &one["start"]),
        (&json!("VfreebusyEvent"), &json!("2025-06-01 09:00:00"))
    );
    server.pro_get("/groups/4/vevents/99").await.refused(404, 3, None);
}

fn condition(n: i64, field: &str, op: &str, value: &str) -> String {
    format!(
        "conditions[{n}][field]={field}&conditions[{n}][op]={op}&conditions[{n}][value]={value}&"
    )
}

#[tokio::test]
async fn every_condition_must_hold_however_it_is_encoded() {
    let server = TestServer::start().await;
    let vevents = async |query: &str| {
        ids(&server.pro_get(&format!("/groups/4/vevents?{query}")).await.is(200))
    };
    assert_eq!(vevents(&condition(0, "calendar_id", ">=", "12")).await, [52, 53]);
    let both = condition(-3, "calendar_id", ">", "11") + &condition(700, "id", "not+in", "53,54");
    assert_eq!(vevents(&both).await, [52]);
    let name = |part: &str| format!("conditions%5B0%5D%5B{part}%5D");
    let encoded =
        format!("{}=type&{}=not%20like&{}=x%25", name("field"), name("op"), name("value"));
    assert_eq!(vevents(&encoded).await, [51, 52, 53]);
    assert_eq!(vevents(&condition(0, "type", "!=", "VfreebusyEvent")).await, [0_u64; 0]);
    assert_eq!(vevents(&condition(0, "fiche_id", "=", "")).await, [51, 52, 53]);
    assert_eq!(vevents(&condition(0, "start", "<", "2025-06-01+09:00:00")).await, [0_u64; 0]);
    assert_eq!(
        vevents(&condition(0, "start", "=", "2025-06-01%2009%3A00%3A00")).await,
        [51, 52, 53]
    );
    assert_eq!(
        vevents(&condition(0, "num0", "=", "")).await,
        [51, 52, 53],
        "a defined attribute is a field"
    );
    let list = server
        .pro_get(&format!("/groups/4/vevents?{}results=1", condition(0, "id", ">", "51")))
        .await
        .is(200);
    assert_eq!((ids(&list), &list["totalRecords"]), (vec![52], &json!(2)));
}

#[tokio::test]
async fn wrong_conditions_are_named_part_by_part() {
    let server = TestServer::start().await;
    let refused = async |query: &str, field: &str| {
        server.get(&format!("/groups/4/calendars?{query}")).await.refused(400, 2, Some(field));
    };
    refused(&condition(0, "colour", "=", "1"), "conditions[0][field]").await;
    refused(&condition(7, "name", "=", "agenda"), "conditions[7][field]").await;
    refused(&condition(-1, "id", "==", "11"), "conditions[-1][op]").await;
    refused(&condition(0, "id", "=", "a"), "conditions[0][value]").await;
    refused("conditions[x][field]=id", "conditions[x]").await;
    let several =
        server.get(&format!("/groups/4/calendars?sort=x&{}", condition(0, "x", "x", ""))).await;
    assert_eq!(several.errors().len(), 3, "{}", several.text);
}

#[tokio::test]
async fn deleted_calendars_and_interventions_are_shown_to_professionals_who_ask() {
    let server = TestServer::with(|catalogue| {
        let id = CalendarId::new(OTHER_CALENDAR).expect("an id");
        Arc::make_mut(catalogue.calendars.get_mut(&id).expect("it is there")).deleted = true;
        let id = InterventionId::new(CUT).expect("an id");
        Arc::make_mut(catalogue.interventions.get_mut(&id).expect("it is there")).deleted = true;
    })
    .await;
    let list =
        async |query: &str| ids(&server.pro_get(&format!("/groups/4/{query}")).await.is(200));
    let deleted = |value| condition(2, "deleted", "=", value);
    assert_eq!(list("calendars").await, [CALENDAR, HIDDEN_CALENDAR]);
    assert_eq!(list(&format!("calendars?{}", deleted("true"))).await, [OTHER_CALENDAR]);
    assert_eq!(list(&format!("calendars?{}", deleted("0"))).await, [CALENDAR, HIDDEN_CALENDAR]);
    let all = condition(0, "deleted", "in", "0,1");
    assert_eq!(
        list(&format!("calendars?{all}")).await,
        [CALENDAR, OTHER_CALENDAR, HIDDEN_CALENDAR]
    );
    assert_eq!(list("interventions").await, [COLOUR]);
    assert_eq!(list(&format!("interventions?{}", deleted("1"))).await, [CUT]);
    let by_key = server.get(&format!("/groups/4/calendars?{all}")).await.is(200);
    assert_eq!(ids(&by_key), [CALENDAR], "the module does not show what is deleted");
}

#[tokio::test]
async fn a_search_finds_what_is_named_so_and_appointments_by_their_client() {
    let server = TestServer::start().await;
    let list =
        async |query: &str| ids(&server.pro_get(&format!("/groups/4/{query}")).await.is(200));
    assert_eq!(list("calendars?search=BOB").await, [OTHER_CALENDAR]);
    assert_eq!(list("calendars?search=AGE").await, [CALENDAR, OTHER_CALENDAR, HIDDEN_CALENDAR]);
    assert_eq!(
        ids(&server.get("/groups/4/calendars?search=agenda").await.is(200)),
        [0_u64; 0],
        "the name is inside"
    );
    assert_eq!(
        ids(&server.get("/groups/4/interventions?search=shown+NAME").await.is(200)),
        [CUT, COLOUR]
    );
    assert_eq!(list("vevents?search=nobody").await, [0_u64; 0]);
    let booking = json!({"appointment": {"date": "2025-06-03 09:00:00", "intervention_ids": "21", "calendar_id": 11,
        "fiche": {"lastname": "Lefèvre", "email": "lefevre@example.org"}}});
    let booked =
        answer(server.by_key(Method::POST, "/groups/4/appointments").json(&booking)).await.is(201);
    assert_eq!(list("appointments?search=LEF%C3%88VRE").await, ids(&booked));
    assert_eq!(list("vevents?search=lef").await, ids(&booked));
    assert_eq!(list("appointments?search=lefort").await, [0_u64; 0]);
    server.pro_get(&format!("/groups/4/vevents?search={}", "a".repeat(256))).await.refused(
        400,
        2,
        Some("search"),
    );
}

/// The shop with this many more interventions, of few different names.
async fn server_with_interventions(count: u64) -> TestServer {
    TestServer::with(|catalogue| {
        for number in 0..count {
            let id = InterventionId::new(1_000 + number).expect("an id");
            let mut intervention = Intervention::new(id, clock(6, 0));
            intervention.name = Name::new(&format!("name {}", number % 7)).expect("a name");
            intervention.publicname = Name::new("shown \u{e9}\u{1f600}").expect("a name");
            intervention.description = Text::new(&"long \"text\" ".repeat(20)).expect("a text");
            catalogue.interventions.insert(id, Arc::new(intervention));
        }
    })
    .await
}

#[tokio::test]
async fn all_records_at_once_are_those_of_the_pages() {
    for count in [10, 60, 1_500] {
        let server = server_with_interventions(count).await;
        let list =
            async |query: String| server.pro_get(&format!("/groups/4/interventions?{query}")).await;
        let asked = condition(0, "id", ">", "21") + "search=name&sort=name&dir=desc";
        let all = list(format!("{asked}&results=all")).await;
        let streamed =
            all.headers.get("transfer-encoding").is_some_and(|encoding| encoding == "chunked");
        assert_eq!(
            (streamed, all.headers.contains_key("content-length")),
            (count >= 1_500, count < 1_500),
            "{count}"
        );
        let all = all.is(200);
        let mut records = Vec::new();
        while let page =
            list(format!("{asked}&results=49&startIndex={}", records.len())).await.is(200)
            && page["recordsReturned"] != 0
        {
            assert_eq!(page["totalRecords"], all["totalRecords"]);
            records.extend(page["records"].as_array().expect("records").clone());
        }
        assert_eq!(records.len() as u64, count + 1);
        assert!(all["records"] == Value::from(records), "{count}");
        assert_eq!(
            (&all["recordsReturned"], &all["pageSize"]),
            (&all["totalRecords"], &all["totalRecords"])
        );
        assert_eq!(
            (&all["sort"], &all["dir"], &all["startIndex"]),
            (&json!("name"), &json!("desc"), &json!(0))
        );
    }
}

#[tokio::test]
async fn few_records_of_long_texts_come_in_parts_too() {
    let server = TestServer::start().await;
    let comments = "\u{e9} \"said\"\n".repeat(5_000);
    for lastname in ["a", "b", "c"] {
        let body = json!({"fiche": {"lastname": lastname, "comments": comments}});
        answer(server.by_pro(Method::POST, "/groups/4/fiches").json(&body)).await.is(201);
    }
    let list = server.pro_get("/groups/4/fiches?sort=lastname").await;
    assert_eq!(list.headers["transfer-encoding"], "chunked");
    let records = list.is(200)["records"].as_array().expect("records").clone();
    let names: Vec<&str> =
        records.iter().filter_map(|record| record["lastname"].as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "Known"]);
    assert!(records.iter().filter(|record| record["comments"] == comments).count() == 3);
}

#[tokio::test]
async fn whoever_leaves_a_long_list_leaves_nothing_behind() {
    let server = server_with_interventions(1_500).await;
    for _ in 0..200 {
        let request = server.by_pro(Method::GET, "/groups/4/interventions?results=all");
        drop(request.send().await.expect("the server answers"));
    }
    let list = server.pro_get("/groups/4/interventions?results=1000000&startIndex=2").await.is(200);
    assert_eq!((&list["recordsReturned"], &list["pageSize"]), (&json!(1_500), &json!(1_000_000)));
}

#[tokio::test]
async fn another_groups_id_and_one_of_nobodys_are_refused_in_the_same_words() {
    let server = TestServer::start().await;
    for path in [
        "calendars?intervention_ids[]=",
        "calendars?calendarset_ids[]=",
        "interventions?calendar_ids[]=",
        "interventions?interventionset_id=",
        "vevents?calendar_id=",
        "vevents?fiche_id=",
        "availabletimeslots?intervention_ids[]=",
        "availabletimeslots?intervention_ids[]=21&calendar_id=",
    ] {
        let [foreign, absent] = [501, 99_999].map(|id| format!("/groups/4/{path}{id}"));
        let (foreign, absent) = (server.pro_get(&foreign).await, server.pro_get(&absent).await);
        assert_eq!((foreign.status.as_u16(), &foreign.text), (400, &absent.text), "{path}");
    }
    for fields in
        [json!({"intervention_ids": [0]}), json!({"intervention_ids": [21], "calendar_id": 0})]
    {
        let refused = async |id: u64| {
            let mut fields = fields.clone();
            match fields.get_mut("calendar_id") {
                Some(calendar) => *calendar = json!(id),
                None => fields["intervention_ids"] = json!([id]),
            }
            fields["date"] = json!("2025-06-02 09:00:00");
            fields["fiche"] = json!({"lastname": "Durand"});
            let request = server.by_key(Method::POST, "/groups/4/appointments");
            let refused = answer(request.json(&json!({ "appointment": fields }))).await;
            (refused.status.as_u16(), refused.text)
        };
        let absent = refused(99_999).await;
        assert_eq!((refused(501).await, absent.0), (absent.clone(), 400));
    }
}

#[tokio::test]
async fn a_group_that_takes_nothing_online_shows_nothing_on_offer_of_its_sets() {
    let server = TestServer::with(|catalogue| catalogue.group.inactive = true).await;
    let by_key = server.get("/groups/4/calendarsets/31/interventions").await.is(200);
    let by_pro = server.pro_get("/groups/4/calendarsets/31/interventions").await.is(200);
    assert_eq!((&by_key["totalRecords"], &by_pro["totalRecords"]), (&json!(0), &json!(2)));
}

#[tokio::test]
async fn a_reference_to_nothing_lies_before_and_after_nothing() {
    let server = TestServer::start().await;
    let calendars = async |op: &str, value: &str| {
        let path = format!("/groups/4/calendars?{}", condition(0, "calendarset_id", op, value));
        ids(&server.pro_get(&path).await.is(200))
    };
    assert_eq!(calendars("<", "32").await, [CALENDAR]);
    assert_eq!(calendars("<=", "30").await, [0_u64; 0]);
    assert_eq!(calendars("=", "").await, [OTHER_CALENDAR, HIDDEN_CALENDAR]);
    assert_eq!(calendars("!=", "31").await, [OTHER_CALENDAR, HIDDEN_CALENDAR]);
    let vevents = server
        .pro_get(&format!("/groups/4/vevents?{}", condition(0, "fiche_id", "<", "1")))
        .await
        .is(200);
    assert_eq!(ids(&vevents), [51, 52, 53], "where an event shows 0, it is 0");
}

#[tokio::test]
async fn what_is_in_order_by_id_is_turned_round_too() {
    let server = TestServer::start().await;
    for lastname in ["b", "a"] {
        let body = json!({"fiche": {"lastname": lastname}});
        answer(server.by_pro(Method::POST, "/groups/4/fiches").json(&body)).await.is(201);
    }
    for section in ["fiches", "customfields", "vevents"] {
        let mut up = ids(&server.pro_get(&format!("/groups/4/{section}?dir=asc")).await.is(200));
        let down =
            ids(&server.pro_get(&format!("/groups/4/{section}?dir=desc&results=2")).await.is(200));
        assert_eq!(up.len(), 3, "{section}");
        // Of what starts at one moment the lower id comes first, whichever way.
        if section != "vevents" {
            up.reverse();
        }
        assert_eq!(down, up[..2], "{section}");
    }
}

#[tokio::test]
async fn a_page_of_a_list_names_the_other_pages() {
    let server = TestServer::start().await;
    let first = server.get("/groups/4/calendars?results=1").await;
    let link = first.headers["link"].to_str().expect("a text").to_owned();
    let next = link.split(", ").find(|one| one.ends_with("rel=\"next\"")).expect("a next page");
    let next = next.split(['<', '>']).nth(1).expect("an address");
    let second = answer(server.bare(Method::GET, next)).await;
    assert_eq!(second.is(200)["startIndex"], 1);
    let link = second.headers["link"].to_str().expect("a text");
    assert!(link.contains("rel=\"prev\"") && !link.contains("rel=\"next\""), "{link}");
    for path in ["/groups/4/calendars", "/groups/4/calendars?results=all", "/groups/4"] {
        assert!(!server.get(path).await.headers.contains_key("link"), "{path}");
    }
}
